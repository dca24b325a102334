// The sheet that every figure is drawn on: its margins and type, and axes whose labels are our own.

import { fitting } from "./ticks.js";

/** What all axes have in common. */
export const axis = (palette) => ({
  showline: false,
  gridcolor: palette.grid,
  zeroline: true,
  zerolinecolor: palette.rule,
  zerolinewidth: 1,
  ticks: "",
  tickfont: { color: palette.muted },
  tickmode: "array",
  ticklabelstandoff: 5,
});

// From this width in rem on, an axis has room for more labels; the same as in still.css.
const WIDE = 32;
const [FEW, MANY] = [
  { count: 4, room: 14 },
  { count: 7, room: 25 },
];

/** The x-axis of a section, from `start` to `stop`. */
export function across({ wrt, start, stop }, { width, rem }, palette) {
  const { count, room } = width < WIDE * rem ? FEW : MANY;
  const labels = fitting([start, stop], count, room);
  return { ...axis(palette), range: [start, stop], fixedrange: true, ...labels, title: heading(wrt, palette) };
}

/** A layout without axes; `titles` where the picture has to tell by itself what it shows. */
export const sheet = (margin, titles, palette) => ({
  autosize: true,
  margin: { ...margin, pad: 0 },
  font: { family: palette.family, size: palette.size, color: palette.ink },
  paper_bgcolor: titles ? palette.paper : "rgba(0,0,0,0)",
  plot_bgcolor: "rgba(0,0,0,0)",
  hovermode: false,
  dragmode: false,
  showlegend: false,
});

/** The name of an axis. */
export const heading = (text, palette) => ({
  text,
  standoff: 8,
  font: { color: palette.ink, size: palette.size },
});

/** What all traces have in common. */
export const trace = (name, yaxis = "y") => ({
  name,
  type: "scatter",
  xaxis: "x",
  yaxis,
  connectgaps: false,
  hoverinfo: "skip",
});

/** A filled shape from `low` to `high` between `left` and `right`, one rectangle for each row that `keep` keeps. */
export function blocks(name, { left, right, low, high }, keep, fillcolor, opacity) {
  const rows = left.map((_, row) => row).filter(keep);
  return {
    ...trace(name),
    mode: "lines",
    x: rows.flatMap((row) => [left[row], left[row], right[row], right[row], left[row], null]),
    y: rows.flatMap((row) => [low[row], high[row], high[row], low[row], low[row], null]),
    fill: "toself",
    fillcolor,
    opacity,
    line: { width: 0, simplify: false },
  };
}

/** An upright stripe behind everything, from `x0` to `x1`. */
export const stripe = (x0, x1, fillcolor, opacity, yref = "y domain") => ({
  type: "rect",
  layer: "below",
  line: { width: 0 },
  fillcolor,
  opacity,
  xref: "x",
  yref,
  x0,
  x1,
  y0: 0,
  y1: 1,
});
