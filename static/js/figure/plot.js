// The figure on the page, drawn by Plotly: loads that, draws answers in the colours of the style sheet, hears a zoom.

import { rem } from "../dom.js";
import { figure, panelPlaces } from "./figure.js";
import { updateLegend } from "./words.js";

/**
 * `load()` brings Plotly, or nothing, and then the picture that is there stays; `zoomed(start, stop)` is called when a part of the x-axis was chosen, `widened()` on a
 * double click. The curves that are `hidden`, by their names in the legend, are not seen. Pale behind the others are those of the answer
 * `behind()`, if there is one, on whose axes they lie. What the server has drawn makes way for the first live figure.
 */
export function plotter(canvas, { load, zoomed, widened, drawn, behind = () => null, hidden = new Set() }) {
  const element = canvas.querySelector(".plot");
  const lower = canvas.querySelector(".head.lower");
  const finger = matchMedia("(pointer: coarse)");
  let wanted = null;
  let shown = null;
  let late = false;
  let at = null;
  let open = [];

  function view(layout, held) {
    const gap = layout === "stacked" ? lower.getBoundingClientRect().height : 0;
    const { clientWidth: width, clientHeight: height } = element;
    return { layout, held, width, height, rem: rem(), gap, zoomable: !finger.matches, at, open, hidden, pale: behind() };
  }

  /** Draw `answer`; `held` are y-ranges to keep in sight while a slider is dragged. */
  async function draw(answer, layout, held = null) {
    const mine = (wanted = { answer, layout, held });
    const plotly = await load();
    if (wanted !== mine) return;
    updateLegend(canvas.closest("figure"), answer, layout, open.length > 0);
    const seen = view(layout, held);
    const { data, layout: frame, ranges } = figure(answer, seen, palette());
    late = !hasRoom(frame.margin, seen);
    if (late) return; // nobody sees it, in a tab that is not open: when somebody does it has a size
    if (plotly) {
      const first = !element.classList.contains("js-plotly-plot");
      await plotly.react(element, data, frame, PLOTLY_CONFIG);
      if (first) listenToPlotly();
      scaleWithPage(element, seen);
      canvas.querySelector(".still")?.remove();
    } // else what the server has drawn lies in the same place
    const { l: left, r: right } = frame.margin;
    shown = { ...mine, view: seen, ranges, span: [answer.start, answer.stop], left, right, plotly };
    drawn();
  }

  function listenToPlotly() {
    element.on("plotly_relayout", (event) => {
      const [start, stop] = [event["xaxis.range[0]"], event["xaxis.range[1]"]];
      if (!Number.isFinite(start) || !Number.isFinite(stop)) return;
      shown.span = [start, stop];
      zoomed(start, stop);
    });
    element.on("plotly_doubleclick", () => finger.matches || widened()); // two taps read twice
  }

  /** The axis shows this part of what is drawn, as long as the fingers are at it. */
  function stretch(span) {
    shown.span = span;
    shown.plotly?.relayout(element, { "xaxis.range": span });
  }

  /** Show where the steps are looked at, null for nowhere. */
  function mark(x) {
    if (x === at) return;
    at = x;
    redraw();
  }

  /** Show where it is open what backward is, unless that is everywhere: stretches from where to where. */
  function leaveOpen(stretches) {
    const [{ start, stop }, before] = [wanted.answer, open];
    open = stretches.some(([from, to]) => from <= start && stop <= to) ? [] : stretches;
    if (open.length === 0 && before.length === 0) return;
    redraw();
  }

  const redraw = () => wanted && (shown || late) && draw(wanted.answer, wanted.layout, wanted.held);
  /** The axis goes back to the numbers that there are. */
  function unzoom() {
    if (shown && (shown.span[0] !== shown.answer.start || shown.span[1] !== shown.answer.stop)) redraw();
  }
  new ResizeObserver(redraw).observe(element);
  return { draw, redraw, mark, leaveOpen, stretch, unzoom, state: () => shown, place: () => place(shown) };
}

