// The page of a pair: two figures on the same axes, one cursor for both, one form. Its address is all it remembers.

import { replaceWords, withCode } from "../dom.js";
import { curveCursor } from "../figure/cursor.js";
import { updateLegend } from "../figure/legend.js";
import { afterFirstPaint, loadPlotly, onPaletteChange, plotter } from "../figure/plot.js";
import { ranges } from "../figure/ranges.js";
import { readout } from "../figure/reading.js";
import { verdictWriter } from "../figure/verdict.js";
import { nearest, typesetSentence, roundForSpan, typographic } from "../number.js";
import { queryOf, showInAddressBar } from "../state/address.js";
import { formDefaults, listenToForm, markInvalid, readForm, updateWidgets, writeForm } from "../state/controls.js";
import { displayError, latestOnly, serverSource } from "../state/live_section.js";

let leading = null; // the side on which a hand moves the cursor

/**
 * One of the two figures: what live_section.js is to a page of its own, without a form and an address.
 * `load`, `zoomed` and `widened` are those of a plotter, `link(range)` is the address of another range, and `other()`
 * the other side, which shows the cursor where this one has it.
 */
function side(root, name, { load, zoomed, widened, link, other }) {
  const find = (part) => document.querySelector(`#${name}-${part}`);
  let following = false;

  const plot = plotter(find("canvas"), { load, zoomed, widened, drawn });
  const read = readout(find("reading"), () => plot.state().answer);
  const parts = { canvas: find("canvas"), overlay: find("overlay"), cursor: find("cursor") };
  const trace = curveCursor(parts, plot, placed, () => {});
  const tellVerdict = verdictWriter(find("verdict"), { link, follow: ({ start, stop }) => zoomed(start, stop) });

  /** The cursor is at `row`, null for nowhere; what is said of it is said of the other side as well. */
  function placed(row, first) {
    const words = read(row, first);
    if (following && (leading !== null || row === null)) return words;
    leading = row === null ? null : { name, x: plot.state().answer.columns.x[row] };
    const beside = other().followOther();
    return words && beside ? `${words}. ${other().title}: ${beside}` : words;
  }

  /** Take the cursor to where the other side has it; returns the words for it. */
  function followOther() {
    if (!plot.state()?.answer.columns.x.length) return "";
    following = true;
    const words = trace.follow(leading === null ? null : nearest(plot.state().answer.columns.x, leading.x));
    following = false;
    return words ?? "";
  }

  function drawn() {
    following = leading?.name !== name;
    trace.refresh();
    following = false;
    if (leading !== null && leading.name !== name) followOther();
  }

  function tell(answer) {
    tellVerdict(answer);
    find("own").textContent = answer.own;
    find("found").querySelector("use").setAttribute("href", `#mark-${answer.verdict.word.replaceAll(" ", "-")}`);
    find("found").querySelector("span").textContent = answer.verdict.word;
    find("alone").href = answer.address;
    for (const line of document.querySelectorAll(`[id^=${name}-L].failed`)) line.classList.remove("failed");
    if (answer.failure?.line) document.querySelector(`#${name}-L${answer.failure.line}`)?.classList.add("failed");
  }

  const owns = (word) => root.dataset.words.split(" ").includes(word);
  const title = root.querySelector("h2").firstChild.textContent.trim();
  return { name, title, plot, lower: find("head-lower"), tell, followOther, owns };
}

const SIDES = ["left", "right"];
const PATH = "/compare";
const find = (selector) => document.querySelector(selector);
const page = document.documentElement;
const form = find("#controls");
const { usual } = formDefaults(form);
const abreast = matchMedia("(min-width: 62rem)"); // as compare.css has it
const painted = afterFirstPaint(); // before Plotly is read
const load = () => painted.then(() => loadPlotly("curves"));

let state = readForm(form);
let asked = "";
let dragging = false;
let shown = null;
let drawing = 0;

const figures = SIDES.map((name) =>
  side(find(`#${name}`), name, {
    load,
    zoomed: (start, stop) => move({ start: String(roundForSpan(start, stop - start)), stop: String(roundForSpan(stop, stop - start)) }),
    widened: () => move({ start: "", stop: "" }),
    link: ({ start, stop }) => PATH + queryOf(usual, { ...state, start: String(start), stop: String(stop) }),
    other: () => figures.find((each) => each.name !== name),
  }),
);
const ask = latestOnly(serverSource(), show, complain);

