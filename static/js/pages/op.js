// The page of one op: its session and its figure, and around it what only this page has.

import { showDefinitions } from "../definitions.js";
import { makeScrollable } from "../dom.js";
import { soleFigure } from "../figure/live_figure.js";
import { afterFirstPaint, loadPlotly } from "../figure/plot.js";
import { soundButton } from "../figure/sound.js";
import { titleFor } from "../figure/words.js";
import { otherInputs } from "../own/other_inputs.js";
import { showCall } from "../own/shown_call.js";
import { ROOT } from "../root.js";
import { copiesLink, testDialog } from "../share/clipboard.js";
import { shareButton } from "../share/button.js";
import { editAddress, isOfView, joinQueries, showInAddressBar } from "../state/address.js";
import { PLACED, WRITTEN } from "../state/parameters.js";
import { askServer, latestOnly } from "../state/question.js";
import { Session } from "../state/session.js";
import { companion } from "../views/companion.js";
import { descentStrip } from "../views/descent_strip.js";
import { proofLine } from "../views/proof_line.js";

const find = (selector) => document.querySelector(selector);
const page = document.documentElement;
const views = [...document.querySelectorAll("[name=view]")];
const titles = Object.fromEntries(views.map(({ value, dataset }) => [value, dataset.title]));
const abreast = matchMedia("(min-width: 62rem)"); // as op.css has it

const painted = afterFirstPaint(); // before Plotly is read
const plotly = () => painted.then(() => loadPlotly("curves"));

showDefinitions();
let coming = page.dataset.view !== "curves" && scrollY === 0; // is a view opened that is not drawn yet?
for (const own of ["wheel", "touchmove", "keydown"]) addEventListener(own, () => (coming = false), { passive: true });

const session = new Session(askServer, location.search);
const figure = soleFigure(session, {
  load: plotly,
  drawn: () => closeLook.align(),
  picked: (x) => PLACED.includes(session.state.view) && session.put("at", String(x)),
});
const sound = soundButton(figure);
const closeLook = companion(find("#companion"), {
  source: askServer,
  place: figure.plot.state,
  put: session.put,
  move: (values) => session.move(values),
  drawn() {
    figure.plot.mark(closeLook.shown().at ?? null);
    compareInputs();
    if (coming) reveal();
    coming = false;
  },
});
const tellOtherInputs = otherInputs(find("#pair"), {
  link: (wrt) => location.pathname + joinQueries(...Object.values(session.parts({ ...jacobianBy(wrt), start: "", stop: "" }))),
  follow: (wrt) => session.move(jacobianBy(wrt)),
  open: () => find("[name=view][value=contract]").click(),
});
let contract = null; // of the call that the page came with, or that was saved last
const askContract = latestOnly(askServer, keepContract, () => {});
const jacobianBy = (wrt) => ({ wrt, view: "jacobian" });

const tellStrip = find("#strip") && descentStrip(find("#strip"), { source: askServer, address: descentAddress });

const proof = proofLine(find("#proof"), session, figure);

session.on("address", linkFiles);
session.on("words", (answer) => {
  annotate(answer);
  if (!session.dragging) tellStrip?.(answer.verdict.word);
  showCall(session.state);
  sound.stop(); // what is heard is no longer what is seen
  updateView();
});
session.on("control", (name) => {
  if (isOfView(name)) updateView();
  if (name !== "view") return;
  coming = page.dataset.view !== "curves";
  if (coming) reveal();
});

/** Ask the contract, as a report does, of inputs and calls that are not drawn. */
function lookAtOthers() {
  const { section: said, view } = session.parts({ view: "contract" });
  askContract(`${session.path}.page.json${joinQueries(said, view)}`);
}

function keepContract(answer) {
  contract = answer;
  compareInputs();
}

/** What the contract says of inputs and calls that are not drawn. */
function compareInputs() {
  const open = closeLook.shown();
  const drawn = figure.plot.state()?.answer;
  if (drawn) tellOtherInputs(open?.view === "contract" ? open : contract, drawn);
}

/** The address of the page and those of the files beside it. */
function linkFiles(said, deed, refused) {
  const { pathname } = location;
  showInAddressBar(pathname + session.query, deed, refused);
  for (const link of menu.querySelectorAll("a")) link.href = `${pathname}.${link.id}${said}`;
  for (const link of document.querySelectorAll(".edit")) link.href = editAddress(session, said);
  find("#compare").href = `${ROOT}/compare?left=${pathname.split("/").at(-1)}${said.replace("?", "&").replace(/&recipe=[^&]*/, "")}`;
}

/** The address of the numbers of the descent, whatever is open. */
function descentAddress() {
  const { section: said, view } = session.parts({ view: "descent" });
  return `${session.path}.json${joinQueries(said, view)}`;
}

/** Open the companion figure for the section that is drawn, or close it. */
function updateView() {
  const { section: said, view: closest } = session.parts();
  const { view } = session.state;
  page.dataset.view = view;
  if (closest === "") {
    closeLook.close();
    figure.plot.mark(null);
    compareInputs();
  } else {
    const address = `${session.path}${WRITTEN.includes(view) ? ".page" : ""}.json${joinQueries(said, closest)}`;
    const nouns = session.answer?.scene.nouns ?? { forward: "forward", backward: "backward" };
    closeLook.follow(view, address, titleFor(titles[view], nouns), session.dragging);
  }
}

/** What was opened is brought into sight, together with the figure beside the sliders or, in one column, with these. */
function reveal() {
  const above = find(abreast.matches ? ".stage" : ".parameters").getBoundingClientRect().top;
  const { top, bottom } = find("#companion").getBoundingClientRect();
  const least = Math.min(bottom, top + innerHeight / 2); // of it that is to be seen: a panel may be long
  scrollBy(0, Math.max(above, least - innerHeight));
}

/** The file has been saved: what was said of it holds no longer. */
function expire() {
  closeLook.expire();
  proof.expire();
  contract = null;
  if (find("#pair")) lookAtOthers();
}

/** What the answer says of the source and of the fields that were left empty. */
function annotate({ failure, numerical, tolerance }) {
  for (const line of document.querySelectorAll(".source .failed")) line.classList.remove("failed");
  if (failure?.line) find(`#L${failure.line}`)?.classList.add("failed");
  const chosen = { step: numerical?.step, atol: tolerance?.atol, rtol: tolerance?.rtol };
  for (const [name, value] of Object.entries(chosen)) {
    find("#controls").elements[name].placeholder = value?.toPrecision(2) ?? "";
  }
}

const menu = find("#export");
addEventListener("click", ({ target }) => menu.contains(target) || menu.removeAttribute("open"));
menu.addEventListener("keydown", ({ key }) => {
  if (key !== "Escape") return;
  menu.removeAttribute("open");
  menu.querySelector("summary").focus();
});

addEventListener("popstate", () => session.visit(location.search));

makeScrollable(document.querySelectorAll(".formulas dd, .scroll"));
copiesLink(find("#copy"), () => new URL(location.pathname + session.query, location.href).href); // the bar may lag behind
testDialog(find("#py"), find("#pytest"));
shareButton(find("#share"), find("#sharing"), () => session.query);
plotly().catch(() => {}); // whoever draws says that it is not there
session.start();
if (find("#pair")) lookAtOthers();
if (find("#following")) import("../own/refresh.js").then(({ refreshOnSave }) => refreshOnSave(session, { expire }));
