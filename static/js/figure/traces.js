// The curves, marks and error band of a scene as Plotly traces, back to front; tests and exports know their names.

import { baseTrace } from "./axes.js";

// Curves that coincide must all be seen: a wide light one below, beads on it, a thin one on top.
const BEADS = { dash: "0.1px,9px", width: 5 };
const STROKES = {
  numerical: { color: "numerical", width: 7, opacity: 0.75 },
  implied: { color: "analytical", width: 1.2 },
  surrogate: { color: "surrogate", ...BEADS },
  forward: { color: "ink", width: 2 },
  "surrogate slope": { color: "surrogate", ...BEADS },
  analytical: { color: "analytical", width: 2 },
  subgradients: { color: "muted", width: 1.2, dash: "2px,3px" },
};
const OVERLAID_FORWARD = 3.5; // the width of forward where slopes are drawn over it
const MARKERS = {
  kinks: { symbol: "diamond", size: 9, color: "paper" },
  "kink slopes": { symbol: "diamond", size: 9, color: "paper" },
  "open ends": { symbol: "circle", size: 7, color: "paper" },
  "closed ends": { symbol: "circle", size: 7, color: "ink" },
};

// What goes with another name in the legend.
const WITH = { "error band": "numerical", subgradients: "kinks", "kink slopes": "kinks", "open ends": "closed ends" };

/**
 * Plotly traces for `answer`; slopes have a panel of their own if they are `apart`, else the axis of the values. `hidden`
 * are names of the legend, where one word stands for both surrogates if they share an axis. The curves of the answer `pale`, if there is one, lie
 * between what is measured and what is judged. The y-axes have the `ranges` {upper, lower}.
 */
export function traces({ columns, scene }, apart, hidden, palette, pale, { upper, lower: slopes }) {
  const axis = (lower) => (lower && apart ? "y2" : "y");
  const span = (lower) => (lower ? slopes[1] - slopes[0] : upper[1] - upper[0]);
  const curve = (name, x, y, lower) => line(name, simplified(x, y, FINE * span(lower)), axis(lower), apart, palette);
  const [middle, error] = [columns.numerical, columns.error].map((column) => without(column, scene.gaps));
  const band = {
    ...baseTrace("error band", axis(true)),
    mode: "lines",
    ...errorBand(columns.x, middle, error, THIN * span(true)),
    fill: "toself",
    fillcolor: palette.numerical,
    opacity: 0.22,
    line: { width: 0, simplify: false },
  };
  const curves = scene.curves.map(([name, column, lower, cut]) =>
    curve(name, columns.x, without(columns[column], [...scene.gaps, ...cut]), lower),
  );
  const marks = scene.marks.map(([name, lower, x, y]) =>
    name in MARKERS ? points(name, x, y, axis(lower), palette) : line(name, { x, y }, axis(lower), apart, palette),
  );
  const entry = (name) => WITH[name] ?? (name === "surrogate slope" && !apart ? "surrogate" : name);
  if (pale) curves.splice(1, 0, ...paleTraces(pale, curve));
  return [band, ...curves, ...marks].map((each) => (hidden.has(entry(each.name)) ? { ...each, visible: false } : each));
}

// Of its axis, as in server/figure/svg_paths.py: a thinner band is left out, and so far a curve may be off.
const [THIN, FINE] = [2.5e-4, 1.2e-4];
const PALE = { opacity: 0.55, dash: "6px,4px" };

/** What tells another answer, pale: forward, and what its backward returned. */
const paleTraces = ({ columns, scene }, curve) =>
  scene.curves
    .filter(([name]) => name === "forward" || name === "analytical")
    .map(([name, column, lower, cut]) => {
      const y = without(columns[column], [...scene.gaps, ...cut]);
      const drawn = curve(name, columns.x, y, lower);
      return { ...drawn, name: `original ${name}`, opacity: PALE.opacity, line: { ...drawn.line, dash: PALE.dash } };
    });

/** `column` with gaps in these rows. */
export function without(column, rows) {
  if (rows.length === 0) return column;
  const cut = [...column];
  for (const row of rows) cut[row] = null;
  return cut;
}

/**
 * {x, y} of the polyline through as few of these points as stay within `tolerance` of them all, by the cone of slopes that
 * do; gaps stay. Plotly takes half as long for it.
 */
function simplified(x, y, tolerance) {
  const kept = { x: [], y: [] };
  const keep = (i) => {
    kept.x.push(x[i]);
    kept.y.push(y[i]);
  };
  let from = -1; // the row kept last, of this run
  let [low, high] = [0, 0];
  for (let i = 0; i < x.length; i += 1) {
    const begins = from < 0 || y[i] === null;
    if (!begins) {
      const slope = (y[i] - y[from]) / (x[i] - x[from]);
      if (!(low <= slope && slope <= high)) {
        keep((from = i - 1));
        [low, high] = [-Infinity, Infinity];
      }
      const [width, rise] = [x[i] - x[from], y[i] - y[from]];
      low = Math.max(low, (rise - tolerance) / width);
      high = Math.min(high, (rise + tolerance) / width);
    } else {
      if (from >= 0 && from < i - 1) keep(i - 1);
      keep(i);
      from = y[i] === null ? -1 : i;
      [low, high] = [-Infinity, Infinity];
    }
  }
  if (from >= 0 && from < x.length - 1) keep(x.length - 1);
  return kept;
}

function line(name, { x, y }, yaxis, apart, palette) {
  const { color, opacity = 1, ...stroke } = STROKES[name];
  const width = name === "forward" && !apart ? OVERLAID_FORWARD : stroke.width;
  const drawn = { ...stroke, width, color: palette[color], simplify: false };
  return { ...baseTrace(name, yaxis), mode: "lines", x, y, opacity, line: drawn };
}

function points(name, x, y, yaxis, palette) {
  const { color, ...shape } = MARKERS[name];
  const marker = { ...shape, color: palette[color], line: { width: 1.6, color: palette.ink } };
  return { ...baseTrace(name, yaxis), mode: "markers", x, y, cliponaxis: false, marker };
}

/** {x, y} of the outlines of `middle` ± `error`, separated by nulls where either is missing, without those nowhere as thick as `least`. */
function errorBand(x, middle, error, least) {
  const outline = { x: [], y: [] };
  let run = [];
  const close = () => {
    const [there, back] = [run, [...run].reverse()];
    run = [];
    if (there.every((i) => 2 * error[i] < least)) return;
    outline.x.push(...there.map((i) => x[i]), ...back.map((i) => x[i]), null);
    outline.y.push(...there.map((i) => middle[i] + error[i]), ...back.map((i) => middle[i] - error[i]), null);
  };
  for (let i = 0; i < x.length; i += 1) {
    if (Number.isFinite(middle[i] ?? NaN) && Number.isFinite(error[i] ?? NaN)) run.push(i);
    else if (run.length > 0) close();
  }
  close();
  return outline;
}
