// The page /embed: a live figure in the frame of another page, drawn when it is seen, as high as it is, in touch with
// that page.

import { whenVisible } from "../figure/in_sight.js";
import { soleFigure } from "../figure/live_figure.js";
import { loadPlotly } from "../figure/plot.js";
import { soundButton } from "../figure/sound.js";
import { ROOT } from "../root.js";
import { framedFigure } from "../share/framed_figure.js";
import { isOfSection } from "../state/address.js";
import { askForPage } from "../state/question.js";
import { Session } from "../state/session.js";
import { proofLine } from "../views/proof_line.js";

const find = (selector) => document.querySelector(selector);
const page = document.documentElement;
let hurry = () => {};
const hurried = new Promise((resolve) => (hurry = resolve));
const whenDue = Promise.race([whenVisible(find("#canvas")), hurried]);
let answered = false;

const session = new Session(askWhenSeen, location.search);
const figure = soleFigure(session, { load: () => whenDue.then(() => loadPlotly("curves")), drawn: (answer) => frame.tellReady(answer) });
const sound = soundButton(figure);
if (find("#proof")) proofLine(find("#proof"), session, figure);

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
session.on("words", () => {
  sound.stop(); // what is heard is no longer what is seen
  answered = true;
});
const frame = framedFigure(session, isOfSection);

function askWhenSeen(address, signal) {
  if (answered) hurry(); // what stands there is no longer what is asked for
  return askForPage(address, signal);
}

if (page.dataset.shown) import("../own/events.js").then(({ followInFrame }) => followInFrame(page.dataset, numbers));
session.start();
