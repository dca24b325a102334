// Axes, ticks and layout of all figures. The labels are our own: plotly sets powers of ten with an inline style.

import { power, typographic } from "../number.js";

/** What all axes have in common. */
export const axisStyle = (palette) => ({
  type: "linear", // else plotly looks at the numbers to find out
  showline: false,
  gridcolor: palette.grid,
  zeroline: true,
  zerolinecolor: palette.rule,
  zerolinewidth: 1,
  ticks: "",
  tickfont: { color: palette.muted },
  tickmode: "array",
  ticklabelstandoff: 5,
  ticklabeloverflow: "allow", // else plotly measures each label to find out
});

// From this width in rem on, an axis has room for more labels; the same as in figure.css.
const WIDE = 32;
export const isWide = ({ width, rem }) => width >= WIDE * rem;

/** The x-axis of a section, from `start` to `stop`, with the labels of its `scene`. */
export const xAxis = ({ wrt, start, stop }, { few, many }, view, palette) => ({
  ...axisStyle(palette),
  range: [start, stop],
  fixedrange: true,
  ...labelsOf(isWide(view) ? many : few),
  title: axisTitle(wrt, palette),
});

/** Labels of a scene, as plotly takes them. */
export const labelsOf = (marked) => ({
  tickvals: marked.map(([value]) => value),
  ticktext: marked.map(([, text]) => text),
});

/** A layout without axes, of a size in pixels: else plotly measures the page to find out. */
export const baseLayout = ({ width, height }, margin, palette) => ({
  autosize: false,
  width,
  height,
  margin: { ...margin, pad: 0 },
  font: { family: palette.family, size: palette.size, color: palette.ink },
  paper_bgcolor: "rgba(0,0,0,0)",
  plot_bgcolor: "rgba(0,0,0,0)",
  hovermode: false,
  dragmode: false,
  showlegend: false,
});

/** The name of an axis. */
export const axisTitle = (text, palette) => ({
  text,
  standoff: 8,
  font: { color: palette.ink, size: palette.size },
});

/** What all traces have in common. */
export const baseTrace = (name, yaxis = "y") => ({
  name,
  type: "scatter",
  xaxis: "x",
  yaxis,
  connectgaps: false,
  hoverinfo: "skip",
});

/** An upright stripe behind everything, from `x0` to `x1`. */
export const verticalStripe = (x0, x1, fillcolor, opacity, yref = "y domain") => ({
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

const [SMALL, LARGE] = [1e-3, 1e5]; // beyond, the labels of an axis share a power of ten
const STEPS = [1, 2, 3, 4, 5, 10, 20, 50, 100, 200];
const LETTER = 0.47; // the width of a digit in rem, at the size of the labels

/** {tickvals, ticktext} for about `count` labels between `low` and `high`, at multiples of 1, 2 or 5. */
export function ticks([low, high], count) {
  const rough = (high - low) / count;
  const unit = 10 ** Math.floor(Math.log10(rough));
  const step = unit * (rough < 1.5 * unit ? 1 : rough < 3.5 * unit ? 2 : rough < 7.5 * unit ? 5 : 10);
  const first = Math.ceil(low / step - 1e-9);
  const last = Math.floor(high / step + 1e-9);
  const tickvals = Array.from({ length: last - first + 1 }, (_, i) => Number(((first + i) * step).toPrecision(15)));
  return { tickvals, ticktext: labels(tickvals, step) };
}

/** About `count` labels between two `ends`, as a scene has them. */
export function labelsFor(ends, count) {
  const { tickvals, ticktext } = ticks(ends, count);
  return tickvals.map((value, i) => [value, ticktext[i]]);
}

/** At most `count` labels for an axis of logarithms to the base of ten, from `low` to `high`. */
export function decades([low, high], count) {
  const step = STEPS.find((each) => (high - low) / each < count) ?? STEPS.at(-1);
  const first = Math.ceil(low / step - 1e-9);
  const last = Math.floor(high / step + 1e-9);
  const tickvals = Array.from({ length: last - first + 1 }, (_, i) => (first + i) * step);
  return { tickvals, ticktext: tickvals.map(decade) };
}

/** Ten to the `exponent` as a label, 1 and 10 as people write them. */
const decade = (exponent) => (exponent === 0 ? "1" : exponent === 1 ? "10" : power(exponent));

/** As many ticks as stand beside each other on `room` rem, `count` at most. */
export function fittingTicks(range, count, room) {
  const found = ticks(range, count);
  const wide = widest(found.ticktext) + 1;
  return count > 1 && wide * found.ticktext.length > room ? fittingTicks(range, count - 1, room) : found;
}

/** The width of the widest label, in rem. */
export function widest(texts) {
  const width = (text) => [...text].reduce((sum, sign) => sum + (/[-.·⁻⁰¹²³⁴⁵⁶⁷⁸⁹]/.test(sign) ? 0.7 : 1) * LETTER, 0);
  return Math.max(0, ...texts.map(width));
}

function labels(values, step) {
  const size = Math.max(...values.map(Math.abs));
  const exponent = size >= LARGE || size < SMALL ? Math.floor(Math.log10(size) + 1e-9) : 0;
  const decimals = Math.min(100, Math.max(0, exponent - Math.floor(Math.log10(step) + 1e-9)));
  const scaled = (value) => typographic((value / 10 ** exponent).toFixed(decimals));
  return values.map((value) =>
    exponent === 0 ? scaled(value) : value === 0 ? "0" : `${scaled(value)}·${power(exponent)}`,
  );
}
