// One map of a surface: an answer's grids in, a Plotly figure out. Pure: no DOM, no memory.

import { axisStyle, axisTitle, baseLayout, baseTrace, fittingTicks } from "../../figure/axes.js";
import { arrows } from "./field.js";

// A gap, however narrow, keeps plotly from the inline style that it gives an image without gaps.
const SEAM = 1e-3;
const ARROWS = { few: 11, many: 15 }; // a side
const NARROW = 20; // rem
const LEVELS = 12;

/** How a map is to be seen: the room of its labels, in rem. */
const MARGIN = { left: 3.4, right: 0.6, top: 0.4, bottom: 2.7 };

/** {data, layout}: `map` is "forward", "returned", "numerical" or "difference". `view`: {width, height, rem, held, scale}. */
export function mapOf(map, answer, grid, view, palette) {
  const frame = margins(view);
  const inner = [view.width - frame.l - frame.r, view.height - frame.t - frame.b];
  return {
    data: [
      heat(grid[map] ?? empty(grid), grid, view.scale, map === "forward" ? sequential(palette) : signed(palette)),
      ...(map === "forward" ? overForward(answer, grid, view, inner, palette) : []),
    ],
    layout: {
      ...baseLayout(view, frame, palette),
      xaxis: { ...across(grid.x, inner[0] / view.rem, palette), title: axisTitle(answer.wrt, palette) },
      yaxis: { ...across(grid.y, (inner[1] / view.rem) * 2, palette), title: axisTitle(answer.wrt2, palette) },
      shapes: [border(palette), ...held(view.held, palette)],
    },
  };
}

const empty = ({ x, y }) => y.map(() => x.map(() => null));

export const margins = ({ rem }) => ({
  ...{ l: MARGIN.left * rem, r: MARGIN.right * rem },
  ...{ t: MARGIN.top * rem, b: MARGIN.bottom * rem },
});

const sequential = (palette) => [
  [0, palette.neutral],
  [1, palette.muted],
];
const signed = (palette) => [
  [0, palette.negative],
  [0.5, palette.neutral],
  [1, palette.positive],
];

function across(numbers, room, palette) {
  const half = (numbers.at(-1) - numbers[0]) / (numbers.length - 1) / 2;
  const range = [numbers[0] - half, numbers.at(-1) + half];
  return { ...axisStyle(palette), range, fixedrange: true, showgrid: false, zeroline: false, ...fittingTicks(range, 6, room) };
}

const heat = (z, { x, y }, [zmin, zmax], colorscale) => ({
  ...{ name: "heat", type: "heatmap", x, y, z, zmin, zmax, colorscale },
  ...{ xgap: SEAM, hoverinfo: "skip", hoverongaps: false, showscale: false },
});

/** What is drawn over forward: its contours, those of the implied function, ridges and arrows. */
function overForward(answer, grid, view, inner, palette) {
  const { ridges } = answer;
  const count = view.width < NARROW * view.rem ? ARROWS.few : ARROWS.many;
  return [
    contours("forward", grid.forward, grid, { color: palette.ink, width: 0.7 }),
    grid.implied && contours("implied", grid.implied, grid, { color: palette.surrogate, width: 1.2, dash: "2px,3px" }),
    {
      ...baseTrace("ridges"),
      mode: "markers",
      x: ridges.x,
      y: ridges.y,
      marker: { size: 3, symbol: "circle", color: palette.ink },
    },
    {
      ...baseTrace("arrows"),
      mode: "lines",
      ...arrows(answer, count, inner),
      line: { color: palette.analytical, width: 1.6, simplify: false },
    },
  ].filter(Boolean);
}

function contours(name, z, { x, y }, line) {
  const shown = { coloring: "none", showlabels: false };
  return {
    ...{ name, type: "contour", x, y, z, line, contours: shown, ncontours: LEVELS },
    hoverinfo: "skip",
    showscale: false,
  };
}

const border = (palette) => ({
  ...{ type: "rect", xref: "x domain", yref: "y domain", x0: 0, x1: 1, y0: 0, y1: 1 },
  line: { width: 1, color: palette.rule },
});

/** The line of the section above, and the point that everything is held at. */
function held([x, y], palette) {
  const line = (width, color) => ({
    ...{ type: "line", xref: "x domain", x0: 0, x1: 1, y0: y, y1: y },
    line: { width, color },
  });
  const dot = (size, color) => ({
    ...{ type: "circle", xsizemode: "pixel", ysizemode: "pixel", xanchor: x, yanchor: y },
    ...{ x0: -size, x1: size, y0: -size, y1: size, fillcolor: color, line: { width: 0 } },
  });
  return [line(4, palette.paper), line(1.5, palette.ink), dot(6, palette.paper), dot(4, palette.ink)];
}
