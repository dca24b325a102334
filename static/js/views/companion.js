// The figure or panel below the main one ("More views"): asks for its own numbers after each answer of the main
// figure, and keeps the last good picture.

import { grid, styleSheet, withCode } from "../dom.js";
import { hasRoom, loadPlotly, palette, PLOTLY_CONFIG } from "../figure/plot.js";
import { format, roundForSpan, typesetSentence } from "../number.js";
import { ROOT } from "../root.js";
import { errorMarks } from "../state/controls.js";
import { WRITTEN } from "../state/parameters.js";
import { displayError, latestOnly } from "../state/question.js";
import { setReady } from "../state/session.js";
import { areaFigure } from "./area.js";
import { gradOutputLine, mapFigure } from "./map.js";
import { precisionFigure, precisionTable } from "./precision.js";
import { stepFigure } from "./step.js";
import { wideFigure } from "./wide.js";

const FIGURES = {
  area: areaFigure,
  map: mapFigure,
  precision: precisionFigure,
  wide: wideFigure,
  step: stepFigure,
};
const loadSheet = (view) => styleSheet(document.querySelector(`[name=view][value=${view}]`).dataset.sheet);
/** Draws a figure in `element` where it has room, as large as `view` says. */
const drawFigure = (plotly, element, { data, layout }, view) =>
  hasRoom(layout.margin, view) && plotly.react(element, data, layout, PLOTLY_CONFIG);
const SURROGATE = "matches its surrogate"; // right, as the derivative of another function
const kindOf = ({ view }) => (view === "map" ? "maps" : "curves");
const TABLES = { precision: (answer) => ["Largest errors in this range", precisionTable(answer)] };
const [TOP, BOTTOM] = [0.5, 3];
const REST = 2; // while a slider is dragged the page rests for so many times as long as the last picture took

/**
 * `source` answers addresses; `place()` is what the main figure has drawn, as `plot.state()` tells it, null before that;
 * `put(name, text, live)` sets one control and `move(values)` several, as a hand would. Returns {follow, align, close,
 * expire, state}.
 */