/** Nobody is asked to draw for paper, at least not in the frame of another page: the drawing itself has to fit in. */
function scaleWithPage(element, { width, height }) {
  for (const layer of element.querySelectorAll(".main-svg")) {
    layer.setAttribute("viewBox", `0 0 ${width} ${height}`);
    layer.setAttribute("preserveAspectRatio", "none");
  }
}

/** From data to pixels of the canvas: the functions x, upper and lower, and what lies where. */
function place({ view, ranges: { upper, lower }, span, left, right: margin }) {
  const right = view.width - margin;
  const spots = panelPlaces(view);
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

export const PLOTLY_CONFIG = {
  displayModeBar: false,
  displaylogo: false,
  doubleClick: false,
  responsive: false, // who draws sees to it: see `hasRoom`
  scrollZoom: false,
  showSendToCloud: false,
  showTips: false,
  typesetMath: false,
};

const LEAST = 24; // pixels between the margins

/** Is there room within the margins? A window may be a pixel wide for a moment, and plotly places titles nowhere then. */
export const hasRoom = ({ l, r, t, b }, { width, height }) => width - l - r >= LEAST && height - t - b >= LEAST;

const PLACES = { curves: "plotlyCurves", maps: "plotlyMaps" };
const loading = new Map();

/** The Plotly that draws "curves" or "maps", loaded once; one that is packed into the page serves for both. The address "" is that of none. */
export function loadPlotly(kind) {
  const address = document.documentElement.dataset[PLACES[kind]];
  if (address === "") return Promise.resolve(null);
  if (!address) return Promise.resolve(window.plotlyUnpacked);
  if (!loading.has(address)) loading.set(address, load(address));
  return loading.get(address);
}

function load(address) {
  return new Promise((resolve, reject) => {
    const fail = () => {
      loading.delete(address); // the next drawing tries again
      const name = address.split("/").at(-1);
      reject(new Error(`the part that draws, ${name}, could not be loaded; the numbers are in the CSV`));
    };
    const script = Object.assign(document.createElement("script"), { src: address, onerror: fail });
    // The next library takes the same name: at this moment it is ours.
    script.onload = () => (window.Plotly ? resolve(window.Plotly) : fail());
    document.head.append(script);
  });
}

/** When the page has been seen, heavy work may begin: settled after the first frame; at once where there are no frames, in a tab in the background. */
export function afterFirstPaint() {
  if (document.hidden) return Promise.resolve();
  return new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
}

const NAMES = [
  ...["ink", "muted", "rule", "grid", "paper", "analytical", "numerical", "surrogate", "disagreement"],
  ...["negative", "neutral", "positive"],
];

let known = null; // the colours of this moment: to read them costs as much as to draw a curve
const forget = () => (known = null);
addEventListener("resize", forget);

/** The colours of the style sheet by their names, and the font of the figure. */
export const palette = () => (known ??= readPalette());

function readPalette() {
  const probe = document.body.appendChild(document.createElement("i"));
  probe.style.forcedColorAdjust = "none"; // else a system with colours of its own has one for all curves
  const colors = NAMES.map((name) => {
    probe.style.color = `var(--${name})`;
    return [name, getComputedStyle(probe).color];
  });
  const { fontFamily, fontSize } = getComputedStyle(document.querySelector(".plot"));
  probe.remove();
  return { ...Object.fromEntries(colors), family: fontFamily, size: parseFloat(fontSize) };
}

/** Calls `drawn` whenever the colours may have become others. */
export function onPaletteChange(drawn) {
  const changed = () => {
    forget();
    drawn();
  };
  for (const query of ["(prefers-color-scheme: dark)", "(forced-colors: active)", "(prefers-contrast: more)", "print"]) {
    matchMedia(query).addEventListener("change", changed);
  }
  new MutationObserver(changed).observe(document.documentElement, { attributeFilter: ["data-theme"] });
  for (const [event, printing] of [
    ["beforeprint", true],
    ["afterprint", false],
  ]) {
    addEventListener(event, () => {
      document.documentElement.classList.toggle("printing", printing);
      changed();
    });
  }
}
