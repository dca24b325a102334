// The panel below the main figure ("More views"): asks for its own numbers after each answer of the main figure, and keeps
// the last good picture.

import { styleSheet, withCode } from "../dom.js";
import { hasRoom, loadPlotly, palette, PLOTLY_CONFIG } from "../figure/plot.js";
import { format, typesetSentence } from "../number.js";
import { ROOT } from "../root.js";
import { errorMarks } from "../state/controls.js";
import { WRITTEN } from "../state/parameters.js";
import { displayError, latestOnly } from "../state/question.js";
import { setReady } from "../state/session.js";

const sheetOf = (view) => document.querySelector(`[name=view][value=${view}]`).dataset.sheet;
const loadSheet = (view) => styleSheet(sheetOf(view));
/** Draws a figure in `element` where it has room, as large as `view` says. */
const drawFigure = (plotly, element, { data, layout }, view) =>
  hasRoom(layout.margin, view) && plotly.react(element, data, layout, PLOTLY_CONFIG);
const SURROGATE = "matches its surrogate"; // right, as the derivative of another function
const REST = 2; // while a slider is dragged the page rests for so many times as long as the last picture took

/**
 * `source` answers addresses; `place()` is what the main figure has drawn, as `plot.state()` tells it, null before that;
 * `put(name, text, live)` sets one control and `move(values)` several, as a hand would. Returns {follow, align, close,
 * expire, shown}.
 */
export function companion(section, { source, place, put, move, drawn }) {
  const find = (name) => section.querySelector(`#companion-${name}`);
  let shown = null;
  let held = false; // by a pointer: nothing is asked
  let next = 0; // when there is time for another picture while somebody drags
  let timer = 0;
  let asked = ""; // and nothing speaks for asking it again
  let waiting = false; // for word of what was asked last
  let opened = ""; // the address of what the panel shows
  const hold = (whether) => (held = whether);
  const panel = panelSwitch(find("panel"), { place, put, move, hold, loadPlotly, drawFigure, palette, loadSheet });
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
    section.toggleAttribute("data-panel", Boolean(sheetOf(view)));
    section.toggleAttribute("data-written", WRITTEN.includes(view));
    find("title").textContent = title;
    for (const item of section.querySelectorAll("[data-look]")) item.hidden = !item.dataset.look.split(" ").includes(view);
    for (const kind of ["png", "csv", "json"]) find(kind).href = ROOT + address.replace(/(\.page)?\.json/, `.${kind}`);
    if (held) return;
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
    clearTimeout(timer);
    complain("");
    find("sentence").replaceChildren();
    panel.close();
  }

  function answered(answer, address) {
    if (address === asked) waiting = false;
    if (answer.view !== section.dataset.view || section.hidden) return;
    section.classList.remove("waiting");
    find("sentence").replaceChildren(...withCode(answer.sentence || answer.failure?.sentence || ""));
    complain("");
    const field = section.querySelector("#field-at");
    if (typeof answer.at === "number") field.placeholder = format(answer.at, 6);
    shown = answer;
    show().catch(unable);
  }

  const unable = (error) => refused(displayError(error));

  async function show() {
    const answer = shown;
    if (!place()) return;
    align();
    const begun = performance.now();
    if (!(await panel.show(answer)) || answer !== shown) return;
    next = performance.now() + REST * (performance.now() - begun);
    opened = answer.address;
    if (!waiting) setReady("view", answer.address);
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

  /** Panels begin where those of the main figure begin, which says whether what differs is meant to. */
  function align() {
    const { left, answer } = place();
    section.style.setProperty("--left", `${left}px`);
    section.toggleAttribute("data-designed", answer.verdict.word === SURROGATE);
  }

  function redraw() {
    if (shown === null || section.hidden || !place()) return null;
    align();
    return opened === shown.address ? panel.redraw() : show().catch(unable);
  }

  new ResizeObserver(redraw).observe(find("panel"));

  function close() {
    section.hidden = true;
    section.dataset.view = "curves";
    setReady("view", undefined);
    opened = "";
    forget();
  }
  /** The same address has another answer by now. */
  const expire = () => (asked = "");

  return { follow, align: redraw, close, expire, shown: () => place() && shown };
}

const picture = () => import("./look.js"); // of the server
// By view a module that exports `panel(element, tools)`, which returns {show(answer), redraw(), close()}.
const PANELS = {
  jacobian: () => import("./jacobian/panel.js"),
  surface: () => import("./surface/panel.js"),
  contract: () => import("./contract.js"),
  proof: () => import("./proof.js"),
  node: () => import("./node.js"),
  descent: () => import("./descent/panel.js"),
};

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
      const panel = (PANELS[answer.view] ?? picture)().then((module) => module.panel(element, tools));
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
