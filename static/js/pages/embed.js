// The page /embed: a live figure in the frame of another page, drawn when it is seen, as high as it is, in touch with
// that page.

import { whenVisible } from "../figure/in_sight.js";
import { soleFigure } from "../figure/live_figure.js";
import { loadPlotly } from "../figure/plot.js";
import { soundButton } from "../figure/sound.js";
import { ROOT } from "../root.js";
import { messenger } from "../share/parent_page.js";
import { isOfSection } from "../state/address.js";
import { askServer } from "../state/question.js";
import { Session } from "../state/session.js";

const THEMES = ["auto", "light", "dark"];
const find = (selector) => document.querySelector(selector);
const page = document.documentElement;
let hurry = () => {};
const hurried = new Promise((resolve) => (hurry = resolve));
const whenDue = Promise.race([whenVisible(find("#canvas")), hurried]);
let answered = false;
let ready = false;

const session = new Session(askWhenSeen, location.search);
const figure = soleFigure(session, { load: () => whenDue.then(() => loadPlotly("curves")), drawn: tellReady });
const sound = soundButton(figure);

let section = "";
const numbers = () => `${session.path}.json${section}`;

session.on("address", (said) => {
  section = said;
  if (find("#whole")) find("#whole").href = ROOT + session.path + said;
  try {
    history.replaceState(null, "", location.pathname + session.query + location.hash);
  } catch {
    // A frame may be without an address of its own.
  }
});
session.on("words", (answer) => {
  sound.stop(); // what is heard is no longer what is seen
  if (answered) parentPage.tell("change", report(answer));
  answered = true;
});

const parentPage = messenger({
  moved(state) {
    const known = Object.entries(state ?? {}).filter(([name]) => name in session.state && isOfSection(name));
    session.move(Object.fromEntries(known.map(([name, value]) => [name, String(value)])));
  },
  themed(theme) {
    if (THEMES.includes(theme)) page.dataset.theme = theme;
  },
});

function askWhenSeen(address, signal) {
  if (answered) hurry(); // what stands there is no longer what is asked for
  const { hide } = page.dataset; // of the curves
  return askServer(hide ? `${address}${address.includes("?") ? "&" : "?"}hide=${hide}` : address, signal);
}

/** The page around hears once that there are curves. */
function tellReady(answer) {
  if (!ready) parentPage.tell("ready", report(answer));
  ready = true;
}

function report({ address, verdict: { word, sentence } }) {
  const said = Object.entries(session.stateOf(address)).filter(([name]) => isOfSection(name));
  return { address, state: Object.fromEntries(said), verdict: { word, sentence } };
}

/** A page that was given no height tells the one it has. */
function measure() {
  const { height } = document.body.getBoundingClientRect();
  if (height > 0) parentPage.resized(Math.ceil(height));
}

if (!page.dataset.high) new ResizeObserver(measure).observe(document.body);
if (page.dataset.shown) import("../own/events.js").then(({ followInFrame }) => followInFrame(page.dataset, numbers));
session.start();
