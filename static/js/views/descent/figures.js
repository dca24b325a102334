// The pictures of the view "descent": where both runs are on forward, their losses, or tensors as fields of colours.

import { svg } from "../../dom.js";
import { axisStyle, axisTitle, baseLayout, baseTrace, decades, fittingTicks, isWide, ticks } from "../../figure/axes.js";
import { format } from "../../number.js";
import { label } from "../jacobian/cells.js";

const AIR = 0.08; // of the height of a panel, above and below
const NEAR = 1.5; // of what was visited: what forward does farther away is cut off
const FAR = 1e4; // heights of a panel: where nobody can tell how far away something is
const LOGARITHMIC = 100; // from this ratio of losses on
const [TINY, HUGE] = [1e-300, 1e300]; // beyond, differences of numbers are no numbers any more
const BREAK = 0.16; // of the decades that are shown, for the step down to losses that are 0
const [LARGE, SMALL] = [15, 9]; // balls that lie on each other are both seen

/** {data, layout} of forward along what moves, with both balls at `step` and faint trails behind them. */
export function groundFigure({ answer, runs }, step, view, palette) {
  const { x, y, of } = answer.landscape;
  const goal = of === "forward" ? answer.goal[0] : 0;
  const [start, stop] = [x[0], x.at(-1)];
  const within = ({ positions, heights }) =>
    heights.filter((_, i) => positions[i][0] >= start && positions[i][0] <= stop);
  const range = rangeOf(y, [goal, ...runs.flatMap(within)]);
  const rise = FAR * (range[1] - range[0]);
  const sky = [range[0] - rise, range[1] + rise];
  const seen = (value, [low, high]) => (value !== null && value >= low && value <= high ? value : null);
  const balls = [...runs].reverse().flatMap(({ name, color, positions, heights }, i) => {
    const now = Math.min(step, positions.length - 1);
    const [xs, ys] = [positions.slice(0, now + 1).map(([at]) => at), heights.slice(0, now + 1)];
    const at = [clamped(xs[now], [start, stop]), clamped(ys[now], range)];
    const before = [xs.slice(0, -1).map((x) => seen(x, [start, stop])), ys.slice(0, -1).map((y) => seen(y, range))];
    const symbol = xs[now] > stop ? "triangle-right" : xs[now] < start ? "triangle-left" : "circle";
    const marker = { size: i === 0 ? LARGE : SMALL, symbol, color: palette[color] };
    const faint = { size: i === 0 ? 9 : 6, color: palette[color], opacity: 0.45 };
    return [
      { ...baseTrace(`${name}, before`), mode: "markers", x: before[0], y: before[1], marker: faint },
      { ...baseTrace(name), mode: "markers", x: [at[0]], y: [at[1]], cliponaxis: false, marker },
    ];
  });
  const line = { width: 1.6, simplify: false };
  return {
    data: [
      { ...baseTrace(of), mode: "lines", x, y: y.map((each) => clamped(each, sky)), line: { ...line, color: palette.ink } },
      {
        ...baseTrace("goal"),
        ...{ mode: "lines", x: [start, stop], y: [goal, goal] },
        line: { ...line, color: palette.muted, width: 1.2, dash: "6px,4px" },
      },
      ...balls,
    ],
    layout: {
      ...baseLayout(view, view.margin, palette),
      xaxis: {
        ...axisStyle(palette),
        ...fittingTicks([start, stop], ...(isWide(view) ? [7, 25] : [4, 14])),
        range: [start, stop],
        fixedrange: true,
        title: axisTitle(answer.wrt, palette),
        zeroline: false,
      },
      yaxis: upright(range, view, palette),
    },
  };
}

/** {data, layout, words} of both losses, with an upright line and a dot on each at `step`, and what the axis shows. */
export function lossFigure({ runs, steps }, step, view, palette) {
  const losses = runs.flatMap((run) => run.losses).filter((loss) => loss !== null);
  const { range, height, labels, rift } = scale(losses, view);
  const curves = [...runs].reverse().flatMap(({ name, color, losses: all }, i) => {
    const y = all.map(height);
    const now = Math.min(
      step,
      y.findLastIndex((each) => each !== null),
    );
    return [
      {
        ...baseTrace(name),
        ...{ mode: "lines", x: all.map((_, at) => at), y },
        line: { width: i === 0 ? 5 : 2, simplify: false, color: palette[color] },
      },
      {
        ...baseTrace(`${name}, now`),
        ...{ mode: "markers", x: [now], y: [y[now] ?? null], cliponaxis: false },
        marker: { size: i === 0 ? LARGE - 4 : SMALL - 1, color: palette[color] },
      },
    ];
  });
  return {
    data: curves,
    layout: {
      ...baseLayout(view, view.margin, palette),
      xaxis: {
        ...axisStyle(palette),
        ...{ zeroline: false, range: [0, Math.max(1, steps)], fixedrange: true },
        ...wholeSteps(steps, view),
        title: axisTitle("step", palette),
      },
      yaxis: { ...upright(range, view, palette), ...labels },
      shapes: [
        {
          ...{ type: "line", layer: "below", xref: "x", yref: "y domain", x0: step, x1: step, y0: 0, y1: 1 },
          line: { color: palette.ink, width: 1, dash: "1px,3px" },
        },
        ...(rift === null ? [] : [axisBreak(rift, palette)]),
      ],
    },
    words: rift === null ? "loss" : "loss; 0 below the broken line",
  };
}

