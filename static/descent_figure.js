// A descent in pictures: where both are on forward, and what they lose step by step.

import { across, axis, heading, sheet, trace } from "./sheet.js";
import { decades, ticks } from "./ticks.js";

const AIR = 0.08; // of the height of a panel, above and below
const NEAR = 1.5; // of what was visited: what forward does farther away is cut off
const LOGARITHMIC = 100; // from this ratio of losses on
const DEEPEST = 40; // decades
const [LARGE, SMALL] = [15, 9]; // balls that lie on each other are both seen

/** {data, layout} of forward along what moves, with both balls at `step` and faint trails behind them. */
export function groundFigure({ answer, runs }, step, view, palette) {
  const { x, y, of } = answer.landscape;
  const goal = of === "forward" ? answer.goal[0] : 0;
  const [start, stop] = [x[0], x.at(-1)];
  const within = ({ positions, heights }) =>
    heights.filter((_, i) => positions[i][0] >= start && positions[i][0] <= stop);
  const range = visible(y, [goal, ...runs.flatMap(within)]);
  const balls = [...runs].reverse().flatMap(({ name, color, positions, heights }, i) => {
    const now = Math.min(step, positions.length - 1);
    const [xs, ys] = [positions.slice(0, now + 1).map(([at]) => at), heights.slice(0, now + 1)];
    const at = [between(xs[now], [start, stop]), between(ys[now], range)];
    const symbol = xs[now] > stop ? "triangle-right" : xs[now] < start ? "triangle-left" : "circle";
    const marker = { size: i === 0 ? LARGE : SMALL, symbol, color: palette[color] };
    const faint = { size: i === 0 ? 9 : 6, color: palette[color], opacity: 0.45 };
    return [
      { ...trace(`${name}, before`), mode: "markers", x: xs.slice(0, -1), y: ys.slice(0, -1), marker: faint },
      { ...trace(name), mode: "markers", x: [at[0]], y: [at[1]], cliponaxis: false, marker },
    ];
  });
  const line = { width: 1.6, simplify: false };
  return {
    data: [
      { ...trace(of), mode: "lines", x, y, line: { ...line, color: palette.ink } },
      {
        ...trace("goal"),
        ...{ mode: "lines", x: [start, stop], y: [goal, goal] },
        line: { ...line, color: palette.muted, width: 1.2, dash: "6px,4px" },
      },
      ...balls,
    ],
    layout: {
      ...sheet(view.margin, false, palette),
      xaxis: { ...across({ wrt: answer.wrt, start, stop }, view, palette), zeroline: false },
      yaxis: upright(range, view, palette),
    },
  };
}

/** {data, layout} of both losses, with an upright line and a dot on each at `step`. */
export function lossFigure({ answer, runs, steps }, step, view, palette) {
  const losses = runs.flatMap((run) => run.losses).filter((loss) => loss !== null);
  const positive = losses.filter((loss) => loss > 0);
  const [least, most] = [Math.min(...positive), Math.max(...positive)];
  const logarithmic = positive.length > 0 && (most > LOGARITHMIC * least || losses.includes(0)) && most > 0;
  const top = Math.ceil(Math.log10(most) + 1e-9);
  const floor = Math.max(top - DEEPEST, Math.floor(Math.log10(least))) - (losses.includes(0) ? 1 : 0);
  const height = (loss) =>
    !logarithmic || loss === null ? loss : loss > 0 ? Math.max(floor, Math.log10(loss)) : floor;
  const range = logarithmic ? padded([floor, top]) : padded([0, positive.length ? most : 1]);
  const curves = [...runs].reverse().flatMap(({ name, color, losses: all }, i) => {
    const y = all.map(height);
    const now = Math.min(
      step,
      y.findLastIndex((each) => each !== null),
    );
    return [
      {
        ...trace(name),
        ...{ mode: "lines", x: all.map((_, at) => at), y },
        line: { width: i === 0 ? 5 : 2, simplify: false, color: palette[color] },
      },
      {
        ...trace(`${name}, now`),
        ...{ mode: "markers", x: [now], y: [y[now] ?? null], cliponaxis: false },
        marker: { size: i === 0 ? LARGE - 4 : SMALL - 1, color: palette[color] },
      },
    ];
  });
  return {
    data: curves,
    layout: {
      ...sheet(view.margin, false, palette),
      xaxis: {
        ...axis(palette),
        ...{ zeroline: false, range: [0, Math.max(1, steps)], fixedrange: true },
        ...whole(steps, view),
        title: heading("step", palette),
      },
      yaxis: logarithmic
        ? { ...upright(range, view, palette), zeroline: false, ...exponents(range, floor, losses, view) }
        : upright(range, view, palette),
      shapes: [
        {
          ...{ type: "line", layer: "below", xref: "x", yref: "y domain", x0: step, x1: step, y0: 0, y1: 1 },
          line: { color: palette.ink, width: 1, dash: "1px,3px" },
        },
      ],
    },
  };
}

function upright(range, view, palette) {
  const labels = ticks(range, Math.max(2, view.height / (4 * view.rem)));
  return { ...axis(palette), range, fixedrange: true, ...labels };
}

function exponents(range, floor, losses, view) {
  const labels = decades(range, Math.max(2, view.height / (3 * view.rem)));
  if (!losses.includes(0)) return labels;
  const kept = labels.tickvals.map((_, i) => i).filter((i) => labels.tickvals[i] > floor + 0.5);
  return {
    tickvals: [floor, ...kept.map((i) => labels.tickvals[i])],
    ticktext: ["0", ...kept.map((i) => labels.ticktext[i])],
  };
}

/** Labels at whole steps. */
function whole(steps, view) {
  const labels = ticks([0, Math.max(1, steps)], Math.min(steps, Math.max(2, view.width / (5 * view.rem))) || 1);
  const kept = labels.tickvals.map((_, i) => i).filter((i) => Number.isInteger(labels.tickvals[i]));
  return { tickvals: kept.map((i) => labels.tickvals[i]), ticktext: kept.map((i) => labels.ticktext[i]) };
}

const between = (value, [low, high]) => (value === null ? null : Math.min(high, Math.max(low, value)));

/** The heights to be seen: of what was visited, and of forward as far as it is not far away from that. */
function visible(y, visited) {
  const [low, high] = ends(visited.filter((each) => each !== null));
  const room = NEAR * (high - low || 1);
  const [least, most] = ends(y.filter((each) => each !== null));
  return padded([Math.min(low, Math.max(least, low - room)), Math.max(high, Math.min(most, high + room))]);
}

const ends = (values) => [values.reduce((a, b) => Math.min(a, b)), values.reduce((a, b) => Math.max(a, b))];

function padded([low, high]) {
  const air = AIR * (high - low || 1);
  return [low - air, high + air];
}