export function companion(section, { source, place, put, move, drawn }) {
  const find = (name) => section.querySelector(`#companion-${name}`);
  const element = find("plot");
  let shown = null;
  let held = null;
  let drawing = { answer: null, how: "" };
  let next = 0; // when there is time for another picture while somebody drags
  let timer = 0;
  let asked = ""; // and nothing speaks for asking it again
  let waiting = false; // for word of what was asked last
  let opened = ""; // the address of what the panel shows
  let plotly = null; // the one that drew last
  const panel = panelSwitch(find("panel"), { place, put, move, loadPlotly, drawFigure, palette, loadSheet });
  const steer = (grad_output, live) => put("grad_output", String(grad_output), live);
  const ask = latestOnly(source, answered, refused);
  const mark = errorMarks(() => [...section.querySelectorAll("[name][form]")]);

  function complain(sentence, errors = []) {
    find("trouble").textContent = typesetSentence(sentence);
    section.classList.toggle("refused", sentence !== "");
    mark(errors);
  }

  /** Ask for `address`, the same section in `view`; not at once if somebody drags and has not had time to see. */
  function follow(view, address, title, live) {
    section.hidden = false;
    if (section.dataset.view !== view) forget();
    section.dataset.view = view;
    section.toggleAttribute("data-panel", isPanel(view));
    section.toggleAttribute("data-written", WRITTEN.includes(view));
    find("title").textContent = title;
    for (const item of section.querySelectorAll("[data-look]")) item.hidden = !item.dataset.look.split(" ").includes(view);
    for (const kind of ["csv", "json"]) find(kind).href = ROOT + address.replace(/(\.page)?\.json/, `.${kind}`);
    if (held !== null) return;
    clearTimeout(timer);
    if (address === asked) return;
    section.classList.add("waiting");
    waiting = true;
    setReady("view", null);
    const wait = live ? next - performance.now() : 0;
    if (wait > 0) timer = setTimeout(askNow, wait, address);
    else askNow(address);
  }

  function askNow(address) {
    asked = address;
    ask(address);
  }

  function forget() {
    shown = null;
    asked = "";
    drawing = { answer: null, how: "" };
    clearTimeout(timer);
    complain("");
    section.removeAttribute("data-empty");
    for (const name of ["sentence", "words", "table"]) find(name).replaceChildren();
    plotly?.purge(element);
    element.hidden = true;
    panel.close();
  }

  function answered(answer, address) {
    if (address === asked) waiting = false;
    if (answer.view !== section.dataset.view || section.hidden) return;
    section.classList.remove("waiting");
    find("sentence").replaceChildren(...withCode(answer.sentence || answer.failure?.sentence || ""));
    complain("");
    const [caption, table] = TABLES[answer.view]?.(answer) ?? [];
    const field = section.querySelector("#field-at");
    if (answer.view === "step") field.placeholder = format(answer.at, 6);
    find("table").replaceChildren(...(table?.rows.length ? [grid(caption, table)] : []));
    shown = answer;
    (isPanel(answer.view) ? showPanel(answer) : draw()).catch(unable);
  }

  const unable = (error) => refused(displayError(error));

  async function showPanel(answer) {
    if (!place()) return;
    const begun = performance.now();
    if (!(await panel.show(answer)) || answer !== shown) return;
    next = performance.now() + REST * (performance.now() - begun);
    opened = answer.address;
    tellDrawn();
  }

  function tellDrawn() {
    if (!waiting) setReady("view", shown.address);
    drawn();
  }

  function refused(sentence, address, wrong = false, errors = []) {
    if (section.hidden) return;
    if (!wrong) asked = ""; // another time it may go well
    waiting = false;
    setReady("view", shown?.address);
    section.classList.remove("waiting");
    complain(sentence, errors);
  }

  async function draw() {
    const answer = shown;
    const wanted = answer && (await loadPlotly(kindOf(answer)));
    if (answer === null || answer !== shown || !place()) return;
    element.hidden = false; // to be measured
    const [view, colors] = [viewOf(answer), palette()];
    const how = JSON.stringify([view, colors]);
    if (drawing.answer === answer && drawing.how === how) {
      element.hidden = section.hasAttribute("data-empty");
      return;
    }
    drawing = { answer, how };
    const begun = performance.now();
    const { data, layout, words, most } = FIGURES[answer.view](answer, view, colors);
    find("words").textContent = words;
    element.hidden = !name(data);
    [find("least").textContent, find("most").textContent] = [format(-most, 3), format(most, 3)];
    if (plotly !== wanted) plotly?.purge(element);
    plotly = wanted;
    if (!element.hidden) await drawFigure(plotly, element, { data, layout }, view);
    next = performance.now() + REST * (performance.now() - begun);
    tellDrawn();
  }

  /** The legend: only what is in the picture. Whether there is anything. */
  function name(data) {
    const drawn = data.filter(({ x, y }) => x.some((value, i) => value !== null && y[i] !== null));
    const names = drawn.map((trace) => trace.name);
    for (const item of section.querySelectorAll(`[data-look="${shown.view}"][data-traces]`)) {
      item.hidden = !item.dataset.traces.split(", ").some((each) => names.includes(each));
    }
    const { designed, scene } = context();
    for (const word of section.querySelectorAll("[data-noun]")) word.textContent = scene.nouns[word.dataset.noun];
    section.toggleAttribute("data-designed", designed);
    for (const item of section.querySelectorAll(".differing")) {
      item.textContent = designed ? scene.legend.differing : "differs";
    }
    section.toggleAttribute("data-empty", names.length === 0);
    return names.length > 0;
  }

  /** How the figure is to be seen: as large as its place, its margins those of the main figure. */
  function viewOf(answer) {
    const { left, right, view } = place();
    const { clientWidth: width, clientHeight: height } = element;
    const margin = { l: left, r: right, t: TOP * view.rem, b: BOTTOM * view.rem };
    return {
      ...{ width, height, rem: view.rem, left, margin, titles: false },
      grad_output: held ?? answer.grad_output,
      ...context(),
    };
  }

  /** What the main answer says that the picture depends on. */
  function context() {
    const { verdict, scene } = place().answer;
    return { designed: verdict.word === SURROGATE, scene };
  }

  function align() {
    if (shown === null || section.hidden) return null;
    if (!isPanel(shown.view)) return draw();
    return opened === shown.address ? panel.redraw() : showPanel(shown).catch(unable);
  }

  /** grad_output at a height of the map. */
  function height(event) {
    const { _offset: top, _length: length, range } = element._fullLayout.yaxis;
    const share = 1 - (event.clientY - element.getBoundingClientRect().top - top) / length;
    const [low, high] = range;
    return roundForSpan(low + Math.min(1, Math.max(0, share)) * (high - low), high - low);
  }

  function dragTo(event) {
    held = height(event);
    plotly.relayout(element, { shapes: gradOutputLine(held, palette()) });
    steer(held, true);
  }

  element.addEventListener("pointerdown", (event) => {
    if (shown?.view !== "map" || event.button !== 0) return;
    event.preventDefault();
    element.setPointerCapture(event.pointerId);
    dragTo(event);
  });
  element.addEventListener("pointermove", (event) => held !== null && dragTo(event));
  for (const end of ["pointerup", "pointercancel"]) {
    element.addEventListener(end, () => {
      if (held === null) return;
      const chosen = held;
      held = null;
      steer(chosen, false);
    });
  }

  const state = () => shown && place() && { answer: shown, plotly, figure: FIGURES[shown.view], ...context() };

  const resized = new ResizeObserver(align);
  for (const each of [element, find("panel")]) resized.observe(each);
  function close() {
    section.hidden = true;
    section.dataset.view = "curves";
    setReady("view", undefined);
    opened = "";
    forget();
  }
  /** The same address has another answer by now. */
  const expire = () => (asked = "");

  return { follow, align, close, expire, state };
}

// By view a module that exports `panel(element, tools)`, which returns {show(answer), redraw(), close()}.
const PANELS = {
  jacobian: () => import("./jacobian/panel.js"),
  surface: () => import("./surface/panel.js"),
  contract: () => import("./contract.js"),
  proof: () => import("./proof.js"),
  node: () => import("./node.js"),
  descent: () => import("./descent/panel.js"),
};

export const isPanel = (view) => view in PANELS;

/** Shows answers in `element`, each in the panel of its view; `tools` are what panels may use. */
function panelSwitch(element, tools) {
  let open = null; // {view, panel}: the one that is there, a promise

  function close() {
    const last = open;
    open = null;
    last?.panel.then((panel) => panel.close()).catch(() => {}); // one that was never there needs no end
    element.replaceChildren();
    element.hidden = true;
  }

  /** Whether the answer is shown; it is not if meanwhile another view was opened. */
  async function show(answer) {
    if (open?.view !== answer.view) {
      if (open) close(); // else it may be the server that has written it
      const panel = PANELS[answer.view]().then((module) => module.panel(element, tools));
      open = { view: answer.view, panel };
      panel.catch(() => open?.panel === panel && (open = null)); // the next answer tries again
    }
    const mine = open;
    const panel = await mine.panel;
    if (mine !== open) return false;
    element.hidden = false;
    await panel.show(answer);
    return mine === open;
  }

  const redraw = () => open?.panel.then((panel) => panel.redraw()).catch(() => {}); // `show` has told of it
  return { show, redraw, close };
}
