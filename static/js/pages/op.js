// The page of one op: a live section, and around it what only this page has.

import { h, makeScrollable, styleSheet } from "../dom.js";
import { titleFor } from "../figure/legend.js";
import { afterFirstPaint, loadPlotly } from "../figure/plot.js";
import { soundButton } from "../figure/sound.js";
import { writeValues, writeWords } from "../figure/words.js";
import { typesetSentence } from "../number.js";
import { otherInputs } from "../own/other_inputs.js";
import { showCall } from "../own/shown_call.js";
import { testDialog } from "../share/clipboard.js";
import { joinQueries, showInAddressBar } from "../state/address.js";
import { liveSection, serverSource } from "../state/live_section.js";
import { companion, isPanel } from "../views/companion.js";
import { saveCompanion } from "../views/download.js";

const find = (selector) => document.querySelector(selector);
const page = document.documentElement;
const views = [...document.querySelectorAll("[name=view]")];
const titles = Object.fromEntries(views.map(({ value, dataset }) => [value, dataset.title]));
const source = serverSource();
const AT = ["step", "jacobian", "node", "descent"]; // the views that look at one place
const FILES = ["csv", "json", "svg", "png", "py"];

let following = null; // of a visitor's own op

const painted = afterFirstPaint(); // before Plotly is read
const plotly = () => painted.then(() => loadPlotly("curves"));

const section = liveSection({
  source,
  load: plotly,
  search: location.search,
  addressChanged,
  keepsCurves: (answer) => following?.keeps(answer) ?? false,
  answered(answer) {
    annotate(answer);
    showCall(section.state());
    writeWords(answer, { paragraphs: find("#summary"), table: find("#marks"), paragraph: find("#method") });
    writeValues(find("#values"), answer);
    sound.stop(); // what is heard is no longer what is seen
    updateView();
  },
  drawn: () => closeLook.align(),
  viewChanged(name) {
    updateView();
    if (name === "view") reveal();
  },
  pointPicked: (x) => AT.includes(section.state().view) && section.put("at", String(x)),
});
const closeLook = companion(find("#companion"), {
  source,
  place: section.plot.state,
  put: section.put,
  move: section.move,
  drawn() {
    section.plot.mark(closeLook.state().answer.at ?? null);
    compareInputs();
  },
});
const tellOtherInputs = otherInputs(find("#pair"), {
  link: (wrt) => location.pathname + joinQueries(...Object.values(section.parts({ ...jacobianBy(wrt), start: "", stop: "" }))),
  follow: (wrt) => section.move(jacobianBy(wrt)),
  open: () => find("[name=view][value=contract]").click(),
});
const jacobianBy = (wrt) => ({ wrt, view: "jacobian" });

/** What the contract, if that is open, says of inputs that are not drawn. */
function compareInputs() {
  const contract = closeLook.state()?.answer;
  const drawn = section.plot.state()?.answer;
  if (drawn) tellOtherInputs(contract?.view === "contract" ? contract : null, drawn);
}

/** The address of the page and those of the files beside it. */
function addressChanged(said, here) {
  const { pathname } = location;
  showInAddressBar(pathname + here);
  for (const each of FILES) find(`#${each}`).href = `${pathname}.${each}${said}`;
  find("#compare").href = `/compare?left=${pathname.split("/").at(-1)}${said.replace("?", "&").replace(/&recipe=[^&]*/, "")}`;
}

/** Open the companion figure for the section that is drawn, or close it. */
function updateView() {
  const { section: said, view: closest } = section.parts();
  const { view } = section.state();
  page.dataset.view = view;
  if (closest === "") {
    closeLook.close();
    section.plot.mark(null);
    compareInputs();
  } else closeLook.follow(view, `${section.path}.json${joinQueries(said, closest)}`, titleFor(titles[view], section.state()), section.dragging());
}

/** What was opened is brought into sight, below the curves as far as there is room. */
function reveal() {
  const behavior = matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth";
  const [place, block] = isPanel(section.state().view) ? ["sentence", "center"] : ["plot", "nearest"];
  requestAnimationFrame(() => find(`#companion-${place}`).scrollIntoView({ block, behavior }));
}

/** What the answer says of the source and of the fields that were left empty. */
function annotate({ failure, notes, numerical, tolerance }) {
  for (const line of document.querySelectorAll(".source .failed")) line.classList.remove("failed");
  if (failure?.line) find(`#L${failure.line}`)?.classList.add("failed");
  const items = notes.map((note) => h("li", {}, typesetSentence(note)));
  find("#notes").replaceChildren(...items);
  const chosen = { step: numerical?.step, atol: tolerance?.atol, rtol: tolerance?.rtol };
  for (const [name, value] of Object.entries(chosen)) {
    find("#controls").elements[name].placeholder = value?.toPrecision(2) ?? "";
  }
}

addEventListener("popstate", () => section.visit(location.search));

makeScrollable(document.querySelectorAll(".formulas dd, .scroll"));
find("#companion-save").addEventListener("click", () => {
  if (closeLook.state()) saveCompanion(closeLook.state(), titles[section.state().view]);
});
find("#copy").addEventListener("click", async ({ target }) => {
  await navigator.clipboard.writeText(location.href);
  target.textContent = "Copied";
  setTimeout(() => (target.textContent = "Copy link"), 1500);
});
find("#copy").hidden = !navigator.clipboard;
testDialog(find("#py"), find("#pytest"));
const sound = soundButton(section);
shareButton({
  dialog: find("#sharing"),
  button: find("#share"),
  current: () => {
    const { pathname: path, search: query } = location;
    return { path, query, title: find("#title").textContent, op: path.split("/").at(-1) };
  },
});
plotly().catch(() => {}); // whoever draws says that it is not there
section.start();
if (find("#following")) import("../own/refresh.js").then(({ refreshOnSave }) => (following = refreshOnSave(section, closeLook)));

/** `current()` tells what is shown: {path, query, title, op}. Without JavaScript there is no button. */
function shareButton({ dialog, button, current }) {
  let fetched = null;
  const fetchDialog = () => (fetched ??= Promise.all([import("../share/dialog.js"), styleSheet(dialog.dataset.sheet)]).catch(forgotten));
  const forgotten = (error) => {
    fetched = null; // the next click tries again
    throw error;
  };
  let open = null;
  for (const coming of ["pointerenter", "focus"]) button.addEventListener(coming, () => fetchDialog().catch(() => {}), { once: true });
  button.addEventListener("click", async () => {
    const [{ shareDialog }] = await fetchDialog();
    open ??= shareDialog(dialog, current);
    open();
  });
  button.hidden = false;
}

