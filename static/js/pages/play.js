// The page with the editor: its code is asked for whenever somebody has stopped typing, and stands in the address.

import { h, marked } from "../dom.js";
import { soleFigure } from "../figure/live_figure.js";
import { afterFirstPaint, loadPlotly } from "../figure/plot.js";
import { typesetSentence } from "../number.js";
import { codeField } from "../play/code.js";
import { declareControls } from "../play/controls.js";
import { diffElements } from "../play/diff.js";
import { embeddingDialog } from "../play/embedding.js";
import { editSource } from "../play/edits.js";
import { packText, unpackText } from "../play/link.js";
import { ROOT } from "../root.js";
import { copiesLink, testDialog } from "../share/clipboard.js";
import { Session } from "../state/session.js";

const PAUSE = 150; // milliseconds without a key, before the code is asked for
const LATER = 400; // and before it stands in the address, which bears only so many changes
const TOO_LONG = "The code is too long for a link; download it instead.";
const PLACE = /^edit\.py, line \d+,? /; // in a sentence that stands beside its line
const BROKEN = "The code of this link cannot be read: it was cut, or is too long. Ask for the link once more.";

const find = (selector) => document.querySelector(selector);
const page = document.documentElement;
const { from = "", behind = "", name, editor } = page.dataset; // `behind` an edit its original is drawn
const original = find("#code").defaultValue;
const chosen = { name };
let latest = { form: "", test: "" }; // of what was answered last
let timers = [];

const code = codeField(find("#editor"), editor, typed);
const isEdited = () => code.text() !== original;
const edits = editSource({
  from: behind,
  asked: () => ({ text: code.text(), name: chosen.name, form: latest.form }),
  drawn: () => session.answer !== null,
  heard,
});
const painted = afterFirstPaint(); // before Plotly is read
const plotly = () => painted.then(() => loadPlotly("curves"));
const session = new Session(edits.ask, location.search);
soleFigure(session, {
  load: plotly,
  behind: () => (isEdited() ? edits.original() : null),
  drawn: () => code.enrich(),
});

function typed() {
  session.expect();
  find("#undo").disabled = false;
  find("#link-trouble").textContent = "";
  showChanges();
  timers.forEach(clearTimeout);
  timers = [setTimeout(() => session.refresh(), PAUSE), setTimeout(showLink, LATER)];
}

/** A result: what is wrong, and where; the Functions of the text; and the controls of the one that is `seen`. */
function heard({ result, sentence, line, functions, name: shown, form, controls, document: answer, test }, seen) {
  const message = typesetSentence(sentence.replace(PLACE, ""));
  const problems = result === "answered" ? [] : [{ line, message: message.charAt(0).toUpperCase() + message.slice(1) }];
  listProblems(problems);
  offer(functions, shown);
  find(".result").classList.toggle("stale", !seen);
  find("#verdict").hidden = !seen && session.answer === null; // there is none on what never ran
  code.enrich();
  if (!seen) return;
  if (behind) find("#pale").hidden = !isEdited() || edits.original() === null;
  if (form !== latest.form) declareControls(session, find("#controls"), controls, answer.address);
  latest = { form, test };
}

function listProblems(problems) {
  code.mark(problems.filter(({ line }) => line !== null));
  const items = problems.map(({ line, message }) => {
    const place = line === null ? null : h("button", { type: "button" }, `Line ${line}`);
    place?.addEventListener("click", () => code.focus(line));
    return h("p", {}, h("span", { class: "links" }, place), " ", ...marked(message));
  });
  find("#problems").replaceChildren(...items);
}

/** Those of several Functions can be chosen from. */
function offer(names, shown) {
  find(".choose").hidden = names.length < 2;
  find("#function").replaceChildren(...names.map((option) => new Option(option, option, false, option === shown)));
}

function showChanges() {
  for (const button of [find("#back"), find("#changes")]) button.disabled = !isEdited();
  if (!find("#diff").hidden) find("#diff").replaceChildren(...diffElements(original, code.text()));
}

/** The address of this page with what its code and its controls say. */
async function link() {
  const said = [from && `from=${encodeURIComponent(from)}`, session.query.slice(1)].filter(Boolean).join("&");
  const packed = isEdited() ? `#c=${await packText(code.text())}` : "";
  const named = packed && chosen.name && chosen.name !== name ? `&name=${encodeURIComponent(chosen.name)}` : "";
  return `${ROOT}/play${said && `?${said}`}${packed}${named}`;
}

/** Put the link into the bar of the browser; returns it, "" where there is none, which is told. */
async function showLink() {
  const address = await link().catch(() => "");
  if (!address) find("#link-trouble").textContent = TOO_LONG;
  try {
    history.replaceState(history.state, "", address || location.pathname + location.search);
  } catch {
    // Too soon for this browser: the next change writes it.
  }
  return address && new URL(address, location.href).href;
}

/** Take over the code of the address, if there is any: `write(text)`. */
async function openLink(write) {
  const said = new URLSearchParams(location.hash.slice(1));
  if (!said.get("c")) return;
  try {
    const text = await unpackText(said.get("c"));
    chosen.name = said.get("name") ?? name;
    write(text);
  } catch {
    find("#link-trouble").textContent = BROKEN;
  }
}

async function start() {
  await openLink((text) => (find("#code").value = text));
  showChanges();
  if (isEdited()) for (const part of [find("#answer"), find("#still")]) part?.remove(); // they are of the original
  session.start();
}

const blobOf = (text) => URL.createObjectURL(new Blob([text], { type: "text/x-python" }));

session.on("address", () => setTimeout(showLink));
find("#function").addEventListener("change", ({ target }) => {
  chosen.name = target.value;
  session.refresh();
});
find("#undo").addEventListener("click", () => code.undo());
find("#back").addEventListener("click", () => {
  code.write(original);
  code.focus();
});
find("#changes").addEventListener("click", ({ target }) => {
  target.setAttribute("aria-expanded", !find("#diff").toggleAttribute("hidden"));
  showChanges();
});
copiesLink(find("#copy"), showLink);
find("#download").addEventListener("click", ({ target }) => (target.href = blobOf(code.text())));
testDialog(find("#py"), find("#pytest"), () => {
  const text = `${code.text().trimEnd()}\n\n\n${latest.test}`;
  return latest.test ? { text, trouble: "", href: blobOf(text) } : { text: "", trouble: "There is none before the code runs." };
});
if (find("#embedding")) embeddingDialog(find("#embedding"), () => ({ code: code.text(), query: session.query }));
addEventListener("hashchange", () => openLink(code.write));
plotly().catch(() => {}); // whoever draws says that it is not there
start();
