// The page of an op of the visitor's own, brought up to date in its place when the file has been saved: the address
// stays, and what is not of the file stays as it was left.

import { makeScrollable } from "../dom.js";
import { staleCurvesNote, followFile, showNote, showFailure, showIfMissing, troubleElements } from "./follow.js";

const PARTS = [".opening", ".prose"]; // what the file says, beside the curves
const BESIDE = ["theme", "hide", "layout", "view", "grad_output", "count", "device"]; // what holds for every op
const AROUND = 3; // lines
const LEFT = "gradloupe-left"; // names that the address had to lose, for the page that opens then
const aside = document.querySelector("#following");
const { name } = aside.dataset;

/** Follow the file. `session` is that of the page, `closeLook` its companion figure. */
export function refreshOnSave(session, closeLook) {
  let wanted = aside.dataset.digest;
  let busy = false;
  let saved = false; // since this page was opened
  let running = new AbortController();
  tellWhatWasLeft();
  session.keeps = keeps;

  followFile((state) => {
    const gone = showIfMissing(state, [name], "; its last curves stay");
    idle(gone);
    if (gone || !(name in state.digests)) return; // a server that has just begun knows none yet
    showNote(aside.dataset.remark ?? "");
    if (state.digests[name] !== wanted) renew(state.digests[name]);
  });

  /** Whether the curves that are drawn are to stay, since the answer of a save has none; why is told. */
  function keeps({ failure, columns }) {
    const lost = saved && failure !== null && Object.keys(columns).length === 0;
    if (!lost && failure?.phase !== "backward") showFailure(null);
    else if (saved) showFailure(failureElements(failure, lost));
    return lost;
  }

  async function renew(digest) {
    wanted = digest;
    running.abort(); // what was saved before need not come to an end
    if (busy) return;
    busy = true;
    try {
      let done = "";
      while (done !== wanted) {
        done = wanted;
        running = new AbortController();
        await once(running.signal).catch((error) => {
          if (done === wanted) throw error;
        });
      }
    } catch {
      wanted = ""; // the server has gone meanwhile, or is busy: it is tried again
      setTimeout(() => wanted === "" && renew(digest), 1500);
    } finally {
      busy = false;
    }
  }

  async function once(signal) {
    const search = session.query;
    const { status, page } = await fetchPage(location.pathname + search, signal);
    if (status === 422) return openWhatFits(search);
    if (status !== 200) throw new Error(`status ${status}`);
    const theirs = page.querySelector("#following");
    const fault = page.querySelector("#fault");
    saved = true;
    if (fault) {
      aside.dataset.digest = theirs.dataset.digest;
      return showFailure([...fault.children, staleCurvesNote()]);
    }
    if (theirs?.dataset.form !== aside.dataset.form) return location.reload();
    for (const each of PARTS) replaceContent(document.querySelector(each), page.querySelector(each));
    makeScrollable(document.querySelectorAll(".prose .formulas dd, .prose .scroll"));
    document.title = page.title;
    aside.dataset.digest = theirs.dataset.digest;
    closeLook.expire();
    showFailure(null);
    return session.refresh();
  }
}

/** Of a Function that is gone nothing can be asked: its controls rest until it is back. */
function idle(gone) {
  document.querySelector("#controls").inert = gone;
  document.documentElement.toggleAttribute("data-gone", gone);
}

/** What is said of a failure of an answer, with the line of the source as it is on this page. */
function failureElements({ sentence, line }, stays) {
  const lines = [...document.querySelectorAll(".source .line")];
  const near = lines.slice(Math.max(line - 1 - AROUND, 0), line + AROUND);
  const number = (each) => Number(each.dataset.line ?? lines.indexOf(each) + 1);
  const excerpt = line ? near.map((each) => [number(each), each.textContent.replace(/\n$/, "")]) : [];
  return troubleElements({ sentence, excerpt, line: line ? number(lines[line - 1]) : null, traceback: "" }, stays);
}

/** Put what stands in another page into the place of ours. */
function replaceContent(ours, theirs) {
  if (ours && theirs && ours.innerHTML !== theirs.innerHTML) ours.replaceChildren(...theirs.childNodes);
}

async function fetchPage(address, signal = null) {
  const response = await fetch(address, { headers: { Accept: "text/html" }, cache: "no-cache", signal });
  return { status: response.status, page: new DOMParser().parseFromString(await response.text(), "text/html") };
}

/** The address says what the op knows no more: open the one that still says the most. */
async function openWhatFits(search) {
  const path = location.pathname;
  const { page } = await fetchPage(path);
  const known = JSON.parse(page.querySelector("#controls")?.dataset.defaults ?? "[]").map(([each]) => each);
  const given = [...new URLSearchParams(search)];
  const without = (keep) => given.filter(([each]) => keep(each));
  const attempts = [
    without((each) => known.includes(each)),
    without((each) => known.includes(each) && each !== "recipe"),
    without((each) => BESIDE.includes(each)),
    [],
  ];
  for (const pairs of attempts) {
    const query = new URLSearchParams(pairs).toString();
    const address = path + (query && `?${query}`);
    const { status } = pairs.length > 0 ? await fetchPage(address) : { status: 200 };
    if (status !== 200) continue;
    const left = given.filter(([each]) => !pairs.some(([kept]) => kept === each)).map(([each]) => each);
    sessionStorage.setItem(LEFT, JSON.stringify({ path, left }));
    return location.replace(address);
  }
  return undefined;
}

function tellWhatWasLeft() {
  const { path, left } = JSON.parse(sessionStorage.getItem(LEFT) ?? "{}");
  sessionStorage.removeItem(LEFT);
  if (path !== location.pathname || !left.length) return;
  const one = left.length === 1;
  aside.dataset.remark = `${left.join(", ")} no longer ${one ? "applies" : "apply"} after the save and ${one ? "was" : "were"} dropped from the address.`;
  showNote(aside.dataset.remark);
}
