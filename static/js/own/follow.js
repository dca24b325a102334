// Beside the figure: whether the page follows the visitor's file, and why the file cannot be loaded, with the line at
// fault; what was drawn last stays.

import { h, marked } from "../dom.js";
import { ROOT } from "../root.js";
import { fetchText } from "../state/question.js";
import { listenToServer, pageToken } from "./events.js";

const aside = document.querySelector("#following");
const [sign, room, button] = [".lamp", ".mishap", "button"].map((each) => aside.querySelector(each));
const { form, digests, file } = aside.dataset;
const stays = Boolean(form ?? digests); // there are curves, which were drawn before
let shown = ""; // the trouble that is
let standing = null; // as the server has told last
let failing = null; // what stands there of a file that was loaded, and yet fails

/** Calls `changed(state)` with what the server tells, first with how it is now. */
export function followFile(changed) {
  listenToServer({
    told(state) {
      tell(state);
      changed(state);
    },
    gone: () => say("gone", "The server is gone; this page waits for it"),
  });
}

/** Say beside the figure what else there is to say, with `links` to go to; "" for nothing. */
export function showNote(sentence, links = []) {
  const items = links.map(([text, href]) => h("li", {}, h("a", { href }, text)));
  const [paragraph, list] = ["p", "ul"].map((each) => aside.querySelector(`.remark ${each}`));
  if (paragraph.textContent !== sentence) paragraph.textContent = sentence;
  list.replaceChildren(...items);
}

/**
 * Whether one of these Functions is not in the file any more, which is said beside the figure with what there is
 * instead; `besides` is what else there is to say. Of a file that cannot be loaded that is said, and no more.
 */
export function showIfMissing({ digests: known, trouble }, names, besides = "") {
  const lost = names.find((name) => !(name in known));
  const links = Object.keys(known).map((each) => [each, `${ROOT}/ops/${encodeURIComponent(each)}`]);
  const gone = lost !== undefined && links.length > 0;
  const there = links.length > 1 ? "There are" : "There is";
  if (gone && !trouble) showNote(`${lost} is no longer in ${file}${besides}. ${there}:`, links);
  else showNote("");
  return gone;
}

/** Say that what was loaded fails: `elements` tell how (see `troubleElements`); null where it does not any more. */
export function showFailure(elements) {
  if (!elements && !failing) return;
  failing = elements;
  shown = "";
  if (standing) tell(standing);
}

function tell(state) {
  standing = state;
  const { trouble, loading } = state;
  const words = trouble ? "Cannot load" : failing ? "Fails since the save:" : "Watching";
  say(loading ? "loading" : trouble || failing ? "trouble" : "well", loading ? "Loading" : words, file);
  const text = JSON.stringify(trouble);
  if (text === shown) return;
  shown = text;
  room?.replaceChildren(...(trouble ? troubleElements(trouble, stays) : (failing ?? [])));
}

/** One word on how it stands, and the file it stands so with. */
function say(state, words, code = "") {
  aside.dataset.state = state;
  sign.replaceChildren(`${words} `, ...(code ? [h("code", {}, code)] : []));
}

/** The elements that say so; `stays` says that there are curves of an earlier save. As templates/own/following.html has them. */
export function troubleElements({ sentence, excerpt, line, traceback }, stays) {
  const told = [h("p", { class: "why" }, ...marked(sentence))];
  if (excerpt.length > 0) told.push(lines(excerpt, line));
  if (traceback) told.push(h("details", {}, h("summary", {}, "Traceback"), preformatted("traceback", traceback)));
  if (stays) told.push(staleCurvesNote());
  return told;
}

/** What is said of the curves that stay. */
export const staleCurvesNote = () => h("p", { class: "stays" }, "The curves are those of the last good save.");

function lines(excerpt, line) {
  const rows = excerpt.map(([number, text]) => {
    return h(number === line ? "mark" : "span", { class: "line", "data-line": number }, text);
  });
  return preformatted("excerpt", ...rows.flatMap((row, i) => (i ? ["\n", row] : [row])));
}

function preformatted(className, ...children) {
  return h("pre", { class: className, tabindex: 0 }, h("code", {}, ...children));
}

button.hidden = pageToken() === "";
button.addEventListener("click", async () => {
  button.disabled = true;
  const asked = { method: "POST", headers: { "X-Gradloupe-Token": pageToken() } };
  showNote((await fetchText(`${ROOT}/reload`, asked)).trouble);
  button.disabled = false;
});