/** Take over what `values` say, as if it had come from the controls. */
function move(values) {
  state = { ...state, ...Object.fromEntries(Object.entries(values).map(([name, text]) => [name, String(text)])) };
  writeForm(form, state, usual);
  hideIdle();
  go();
}

function go() {
  const said = queryOf(usual, state);
  showInAddressBar(PATH + said);
  asked = `${PATH}.json${said}`;
  ask(asked);
}

function show(answer, address) {
  complain("");
  shown = answer;
  if (address === asked) showInAddressBar(answer.address); // the shortest one
  tell(answer);
  draw();
}

function tell(answer) {
  replaceWords(find("#told"), withCode(answer.words.join(" ")));
  page.dataset.order = answer.left.order;
  find("#swapped").href = answer.swapped;
  for (const [name, text] of Object.entries(answer.usual)) form.elements[name].placeholder = typographic(text);
  for (const each of figures) each.tell(answer[each.name]);
  hideIdle();
}

/** Both figures, on the same heights; while a slider is held these only grow. */
async function draw() {
  const [mine, answer, { layout }] = [(drawing += 1), shown, state];
  const kept = dragging ? figures.map((each) => each.plot.state()?.ranges).filter(Boolean) : [];
  const drawn = SIDES.map((name) => answer[name]).filter(({ columns }) => columns.x.length > 0);
  const held = around([...kept, ...drawn.map((each) => ranges(each, { layout }))]);
  for (const { name } of figures) updateLegend(find(`#${name} .figure`), answer[name], layout);
  level();
  try {
    await Promise.all(figures.map(({ name, plot }) => plot.draw(answer[name], layout, held)));
  } catch (error) {
    complain(displayError(error));
  }
  if (mine !== drawing) return;
  page.dataset.ready = "1";
  page.dataset.address = answer.address;
  page.dataset.held = dragging ? "1" : "";
}

/** The words between the panels take as much room on both sides, so that these lie in the same rows. */
function level() {
  const heads = figures.map(({ lower }) => lower);
  for (const each of heads) each.style.minHeight = "0";
  if (!abreast.matches) return;
  const most = Math.max(...heads.map((each) => each.getBoundingClientRect().height));
  for (const each of heads) each.style.minHeight = `${most}px`;
}

/** The ranges around all of these, null around none. As `shared` in server/figure. */
function around(all) {
  if (all.length === 0) return null;
  const end = (choose, panel, i) => choose(...all.map((each) => each[panel][i]));
  const of = (panel) => [end(Math.min, panel, 0), end(Math.max, panel, 1)];
  return { upper: of("upper"), lower: of("lower") };
}

/** A field for what is swept on every side that it moves would do nothing. */
function hideIdle() {
  for (const control of form.querySelectorAll("[data-control]")) {
    const [word, apart] = control.dataset.control.split(".").reverse();
    const moved = figures.filter(({ name, owns }) => owns(word) && (apart ?? name) === name);
    control.hidden = shown !== null && moved.length > 0 && moved.every(({ name }) => shown[name].wrt === word);
  }
}

function complain(sentence, _, wrong = false) {
  if (find("#trouble").textContent !== typesetSentence(sentence)) find("#trouble").textContent = typesetSentence(sentence);
  markInvalid(form, sentence);
  if (sentence) for (const each of figures) each.plot.unzoom();
  // A link to what cannot be would lose everything else it says: the address stays that of the picture.
  if (wrong && shown) showInAddressBar(shown.address);
}

listenToForm(form, () => usual, (name, live) => {
  state = { ...state, ...readForm(form) };
  updateWidgets(form, state, usual);
  hideIdle();
  const again = live === dragging && asked === `${PATH}.json${queryOf(usual, state)}` && !find("#trouble").textContent;
  dragging = live;
  if (name === "layout" && shown) draw();
  if (!again) go();
});

addEventListener("popstate", () => location.search !== shown?.address.slice(PATH.length) && location.reload());
/** Both as they are, in a place of another size or in other colours. */
function redraw() {
  if (shown === null) return;
  level();
  for (const { plot } of figures) plot.redraw();
}

new ResizeObserver(redraw).observe(find(".pair"));
onPaletteChange(redraw);
load().catch(() => {}); // whoever draws says that it is not there

const given = find("#answer")?.textContent;
asked = `${PATH}.json${queryOf(usual, state)}`;
if (given) show(JSON.parse(given), asked);
else go();
