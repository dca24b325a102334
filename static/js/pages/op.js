// The page of one op: a live section, and around it what only this page has.

import { h, makeScrollable, styleSheet } from "../dom.js";
import { retold } from "../figure/legend.js";
import { library, painted } from "../figure/plot.js";
import { listener } from "../figure/sound.js";
import { describe, tabulate } from "../figure/words.js";
import { prose } from "../number.js";
import { pairing } from "../own/other_inputs.js";
import { testing } from "../share/clipboard.js";
import { inscribe, joined } from "../state/address.js";
import { fetching, section } from "../state/session.js";
import { companion, isPanel } from "../views/companion.js";
import { saveCompanion } from "../views/download.js";

const find = (selector) => document.querySelector(selector);
const page = document.documentElement;
const views = [...document.querySelectorAll("[name=view]")];
const titles = Object.fromEntries(views.map(({ value, dataset }) => [value, dataset.title]));
const source = fetching();
const AT = ["step", "jacobian", "node", "descent"]; // the views that look at one place
const FILES = ["csv", "json", "svg", "png"];

let following = null; // of a visitor's own op

const seen = painted(); // before Plotly is read
const drawing = () => seen.then(() => library("curves"));

const figure = section({
  source,
  load: drawing,
  search: location.search,
  pointed,
  keeps: (answer) => following?.keeps(answer) ?? false,
  answered(answer) {
    annotate(answer);
    describe(answer, { paragraphs: find("#summary"), table: find("#marks"), paragraph: find("#method") });
    tabulate(find("#values"), answer);
    sound.stop(); // what is heard is no longer what is seen
    look();
  },
  drawn: () => closer.align(),
  looked(name) {
    look();
    if (name === "view") reveal();
  },
  picked: (x) => AT.includes(figure.state().view) && figure.put("at", String(x)),
});
const closer = companion(find("#companion"), {
  source,
  place: figure.plot.state,
  put: figure.put,
  move: figure.move,
  drawn() {
    figure.plot.mark(closer.state().answer.at ?? null);
    compare();
  },
});
const pair = pairing(find("#pair"), {
  link: (wrt) => location.pathname + joined(...Object.values(figure.parts({ ...closely(wrt), start: "", stop: "" }))),
  follow: (wrt) => figure.move(closely(wrt)),
  open: () => find("[name=view][value=contract]").click(),
});
const closely = (wrt) => ({ wrt, view: "jacobian" });

/** What the contract, if that is open, says of inputs that are not drawn. */
function compare() {
  const contract = closer.state()?.answer;
  const drawn = figure.plot.state()?.answer;
  if (drawn) pair(contract?.view === "contract" ? contract : null, drawn);
}

/** The address of the page and those of the files beside it. */
function pointed(said, here) {
  const { pathname } = location;
  inscribe(pathname + here);
  for (const each of FILES) find(`#${each}`).href = `${pathname}.${each}${said}`;
  find("#compare").href = `/compare?left=${pathname.split("/").at(-1)}${said.replace("?", "&").replace(/&recipe=[^&]*/, "")}`;
}

/** Open the companion figure for the section that is drawn, or close it. */
function look() {
  const { section: said, look: closest } = figure.parts();
  const { view } = figure.state();
  page.dataset.view = view;
  if (closest === "") {
    closer.close();
    figure.plot.mark(null);
    compare();
  } else closer.follow(view, `${figure.path}.json${joined(said, closest)}`, retold(titles[view], figure.state()), figure.dragging());
}

/** What was opened is brought into sight, below the curves as far as there is room. */
function reveal() {
  const behavior = matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth";
  const [place, block] = isPanel(figure.state().view) ? ["sentence", "center"] : ["plot", "nearest"];
  requestAnimationFrame(() => find(`#companion-${place}`).scrollIntoView({ block, behavior }));
}

/** What the answer says of the source and of the fields that were left empty. */
function annotate({ failure, notes, numerical, tolerance }) {
  for (const line of document.querySelectorAll(".source .failed")) line.classList.remove("failed");
  if (failure?.line) find(`#L${failure.line}`)?.classList.add("failed");
  const items = notes.map((note) => h("li", {}, prose(note)));
  find("#notes").replaceChildren(...items);
  const chosen = { step: numerical?.step, atol: tolerance?.atol, rtol: tolerance?.rtol };
  for (const [name, value] of Object.entries(chosen)) {
    find("#controls").elements[name].placeholder = value?.toPrecision(2) ?? "";
  }
}

addEventListener("popstate", () => figure.visit(location.search));

makeScrollable(document.querySelectorAll(".formulas dd, .scroll"));
find("#companion-save").addEventListener("click", () => {
  if (closer.state()) saveCompanion(closer.state(), titles[figure.state().view]);
});
find("#copy").addEventListener("click", async ({ target }) => {
  await navigator.clipboard.writeText(location.href);
  target.textContent = "Copied";
  setTimeout(() => (target.textContent = "Copy link"), 1500);
});
find("#copy").hidden = !navigator.clipboard;
testing(find("#as-test"), find("#pytest"));
const sound = listener(figure);
sharer({
  dialog: find("#sharing"),
  button: find("#share"),
  current: () => {
    const { pathname: path, search: query } = location;
    return { path, query, title: find("#title").textContent, op: path.split("/").at(-1) };
  },
});
drawing().catch(() => {}); // whoever draws says that it is not there
figure.start();
if (find("#following")) import("../own/refresh.js").then(({ refreshing }) => (following = refreshing(figure, closer)));

/** `current()` tells what is shown: {path, query, title, op}. Without JavaScript there is no button. */
function sharer({ dialog, button, current }) {
  let fetched = null;
  const fetchIt = () => (fetched ??= Promise.all([import("../share/dialog.js"), styleSheet(dialog.dataset.sheet)]).catch(forgotten));
  const forgotten = (error) => {
    fetched = null; // the next click tries again
    throw error;
  };
  let open = null;
  for (const coming of ["pointerenter", "focus"]) button.addEventListener(coming, () => fetchIt().catch(() => {}), { once: true });
  button.addEventListener("click", async () => {
    const [{ sharing }] = await fetchIt();
    open ??= sharing(dialog, current);
    open();
  });
  button.hidden = false;
}

