// The curves, marks and error band of the figure as Plotly traces, back to front; tests and exports know their names.

import { baseTrace } from "./axes.js";

/** The word for a backward that is right, but as the derivative of another function. */
export const SURROGATE = "matches its surrogate";
const [UNSEEN, NOTHING] = [1e-3, 1e-9];
const RIGHT = ["matches", "matches here"];

// Curves that coincide must all be seen: a wide light one below, beads on it, a thin one on top.
const BEADS = { dash: "0.1px,9px", width: 5 };

/** Plotly traces for `answer`; `outline` is the error band, `overlaid` draws slopes on the axis of the values. */
export function curves(answer, outline, overlaid, palette) {
  const { x, forward, surrogate, analytical, numerical, surrogate_numerical } = answer.columns;
  const lower = overlaid ? "y" : "y2";
  const kinks = answer.marks.filter(isKink);
  const jumps = answer.marks.filter((mark) => mark.kind === "jump");

  const suggested = impliedForward(answer);

  const line = (name, y, yaxis, style, opacity = 1) => ({
    ...baseTrace(name, yaxis),
    mode: "lines",
    x,
    y,
    opacity,
    line: { width: 2, simplify: false, ...style },
  });
  const points = (name, xs, ys, yaxis, marker) => ({
    ...baseTrace(name, yaxis),
    mode: "markers",
    x: xs,
    y: ys,
    cliponaxis: false,
    marker: { size: 9, line: { width: 1.6, color: palette.ink }, ...marker },
  });
  const hollow = { color: palette.paper };
  // Where forward has a kink its slope jumps: the line stops on either side and the diamond says what backward chose.
  const broken = new Set(kinks.map((mark) => mark.x));
  const cut = (column) => column && column.map((value, i) => (broken.has(x[i]) ? null : value));
  const at = (marks, key) => marks.map((mark) => mark[key]);

  const traces = [
    {
      ...baseTrace("error band", lower),
      mode: "lines",
      ...outline,
      fill: "toself",
      fillcolor: palette.numerical,
      opacity: 0.22,
      line: { width: 0, simplify: false },
    },
    line("numerical", numerical, lower, { color: palette.numerical, width: 7 }, 0.75),
    suggested && line("implied", suggested, "y", { color: palette.analytical, width: 1.2 }),
    surrogate && line("surrogate", surrogate, "y", { color: palette.surrogate, ...BEADS }),
    line("forward", forward, "y", { color: palette.ink, width: overlaid ? 3.5 : 2 }),
    surrogate_numerical &&
      line("surrogate slope", cut(surrogate_numerical), lower, { color: palette.surrogate, ...BEADS }),
    analytical && line("analytical", cut(analytical), lower, { color: palette.analytical }),
    kinks.length > 0 && subgradients(kinks, lower, palette),
    kinks.length > 0 && points("kinks", at(kinks, "x"), at(kinks, "forward"), "y", { symbol: "diamond", ...hollow }),
    kinks.length > 0 &&
      points("kink slopes", at(kinks, "x"), at(kinks, "analytical"), lower, { symbol: "diamond", ...hollow }),
    ...(jumps.length > 0 ? jumpEnds(jumps, points, hollow, palette) : []),
  ];
  return traces.filter(Boolean);
}

/** Is this where forward is continuous and its slope is not? */
export const isKink = ({ kind }) => kind === "kink" || kind === "cusp";

/** The column that forward would be if backward were its derivative, null where no eye can tell it from forward. */
export function impliedForward({ columns: { forward, implied: suggested }, verdict }) {
  if (RIGHT.includes(verdict.word) || !suggested) return null;
  const values = forward.filter((value) => Number.isFinite(value ?? NaN));
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const seen = Math.max(UNSEEN * (high - low), NOTHING * Math.max(Math.abs(low), Math.abs(high)));
  const apart = suggested.some((value, row) => value !== null && !(Math.abs(value - forward[row]) <= seen));
  return apart ? suggested : null;
}

/** At every kink an upright from the left slope to the right one: any slope on it is a right answer. */
function subgradients(kinks, yaxis, palette) {
  return {
    ...baseTrace("subgradients", yaxis),
    mode: "lines",
    x: kinks.flatMap(({ x }) => [x, x, null]),
    y: kinks.flatMap(({ left, right }) => (left === null || right === null ? [null, null, null] : [left, right, null])),
    line: { width: 1.2, color: palette.muted, dash: "2px,3px", simplify: false },
  };
}

/** A filled end where forward is, an open one where it only comes close. */
function jumpEnds(jumps, points, hollow, palette) {
  const open = jumps.flatMap(({ x, below, above, forward }) =>
    [below, above].filter((y) => y !== forward).map((y) => [x, y]),
  );
  const closed = jumps.filter(({ forward }) => forward !== null).map(({ x, forward }) => [x, forward]);
  const split = (pairs) => [pairs.map(([x]) => x), pairs.map(([, y]) => y)];
  return [
    points("open ends", ...split(open), "y", { symbol: "circle", size: 7, ...hollow }),
    points("closed ends", ...split(closed), "y", { symbol: "circle", size: 7, color: palette.ink }),
  ];
}

/** {x, y} of the outlines of `middle` ± `error`, separated by nulls where either is missing. */
export function errorBand(x, middle, error) {
  const outline = { x: [], y: [] };
  let run = [];
  const close = () => {
    const back = [...run].reverse();
    outline.x.push(...run.map((i) => x[i]), ...back.map((i) => x[i]), null);
    outline.y.push(...run.map((i) => middle[i] + error[i]), ...back.map((i) => middle[i] - error[i]), null);
    run = [];
  };
  for (let i = 0; i < x.length; i += 1) {
    if (Number.isFinite(middle[i] ?? NaN) && Number.isFinite(error[i] ?? NaN)) run.push(i);
    else if (run.length > 0) close();
  }
  if (run.length > 0) close();
  return outline;
}
