// The view "step": how far differences at one x are from the best value, for steps from wide to fine.

import { axisStyle, axisTitle, baseLayout, baseTrace, decades } from "../figure/axes.js";

const AIR = 0.6;

/** {data, layout, words} for an answer to view=step. */
export function stepFigure(answer, view, palette) {
  const { step, central, left, right, truncation, rounding, taylor } = answer.columns;
  const steps = step.map(Math.log10);
  const measured = [central, left, right, taylor].flatMap((column) => column ?? []).filter((value) => value > 0);
  const any = measured.length > 0;
  const low = any ? Math.floor(Math.max(-300, Math.log10(measured.reduce((a, b) => Math.min(a, b))))) : -16;
  const high = any ? Math.ceil(Math.log10(measured.reduce((a, b) => Math.max(a, b)))) : 0;
  const range = [low - AIR, Math.max(high, low + 1) + AIR];
  const span = [Math.min(...steps) - 0.2, Math.max(...steps) + 0.2];
  const line = (name, column, style, mode = "lines") => ({
    ...baseTrace(name),
    mode,
    x: steps,
    y: (column ?? []).map((value) => (value === null ? null : value > 0 ? Math.log10(value) : low)),
    line: { width: 1.5, simplify: false, ...style },
  });
  const dashed = { color: palette.muted, width: 1.2, dash: "6px,4px" };
  const chosen = (answer.chosen ?? []).filter((each) => each > 0).map(Math.log10);
  const words = "error of the difference";
  return {
    words,
    data: [
      any && line("truncation", truncation, dashed),
      any && line("rounding", rounding, dashed),
      line("central", central, { color: palette.numerical, width: 4 }),
      line("left", left, { color: palette.ink }),
      line("right", right, { color: palette.ink, dash: "2px,3px" }),
      line("Taylor remainder with backward", taylor, { color: palette.analytical, width: 2 }),
      any && {
        ...baseTrace("steps used"),
        mode: "markers",
        x: chosen,
        y: chosen.map(() => range[0]),
        cliponaxis: false,
        marker: { symbol: "line-ns", size: 12, line: { width: 2, color: palette.numerical } },
      },
      answer.least && {
        ...baseTrace("least error"),
        mode: "markers",
        x: [Math.log10(answer.least.step)],
        y: [answer.least.error > 0 ? Math.log10(answer.least.error) : low],
        cliponaxis: false,
        marker: { size: 9, color: palette.paper, line: { width: 1.6, color: palette.ink } },
      },
    ].filter(Boolean),
    layout: {
      ...baseLayout(view.margin, view.titles, palette),
      xaxis: {
        ...axisStyle(palette),
        zeroline: false,
        range: span,
        fixedrange: true,
        ...decades(span, Math.max(3, view.width / (6 * view.rem))),
        title: axisTitle(`step of ${answer.wrt}`, palette),
      },
      yaxis: {
        ...axisStyle(palette),
        zeroline: false,
        range,
        fixedrange: true,
        ...decades(range, Math.max(2, view.height / (4 * view.rem))),
        title: axisTitle(view.titles ? words : "", palette),
      },
    },
  };
}
