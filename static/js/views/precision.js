// The view "precision": how many units in the last place forward and gradient are off in dtypes narrower than float64.

import { axisStyle, axisTitle, baseLayout, baseTrace, decades, xAxis } from "../figure/axes.js";
import { format } from "../number.js";

const FLOOR = -1; // nothing below a tenth of a unit is told apart from none
const HALF = Math.log10(0.5);
const AIR = 0.2;
const DTYPES = ["float32", "bfloat16", "float16"];
const SYMBOLS = { float32: "circle", bfloat16: "diamond", float16: "square" };

/** {data, layout, words} for an answer to view=precision. */
export function precisionFigure(answer, view, palette) {
  const { columns } = answer;
  const drawn = DTYPES.filter((dtype) => columns[`forward_${dtype}`] || columns[`gradient_${dtype}`]);
  const panel = (what, yaxis) =>
    drawn.map((dtype) => ({
      ...baseTrace(`${what} in ${dtype}`, yaxis),
      mode: "markers",
      x: columns.x,
      y: columns[`${what}_${dtype}`]?.map(logarithm) ?? [],
      cliponaxis: false,
      marker: { size: 3.4, symbol: SYMBOLS[dtype], color: palette[dtype] },
    }));
  const data = [...panel("forward", "y"), ...panel("gradient", "y2")];
  const most = data.flatMap(({ y }) => y).reduce((a, b) => Math.max(a, b ?? a), 0);
  const range = [FLOOR - AIR, Math.max(0.4, most) + AIR];
  const labels = decades([FLOOR + 1, range[1]], Math.max(2, view.height / (7 * view.rem)));
  const close = range[1] < 1;
  const style = {
    ...axisStyle(palette),
    range,
    fixedrange: true,
    zeroline: false,
    tickvals: [FLOOR, ...(close ? [HALF] : []), ...labels.tickvals],
    ticktext: ["0", ...(close ? ["½"] : []), ...labels.ticktext],
    title: axisTitle(view.titles ? "units in the last place" : "", palette),
  };
  const share = (1.5 * view.rem) / (view.height - view.margin.t - view.margin.b);
  return {
    words: "error in units in the last place",
    data,
    layout: {
      ...baseLayout({ ...view.margin, t: view.margin.t + 1.2 * view.rem }, view.titles, palette),
      xaxis: { ...xAxis(answer, view.scene, view, palette), anchor: "y2" },
      yaxis: { ...style, domain: [0.5 + share / 2, 1] },
      yaxis2: { ...style, domain: [0, 0.5 - share / 2] },
      shapes: ["y", "y2"].map((yref) => half(yref, palette)),
      annotations: [
        ["forward", "y domain"],
        ["gradient", "y2 domain"],
      ].map(([text, yref]) => name(text, yref, palette)),
    },
  };
}

const logarithm = (value) => (value === null ? null : Math.max(FLOOR, Math.log10(value)));

/** Half a unit: no rounding can do better. */
const half = (yref, palette) => ({
  type: "line",
  xref: "x domain",
  yref,
  x0: 0,
  x1: 1,
  y0: HALF,
  y1: HALF,
  line: { color: palette.muted, width: 1, dash: "2px,3px" },
});

const name = (text, yref, palette) => ({
  text,
  xref: "x domain",
  yref,
  x: 0,
  y: 1,
  xanchor: "left",
  yanchor: "bottom",
  showarrow: false,
  font: { color: palette.muted },
});

/** The table below the figure: {head, rows}. */
export function precisionTable({ rows }) {
  const head = ["dtype", "device", "forward off by", "gradient off by", "forward overflows", "gradient NaN"];
  return { head, rows: rows.map(line) };
}

function line({
  dtype,
  device,
  yardstick,
  supported,
  message,
  forward_ulp,
  gradient_ulp,
  overflow,
  nan_gradients,
  computes_in,
}) {
  const place = typeof device === "string" ? device : device?.kind;
  const inside = computes_in && computes_in !== dtype ? ` (computes in ${computes_in})` : "";
  if (!supported) return [dtype, place, message || "not supported"];
  return [
    dtype + inside,
    place,
    yardstick ? "reference" : worst(forward_ulp),
    yardstick ? "reference" : worst(gradient_ulp),
    overflows(overflow),
    nan_gradients ? format(nan_gradients) : "none",
  ];
}

const worst = (ulp) => (ulp && ulp.max !== null && ulp.max !== undefined ? `${format(ulp.max, 2)} ULP` : "–");

function overflows(ends) {
  if (!ends || ends.every((end) => end === null)) return "not in this range";
  return ends.map((end) => (end === null ? "–" : format(end, 3))).join(" … ");
}
