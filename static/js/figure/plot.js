// Plotly and the page around it: draws answers, tells where things are, and hears a zoom.

import { figure, panels, ranges } from "./figure.js";
import { legend } from "./legend.js";
import { palette } from "./palette.js";
import { CONFIG, roomy } from "./plotly.js";

/**
 * `load()` brings Plotly; `zoomed(start, stop)` is called when a part of the x-axis was chosen, `widened()` on a
 * double click. What the server has drawn makes way for the first live figure.
 */
export function plotter(canvas, { load, zoomed, widened, drawn }) {
  const element = canvas.querySelector(".plot");
  const lower = canvas.querySelector(".head.lower");
  const finger = matchMedia("(pointer: coarse)");
  let wanted = null;
  let shown = null;
  let late = false;
  let at = null;

  function view(layout, held) {
    const rem = parseFloat(getComputedStyle(document.documentElement).fontSize);
    const gap = layout === "stacked" ? lower.getBoundingClientRect().height : 0;
    const { clientWidth: width, clientHeight: height } = element;
    return { layout, held, width, height, rem, gap, zoomable: !finger.matches, titles: false, at };
  }

  /** Draw `answer`; `held` are y-ranges to keep in sight while a slider is dragged. */
  async function draw(answer, layout, held = null) {
    const mine = (wanted = { answer, layout, held });
    const plotly = await load();
    if (wanted !== mine) return;
    legend(canvas.closest("figure"), answer, layout);
    const seen = view(layout, held);
    const { data, layout: frame } = figure(answer, seen, palette());
    late = !roomy(frame.margin, seen);
    if (late) return; // nobody sees it, in a tab that is not open: when somebody does it has a size
    const first = !element.classList.contains("js-plotly-plot");
    await plotly.react(element, data, frame, CONFIG);
    if (first) hear();
    fit(element, seen);
    canvas.querySelector(".still")?.remove();
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

  /** Show where the steps are looked at, null for nowhere. */
  function mark(x) {
    if (x === at) return;
    at = x;
    redraw();
  }

  const redraw = () => wanted && (shown || late) && draw(wanted.answer, wanted.layout, wanted.held);
  /** The axis goes back to the numbers that there are. */
  function unzoom() {
    if (shown && (shown.span[0] !== shown.answer.start || shown.span[1] !== shown.answer.stop)) redraw();
  }
  new ResizeObserver(redraw).observe(element);
  return { draw, redraw, mark, unzoom, state: () => shown, place: () => place(shown) };
}

/** Nobody is asked to draw for paper, at least not in the frame of another page: the drawing itself has to fit in. */
function fit(element, { width, height }) {
  for (const layer of element.querySelectorAll(".main-svg")) {
    layer.setAttribute("viewBox", `0 0 ${width} ${height}`);
    layer.setAttribute("preserveAspectRatio", "none");
  }
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
