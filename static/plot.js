// Plotly and the page around it: draws answers, tells where things are, and hears a zoom.

import { bent, implied } from "./curves.js";
import { axisWords, figure, panels, ranges } from "./figure.js";
import { palette } from "./palette.js";
import { CONFIG, loaded } from "./plotly.js";

/** `zoomed(start, stop)` is called when a part of the x-axis was chosen, `widened()` on a double click. */
export function plotter(canvas, { zoomed, widened, drawn }) {
  const element = canvas.querySelector(".plot");
  const lower = canvas.querySelector(".head.lower");
  const figureElement = canvas.closest("figure");
  const finger = matchMedia("(pointer: coarse)");
  let wanted = null;
  let shown = null;
  let at = null;

  function view(layout, held) {
    const rem = parseFloat(getComputedStyle(document.documentElement).fontSize);
    const gap = layout === "stacked" ? lower.offsetHeight + 1.4 * rem : 0;
    const { clientWidth: width, clientHeight: height } = element;
    return { layout, held, width, height, rem, gap, zoomable: !finger.matches, titles: false, at };
  }

  /** Draw `answer`; `held` are y-ranges to keep in sight while a slider is dragged. */
  async function draw(answer, layout, held = null) {
    const mine = (wanted = { answer, layout, held });
    await loaded;
    if (wanted !== mine) return;
    name(answer, layout);
    const seen = view(layout, held);
    const { data, layout: frame } = figure(answer, seen, palette());
    lower.style.top = layout === "stacked" ? `${panels(seen).lower[0] - lower.offsetHeight - 0.3 * seen.rem}px` : "";
    const first = !element.classList.contains("js-plotly-plot");
    await window.Plotly.react(element, data, frame, CONFIG);
    if (first) hear();
    const { l: left, r: right } = frame.margin;
    shown = { ...mine, view: seen, ranges: ranges(answer, seen), span: [answer.start, answer.stop], left, right };
    drawn();
  }

  function hear() {
    element.on("plotly_relayout", (event) => {
      const start = event["xaxis.range[0]"] ?? event["xaxis.range"]?.[0];
      const stop = event["xaxis.range[1]"] ?? event["xaxis.range"]?.[1];
      if (!Number.isFinite(start) || !Number.isFinite(stop)) return;
      shown.span = [start, stop];
      zoomed(start, stop);
    });
    element.on("plotly_doubleclick", widened);
  }

  /** Axis words and legend: only what is in the picture. */
  function name(answer, layout) {
    figureElement.dataset.layout = layout;
    const words = axisWords(answer, layout === "overlaid");
    figureElement.querySelector("#upper-words").textContent = words.upper;
    figureElement.querySelector("#lower-words").textContent = words.lower;
    figureElement.querySelector("#differing").textContent =
      answer.verdict.word === "differs" ? "differ" : "differ by design";
    const bends = ["kink", "cusp"].filter((each) => answer.marks.some(({ kind }) => kind === each));
    figureElement.querySelector("#bends").textContent = bends.join(", ") || "kink";
    const has = {
      forward: true,
      implied: implied(answer),
      surrogate: answer.columns.surrogate,
      analytical: answer.columns.analytical,
      numerical: answer.columns.numerical,
      "surrogate slope": answer.columns.surrogate_numerical,
      disagreement: answer.verdict.intervals.length > 0,
      kinks: answer.marks.some(bent),
      "closed ends": answer.marks.some(({ kind }) => kind === "jump"),
    };
    for (const item of figureElement.querySelectorAll("[data-curve]")) item.hidden = !has[item.dataset.curve];
  }

  /** Show where the steps are looked at, null for nowhere. */
  function mark(x) {
    if (x === at) return;
    at = x;
    redraw();
  }

  const redraw = () => wanted && shown && draw(wanted.answer, wanted.layout, wanted.held);
  /** The axis goes back to the numbers that there are. */
  function unzoom() {
    if (shown && (shown.span[0] !== shown.answer.start || shown.span[1] !== shown.answer.stop)) redraw();
  }
  new ResizeObserver(redraw).observe(element);
  return { draw, redraw, mark, unzoom, state: () => shown, place: () => place(shown) };
}

/** From data to pixels of the canvas: the functions x, upper and lower, and what lies where. */
function place({ view, ranges: { upper, lower }, span, left, right: margin }) {
  const right = view.width - margin;
  const spots = panels(view);
  const scale =
    ([from, to], [low, high]) =>
    (value) =>
      from + ((value - low) / (high - low)) * (to - from);
  return {
    x: scale([left, right], span),
    invert: scale(span, [left, right]),
    upper: scale([spots.upper[1], spots.upper[0]], upper),
    lower: scale([spots.lower[1], spots.lower[0]], lower),
    left,
    right,
    panels: spots,
  };
}
