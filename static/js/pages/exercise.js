// The page of an exercise, alone or in the frame of another page: its code is drawn as it is typed and graded when that is
// asked for; hints come one at a time. In a frame an edit may have no exercise, but the code that the fragment gives.

import { h, marked } from "../dom.js";
import { soleFigure } from "../figure/live_figure.js";
import { afterFirstPaint, loadPlotly } from "../figure/plot.js";
import { typesetSentence } from "../number.js";
import { pageToken } from "../own/events.js";
import { codeField } from "../play/code.js";
import { declareControls } from "../play/controls.js";
import { editSource } from "../play/edits.js";
import { unpackText } from "../play/link.js";
import { messenger } from "../share/parent_page.js";
import { askServer, latestOnly } from "../state/question.js";
import { Session, setReady } from "../state/session.js";

const PAUSE = 150; // milliseconds without a key, before the code is asked for
const UNREADABLE = "# The code of this frame cannot be read: its address was cut.\n";
const TRYING = "It runs…";
const SOLVED = "Solved.";
const WRONG = "Not yet. Look at the curves, ask for a hint, and try again.";
const UNSEEN = "right-in-one-call"; // of what the curves that are drawn do not show
const UNCAUGHT = "Not yet. Ask for a hint, and try again.";

const find = (selector) => document.querySelector(selector);
const page = document.documentElement;
const { editor, exercise, goal, hide = "" } = page.dataset;
let start = find("#code").defaultValue;
const drawn = find("#canvas") !== null; // of a check there are no curves
const code = codeField(find("#editor"), editor, typed);
const tellParent = messenger(() => {});
let ready = false;
let form = "";
let timer = 0;
let hints = []; // those that were not asked for

const session = drawn ? figureSession() : null;
const grade = latestOnly(askForGrade, told, (sentence) => tell(sentence, ""));

function figureSession() {
  const edits = editSource({
    from: "",
    asked: () => ({ text: code.text(), form, ...(exercise ? { exercise } : {}) }),
    hide,
    drawn: () => session.answer !== null,
    heard,
  });
  const made = new Session(edits.ask, find("#controls").dataset.search);
  const painted = afterFirstPaint(); // before Plotly is read
  soleFigure(made, { load: () => painted.then(() => loadPlotly("curves")), drawn: seen });
  return made;
}

function seen({ address, verdict: { word, sentence } }) {
  code.enrich();
  if (!ready) tellParent("ready", { address, state: {}, verdict: { word, sentence } });
  ready = true;
}

function typed() {
  find("#undo").disabled = false;
  find("#back").disabled = code.text() === start;
  if (find("#grade").dataset.note) tell("", "");
  clearTimeout(timer);
  session?.expect();
  if (session) timer = setTimeout(() => session.refresh(), PAUSE);
}

/** A result: where the code cannot run, and the controls of what is `seen`. */
function heard({ result, sentence, line, form: shown, controls, document: answer }, seen) {
  code.mark(result === "answered" || line === null ? [] : [{ line, message: typesetSentence(sentence) }]);
  find(".result").classList.toggle("stale", !seen);
  if (seen && shown !== form) declareControls(session, find("#controls"), controls, answer.address);
  if (seen) form = shown;
}

function askForGrade(address, signal) {
  const headers = { "Content-Type": "application/json", "X-Gradloupe-Token": pageToken() };
  const asked = exercise ? { exercise } : { goal, original: start };
  return askServer(address, signal, { method: "POST", headers, body: JSON.stringify({ text: code.text(), ...asked }) });
}

function told({ solved, note, trouble, hints: helpful }) {
  tell(solved ? SOLVED : trouble ? `Not yet: ${trouble}` : drawn && note !== UNSEEN ? WRONG : UNCAUGHT, note);
  hints = helpful;
  offerHint();
  tellParent("tried", { solved, note });
}

/** What is said of the code, and the answer note; hints of earlier code go. */
function tell(sentence, note) {
  find("#grade").replaceChildren(...marked(typesetSentence(sentence)));
  find("#grade").dataset.note = note;
  find("#hints").replaceChildren();
  hints = [];
  offerHint();
}

function offerHint() {
  if (!find("#hint")) return;
  find("#hint").disabled = hints.length === 0;
  find("#hint").textContent = hints.length > 0 ? hints[0][0] : "A hint";
}

find("#try")?.addEventListener("click", () => {
  tell(TRYING, "");
  grade("/play.grade.json");
});
find("#hint")?.addEventListener("click", () => {
  const [[asks, says], ...rest] = hints;
  find("#hints").append(h("dt", {}, asks), h("dd", {}, ...marked(typesetSentence(says))));
  hints = rest;
  offerHint();
});
find("#undo").addEventListener("click", () => code.undo());
find("#back").addEventListener("click", () => {
  code.write(start);
  code.focus();
});

/** The code that the fragment of a frame gives is what it starts with. */
async function begin(given) {
  if (given) {
    start = await unpackText(given).catch(() => UNREADABLE);
    Object.assign(find("#code"), { defaultValue: start, rows: start.split("\n").length + 1 });
  }
  if (session) return session.start();
  code.enrich();
  setReady("figure", location.pathname);
  tellParent("ready", { address: location.pathname, state: {} });
}
begin(new URLSearchParams(location.hash.slice(1)).get("c"));
