// The page of a pair: two figures on the same axes, one cursor for both, one form. Its address is all it remembers.

import { showDefinitions } from "../definitions.js";
import { replaceWords, withCode } from "../dom.js";
import { liveFigure } from "../figure/live_figure.js";
import { afterFirstPaint, loadPlotly, onPaletteChange } from "../figure/plot.js";
import { updateLegend } from "../figure/words.js";
import { nearest, typographic } from "../number.js";
import { ROOT } from "../root.js";
import { showInAddressBar } from "../state/address.js";
import { askServer, displayError } from "../state/question.js";
import { Session } from "../state/session.js";

let leading = null; // the side on which a hand moves the cursor

/** One of the two figures; `other()` is that beside it, which shows the cursor where this one has it. */
function side(root, name, other) {
  const find = (part) => document.querySelector(`#${name}-${part}`);
  let following = false;

  const { plot, trace, write } = liveFigure(session, `${name}-`, { load, drawn, reading });

  /** The cursor is at a row, null for nowhere; what is said of it is said of the other side as well. */
  function reading(read) {
    return (row, first) => {
      const words = read(row, first);
      if (following && (leading !== null || row === null)) return words;
      leading = row === null ? null : { name, x: plot.state().answer.columns.x[row] };
      const beside = other().followOther();
      return words && beside ? `${words}. ${other().title}: ${beside}` : words;
    };
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
    write(answer);
    find("own").textContent = answer.own;
    const [found, verdict] = [find("found"), find("verdict")];
    found.querySelector("use").setAttribute("href", verdict.querySelector("use").getAttribute("href"));
    found.querySelector("span").textContent = verdict.querySelector(".word").textContent;
    find("alone").href = ROOT + answer.address;
    for (const line of document.querySelectorAll(`[id^=${name}-L].failed`)) line.classList.remove("failed");
    if (answer.failure?.line) document.querySelector(`#${name}-L${answer.failure.line}`)?.classList.add("failed");
  }

  const owns = (word) => root.dataset.words.split(" ").includes(word);
  const title = root.querySelector("h2").firstChild.textContent.trim();
  return { name, title, plot, lower: find("head-lower"), tell, followOther, owns };
}

const SIDES = ["left", "right"];
const find = (selector) => document.querySelector(selector);
const page = document.documentElement;
const form = find("#controls");
const abreast = matchMedia("(min-width: 62rem)"); // as compare.css has it
const painted = afterFirstPaint(); // before Plotly is read
const load = () => painted.then(() => loadPlotly("curves"));
const session = new Session(askServer, location.search, ".json");
const figures = SIDES.map((name) => side(find(`#${name}`), name, () => figures.find((each) => each.name !== name)));
let drawing = 0;

function tell(answer) {
  replaceWords(find("#told"), withCode(answer.words.join(" ")));
  page.dataset.order = answer.left.order;
  find("#swapped").href = ROOT + answer.swapped;
  for (const [name, text] of Object.entries(answer.usual)) form.elements[name].placeholder = typographic(text);
  for (const each of figures) each.tell(answer[each.name]);
}

/** Both figures, on the same heights; while a slider is held these stay as long as the curves fit in. */
async function draw() {
  const [mine, answer, { layout }] = [(drawing += 1), session.answer, session.state];
  const held = session.dragging ? figures.map((each) => each.plot.state()?.ranges).find(Boolean) : null; // those of both
  for (const { name } of figures) updateLegend(find(`#${name} .figure`), answer[name], layout);
  level();
  try {
    await Promise.all(figures.map(({ name, plot }) => plot.draw(answer[name], layout, held)));
  } catch (error) {
    session.complain(displayError(error));
  }
  if (mine === drawing) session.drawn(answer);
}

/** The words between the panels take as much room on both sides, so that these lie in the same rows. */
function level() {
  const heads = figures.map(({ lower }) => lower);
  for (const each of heads) each.style.minHeight = "0";
  if (!abreast.matches) return;
  const most = Math.max(...heads.map((each) => each.getBoundingClientRect().height));
  for (const each of heads) each.style.minHeight = `${most}px`;
}

/** A field for what is swept on every side that it moves would do nothing. */
function hideIdle() {
  const shown = session.answer;
  for (const control of form.querySelectorAll("[data-control]")) {
    const [word, apart] = control.dataset.control.split(".").reverse();
    const moved = figures.filter(({ name, owns }) => owns(word) && (apart ?? name) === name);
    control.hidden = shown && moved.length > 0 && moved.every(({ name }) => shown[name].wrt === word);
  }
}

session.on("address", (_, deed, refused) => {
  showInAddressBar(ROOT + session.path + session.query, deed, refused);
  for (const link of document.querySelectorAll("[data-ending]")) {
    link.href = `${ROOT}${session.path}.${link.dataset.ending}${session.query}`;
  }
  hideIdle();
});
session.on("answer", (answer) => {
  tell(answer);
  hideIdle();
  draw();
});
session.on("control", (name) => {
  hideIdle();
  if (name === "layout" && session.answer) draw();
});

addEventListener("popstate", () => {
  const asked = new URLSearchParams(location.search);
  if (SIDES.every((name) => asked.get(name) === session.state[name])) session.visit(location.search);
  else location.reload();
});

/** Both as they are, in a place of another size or in other colours. */
function redraw() {
  if (!session.answer) return;
  level();
  for (const { plot } of figures) plot.redraw();
}

new ResizeObserver(redraw).observe(find(".pair"));
onPaletteChange(redraw);
load().catch(() => {}); // whoever draws says that it is not there
showDefinitions();
session.start();
