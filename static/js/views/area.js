// The view "area": in every cell the rise of forward less the area under backward.

import { axisStyle, axisTitle, baseLayout, rectangles, ticksAndUnit, xAxis } from "../figure/axes.js";

const MOST = 0.9;
const [AIR, LEAST] = [0.11, 1e-290];
const ROOM = 1.3; // how far beyond the allowed band the axis goes where nothing leaves it

/** {data, layout, words} for an answer to view=area; `view.designed` where what differs is meant to. */
export function areaFigure(answer, view, palette) {
  const { left, right, residual, allowed, status } = answer.columns;
  const said = (row) => answer.statuses[status[row]];
  const differing = residual.filter((_, row) => said(row) === "differs");
  const bound = allowed.map((each) => (Number.isFinite(each ?? NaN) ? each : 0));
  const usual = (sizes, share) => sizes.toSorted((a, b) => a - b)[Math.floor(share * (sizes.length - 1))] ?? 0;
  // Where nothing differs, a few cells beside a pole or a cusp must not flatten all others.
  const most = usual(residual.filter(Number.isFinite).map(Math.abs), MOST);
  const [seen, reach] = differing.length > 0 ? [differing, 0] : [[-most, most], usual(bound, 0.5)];
  const [low, high] = rangeOf([...seen, -ROOM * reach, ROOM * reach, 0].filter(Number.isFinite));
  const zero = residual.map(() => 0);
  const cells = (name, keep, color, opacity) =>
    rectangles(
      name,
      { left, right, low: zero, high: residual.map((value) => value ?? 0) },
      (_, row) => keep(said(row)),
      color,
      opacity,
    );
  const band = { left, right, low: bound.map((each) => -each), high: bound };
  const { unit, ...labels } = ticksAndUnit([low, high], Math.max(2, view.height / (4 * view.rem)));
  const words = `rise − area per cell${unit && ` in ${unit}`}`;
  return {
    words,
    data: [
      rectangles("allowed", band, () => true, palette.numerical, 0.22),
      cells("agrees", (each) => each === "agrees" || each === "subgradient", palette.muted, 0.75),
      cells("not judged", (each) => !["agrees", "subgradient", "differs"].includes(each), palette.muted, 0.3),
      cells("differs", (each) => each === "differs", palette.disagreement, view.designed ? 0.4 : 0.9),
    ],
    layout: {
      ...baseLayout(view.margin, view.titles, palette),
      xaxis: xAxis(answer, view.scene, view, palette),
      yaxis: {
        ...axisStyle(palette),
        range: [low, high],
        fixedrange: true,
        ...labels,
        title: axisTitle(view.titles ? words : "", palette),
      },
    },
  };
}

/** From the least of these to the greatest, with air around. */
function rangeOf(values) {
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const air = AIR * (high - low || LEAST);
  return [low - air, high + air];
}
