// The view "map": over x and grad_output the factor by which backward multiplies. Backward is linear in grad_output
// where all rows are alike.

import { axisStyle, axisTitle, baseLayout, ticksAndUnit, xAxis } from "../figure/axes.js";

// A gap, however narrow, keeps plotly from the inline style that it gives an image without gaps.
const SEAM = 1e-3;

/**
 * {data, layout, words, most}: the line lies at `view.grad_output`, and colours end at ±`most`, the largest there is but
 * for what is near a pole of `view.scene`.
 */
export function mapFigure(answer, view, palette) {
  const { x, grad_output: rows, ratio } = answer.columns;
  const near = x.map((each) => view.scene.steep.some(([low, high]) => each > low && each < high));
  const most = strongest(ratio.filter((_, i) => !near[i % x.length])) || strongest(ratio) || 1;
  const [low, high] = [rows[0] ?? -1, rows.at(-1) ?? 1];
  const { unit, ...labels } = ticksAndUnit([low, high], Math.max(2, view.height / (4 * view.rem)));
  const words = `grad_output${unit && ` in ${unit}`}`;
  return {
    words,
    most,
    data: [
      {
        name: "ratio",
        type: "heatmap",
        x,
        y: rows,
        z: rows.map((_, row) => ratio.slice(row * x.length, (row + 1) * x.length)),
        zmin: -most,
        zmax: most,
        colorscale: [
          [0, palette.negative],
          [0.5, palette.neutral],
          [1, palette.positive],
        ],
        xgap: SEAM,
        hoverinfo: "skip",
        showscale: false, // the page and the picture say it in words: a colour bar has inline styles
      },
    ],
    layout: {
      ...baseLayout(view.margin, view.titles, palette),
      xaxis: { ...xAxis(answer, view.scene, view, palette), showgrid: false, zeroline: false },
      yaxis: {
        ...axisStyle(palette),
        range: [low, high],
        fixedrange: true,
        showgrid: false,
        zeroline: false,
        ...labels,
        title: axisTitle(view.titles ? words : "", palette),
      },
      shapes: gradOutputLine(view.grad_output, palette),
    },
  };
}

/** The line at the grad_output of the curves above. */
export function gradOutputLine(y, palette) {
  const line = (width, color) => ({
    type: "line",
    xref: "x domain",
    x0: 0,
    x1: 1,
    y0: y,
    y1: y,
    line: { width, color },
  });
  return [line(4.5, palette.paper), line(1.5, palette.ink)];
}

/** The largest size there is. */
const strongest = (ratio) => ratio.reduce((most, value) => Math.max(most, Math.abs(value ?? 0)), 0);