function upright(range, view, palette) {
  const labels = ticks(range, Math.max(2, view.height / (4 * view.rem)));
  return { ...axisStyle(palette), range, fixedrange: true, ...labels };
}

/**
 * The axis of losses: {range, height(loss), labels, rift}. Losses that differ much are shown by their logarithms; those
 * that are 0 have none, and lie below a break at `rift`, null where there is none.
 */
function scale(losses, view) {
  const positive = losses.filter((loss) => loss > 0);
  const [least, most] = ends(positive.length > 0 ? positive : [1]);
  if (most <= LOGARITHMIC * least && most < HUGE && least > TINY) {
    return { range: padded([0, most]), height: (loss) => loss, labels: {}, rift: null };
  }
  const bottom = Math.floor(Math.log10(least) + 1e-9);
  const top = Math.max(bottom + 1, Math.ceil(Math.log10(most) - 1e-9));
  const { tickvals, ticktext } = decades([bottom, top], Math.max(2, view.height / (3 * view.rem)));
  const height = (loss) => (loss === null ? null : loss > 0 ? Math.log10(loss) : floor);
  const [floor, broken] = [bottom - BREAK * (top - bottom), losses.includes(0)];
  const labels = broken ? { tickvals: [floor, ...tickvals], ticktext: ["0", ...ticktext] } : { tickvals, ticktext };
  const range = padded([broken ? floor : bottom, top]);
  return { range, height, labels: { ...labels, zeroline: false }, rift: broken ? (floor + bottom) / 2 : null };
}

/** A break of the axis, from side to side. */
const axisBreak = (height, palette) => ({
  ...{ type: "line", layer: "below", xref: "x domain", yref: "y", x0: 0, x1: 1, y0: height, y1: height },
  line: { color: palette.muted, width: 1.2, dash: "6px,4px" },
});

/** Labels at whole steps. */
function wholeSteps(steps, view) {
  const labels = ticks([0, Math.max(1, steps)], Math.min(steps, Math.max(2, view.width / (5 * view.rem))) || 1);
  const kept = labels.tickvals.map((_, i) => i).filter((i) => Number.isInteger(labels.tickvals[i]));
  return { tickvals: kept.map((i) => labels.tickvals[i]), ticktext: kept.map((i) => labels.ticktext[i]) };
}

const clamped = (value, [low, high]) => (value === null ? null : Math.min(high, Math.max(low, value)));

/** The heights to be seen: of what was visited, and of forward as far as it is not far away from that. */
function rangeOf(y, visited) {
  const near = visited.filter((each) => each !== null).map((each) => clamped(each, [-HUGE, HUGE]));
  const [low, high] = ends(near);
  const room = NEAR * extent([low, high]);
  const [least, most] = ends([...y.filter((each) => each !== null), low]);
  return padded([Math.min(low, Math.max(least, low - room)), Math.max(high, Math.min(most, high + room))]);
}

const ends = (values) => [values.reduce((a, b) => Math.min(a, b)), values.reduce((a, b) => Math.max(a, b))];
/** As far apart as both are; where they are one, as far as that is seen. */
const extent = ([low, high]) => (high - low > TINY ? high - low : Math.max(1, Math.abs(high)));

function padded([low, high]) {
  const air = AIR * extent([low, high]);
  return [low - air, high + air];
}

const LARGEST = 3; // rem, of a cell
const LABELLED = 16; // rows or columns, with a number for each

/** {svg, paint(values, start, most)} for a tensor of this `shape`, rows of its last dimension. `name` names elements. */
export function heatMap(shape, name) {
  const columns = shape.at(-1);
  const rows = shape.reduce((a, b) => a * b, 1) / columns;
  const labelled = Math.max(rows, columns) <= LABELLED;
  const edge = labelled ? 0.6 : 0;
  const picture = svg("svg", {
    viewBox: `${-edge} ${-edge} ${columns + edge} ${rows + edge}`,
    role: "img",
    class: "heat",
  });
  picture.style.maxWidth = `${LARGEST * (columns + edge)}rem`;
  const cells = Array.from({ length: rows * columns }, (_, i) => cell(picture, i % columns, Math.floor(i / columns)));
  if (labelled) {
    for (let i = 0; i < columns; i += 1) picture.append(number(i + 0.48, -0.18, i, "middle"));
    for (let i = 0; i < rows; i += 1) picture.append(number(-0.14, i + 0.6, i, "end"));
  }

  /** Show `values`; those that are what they were at `start` get a dot. Colours go to `most` on either side of 0. */
  function paint(values, start, most) {
    cells.forEach(({ square, dot, title }, i) => {
      const share = Math.round(100 * Math.min(1, Math.abs(values[i]) / most || 0));
      const side = values[i] < 0 ? "negative" : "positive";
      square.style.fill = `color-mix(in srgb, var(--${side}) ${share}%, var(--neutral))`;
      dot.toggleAttribute("hidden", start === null || values[i] !== start[i]);
      title.textContent = `${label({ name, shape }, i)} = ${format(values[i])}`;
    });
  }

  return { svg: picture, paint };
}

function cell(picture, column, row) {
  const square = svg("rect", { x: column, y: row, width: 0.95, height: 0.95 });
  const dot = svg("circle", { cx: column + 0.475, cy: row + 0.475, r: 0.1 });
  const title = square.appendChild(svg("title"));
  picture.append(square, dot);
  return { square, dot, title };
}

const number = (x, y, text, anchor) => svg("text", { x, y, "text-anchor": anchor }, text);
