// The page of a pair: two figures on the same axes, one cursor for both, one form. Its address is all it remembers.

import { query } from "../state/address.js";
import { asker, unshown } from "../state/ask.js";
import { inscribe } from "../state/bar.js";
import { side } from "./compare_side.js";
import { blame, declared, follow, listen, read, write } from "../state/controls.js";
import { ranges } from "../figure/figure.js";
import { legend } from "../figure/legend.js";
import { prose, tidy, typographic } from "../number.js";
import { painted } from "./painted.js";
import { onPaletteChange } from "../figure/palette.js";
import { library } from "../figure/plotly.js";
import { fetching } from "../state/source.js";
import { coded } from "../figure/words.js";

const SIDES = ["left", "right"];
const PATH = "/compare";
const find = (selector) => document.querySelector(selector);
const page = document.documentElement;
const form = find("#controls");
const { usual } = declared(form);
const abreast = matchMedia("(min-width: 62rem)"); // as compare.css has it
const seen = painted(); // before Plotly is read
const load = () => seen.then(() => library("curves"));

let state = read(form);
let asked = "";
let dragging = false;
let shown = null;
let drawing = 0;

const figures = SIDES.map((name) =>
  side(find(`#${name}`), name, {
    load,
    zoomed: (start, stop) => move({ start: String(tidy(start, stop - start)), stop: String(tidy(stop, stop - start)) }),
    widened: () => move({ start: "", stop: "" }),
    link: ({ start, stop }) => PATH + query(usual, { ...state, start: String(start), stop: String(stop) }),
    other: () => figures.find((each) => each.name !== name),
  }),
);
const ask = asker(fetching(), show, complain);

/** Take over what `values` say, as if it had come from the controls. */
function move(values) {
  state = { ...state, ...Object.fromEntries(Object.entries(values).map(([name, text]) => [name, String(text)])) };
  write(form, state, usual);
  hideIdle();
  go();
}

function go() {
  const said = query(usual, state);
  inscribe(PATH + said);
  asked = `${PATH}.json${said}`;
  ask(asked);
}

function show(answer, address) {
  complain("");
  shown = answer;
  if (address === asked) inscribe(answer.address); // the shortest one
  tell(answer);
  draw();
}

function tell(answer) {
  say(find("#told"), coded(answer.words.join(" ")));
  page.dataset.order = answer.left.order;
  find("#swapped").href = answer.swapped;
  for (const [name, text] of Object.entries(answer.usual)) form.elements[name].placeholder = typographic(text);
  for (const each of figures) each.tell(answer[each.name]);
  hideIdle();
}

/** What is not said anew is not announced anew. */
function say(element, pieces) {
  const text = pieces.map((piece) => piece.textContent ?? piece).join("");
  if (element.textContent !== text) element.replaceChildren(...pieces);
}

/** Both figures, on the same heights; while a slider is held these only grow. */
async function draw() {
  const [mine, answer, { layout }] = [(drawing += 1), shown, state];
  const kept = dragging ? figures.map((each) => each.plot.state()?.ranges).filter(Boolean) : [];
  const drawn = SIDES.map((name) => answer[name]).filter(({ columns }) => columns.x.length > 0);
  const held = around([...kept, ...drawn.map((each) => ranges(each, { layout }))]);
  for (const { name } of figures) legend(find(`#${name} .figure`), answer[name], layout);
  level();
  try {
    await Promise.all(figures.map(({ name, plot }) => plot.draw(answer[name], layout, held)));
  } catch (error) {
    complain(unshown(error));
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

/** The ranges around all of these, null around none. As `shared` in server/picture. */
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
  if (find("#trouble").textContent !== prose(sentence)) find("#trouble").textContent = prose(sentence);
  blame(form, sentence);
  if (sentence) for (const each of figures) each.plot.unzoom();
  // A link to what cannot be would lose everything else it says: the address stays that of the picture.
  if (wrong && shown) inscribe(shown.address);
}

listen(form, () => usual, (name, live) => {
  state = { ...state, ...read(form) };
  follow(form, state, usual);
  hideIdle();
  const again = live === dragging && asked === `${PATH}.json${query(usual, state)}` && !find("#trouble").textContent;
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
asked = `${PATH}.json${query(usual, state)}`;
if (given) show(JSON.parse(given), asked);
else go();
