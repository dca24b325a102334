// An answer in, a Plotly figure out. Pure: no DOM, no memory.

import { band } from "./band.js";
import { curves } from "./curves.js";
import { withoutPoles } from "./poles.js";
import { range } from "./range.js";
import { fitting, ticks, widest } from "./ticks.js";

const MARGIN = { left: 3.6, right: 0.9, top: 0.5, bottom: 3 };

/** What lies where, in pixels from the top of the figure: {upper: [top, bottom], lower: [top, bottom]}. */
export function panels({ layout, height, rem, gap }) {
  const top = MARGIN.top * rem;
  const bottom = height - MARGIN.bottom * rem;
  if (layout === "overlaid") return { upper: [top, bottom], lower: [top, bottom] };
  const each = (bottom - top - gap) / 2;
  return { upper: [top, top + each], lower: [bottom - each, bottom] };
}

/** The y-ranges of `answer`: {upper, lower}, equal when overlaid. `held` ranges stay in sight. */
export function ranges(whole, { layout, held }) {
  const answer = withoutPoles(whole);
  const { forward, surrogate, analytical, numerical, surrogate_numerical, status } = answer.columns;
  const judged = numerical?.map((value, i) => (answer.statuses[status[i]] === "undecided" ? null : value));
  const kinks = answer.marks.filter((mark) => mark.kind === "kink");
  const slopes = [analytical, judged, surrogate_numerical, kinks.flatMap((kink) => [kink.left, kink.right])];
  const values = [forward, surrogate];
  const rise = range(values)[1] - range(values)[0];
  const natural = (Math.abs(answer.grad_output) || 1) * (rise / (answer.stop - answer.start));
  if (layout === "overlaid") {
    const both = range([...values, ...slopes], { zero: true, held: held?.upper });
    return { upper: both, lower: both };
  }
  return {
    upper: range(values, { held: held?.upper }),
    lower: range(slopes, { zero: true, natural, held: held?.lower }),
  };
}

/**
 * {data, layout} for `Plotly.react`.
 * `view`: {layout: "stacked" | "overlaid", width, height, rem, gap (pixels), held, zoomable, titles}.
 */
export function figure(answer, view, palette) {
  const overlaid = view.layout === "overlaid";
  const { upper, lower } = ranges(answer, view);
  const place = panels(view);
  const top = MARGIN.top * view.rem;
  const inner = view.height - (MARGIN.top + MARGIN.bottom) * view.rem;
  const domain = ([from, to]) =>
    [1 - (to - top) / inner, 1 - (from - top) / inner].map((v) => Math.min(1, Math.max(0, v)));
  const axis = {
    showline: false,
    gridcolor: palette.grid,
    zeroline: true,
    zerolinecolor: palette.rule,
    zerolinewidth: 1,
    ticks: "",
    tickfont: { color: palette.muted },
    tickmode: "array",
    ticklabelstandoff: 5,
  };
  const rows = Math.max(2, (place.upper[1] - place.upper[0]) / (3 * view.rem));
  const [above, below] = [ticks(upper, rows), ticks(lower, rows)];
  const left = Math.max(MARGIN.left, 0.7 + widest([...above.ticktext, ...below.ticktext]));
  const span = [answer.start, answer.stop];
  const room = view.width / view.rem - left;
  const words = axisWords(answer, overlaid);
  const title = (text) => ({ text: view.titles ? text : "", font: { color: palette.ink }, standoff: 8 });
  const layout = {
    autosize: true,
    margin: {
      l: left * view.rem,
      r: MARGIN.right * view.rem,
      t: top,
      b: MARGIN.bottom * view.rem,
      pad: 0,
    },
    font: { family: palette.family, size: palette.size, color: palette.ink },
    paper_bgcolor: view.titles ? palette.paper : "rgba(0,0,0,0)",
    plot_bgcolor: "rgba(0,0,0,0)",
    hovermode: false,
    dragmode: view.zoomable ? "zoom" : false,
    showlegend: false,
    xaxis: {
      ...axis,
      anchor: overlaid ? "y" : "y2",
      range: span,
      fixedrange: !view.zoomable,
      ...fitting(span, Math.max(3, view.width / (7 * view.rem)), room),
      title: { text: answer.wrt, standoff: 8, font: { color: palette.ink, size: palette.size } },
    },
    yaxis: {
      ...axis,
      domain: domain(place.upper),
      range: upper,
      fixedrange: true,
      ...above,
      title: title(words.upper),
    },
    shapes: disagreements(answer, overlaid, palette),
  };
  if (!overlaid) {
    layout.yaxis2 = {
      ...layout.yaxis,
      domain: domain(place.lower),
      range: lower,
      ...below,
      title: title(words.lower),
    };
  }
  const seen = withoutPoles(answer);
  const outline = band(seen.columns.x, seen.columns.numerical ?? [], seen.columns.error ?? []);
  return { data: curves(seen, outline, overlaid, palette), layout };
}

/** What the two y-axes measure, in the words of the op. */
export function axisWords(answer, overlaid) {
  const swept = `${answer.verdict.word === "no gradient" ? "sensitivity to" : "grad of"} ${answer.wrt}`;
  return { upper: overlaid ? `${answer.of} and ${swept}` : answer.of, lower: swept };
}

function disagreements(answer, overlaid, palette) {
  const broken = answer.verdict.word === "differs";
  return answer.verdict.intervals.flatMap(([x0, x1]) =>
    (overlaid ? ["y"] : ["y", "y2"]).map((yref) => ({
      type: "rect",
      layer: "below",
      line: { width: 0 },
      fillcolor: palette.disagreement,
      opacity: broken ? 0.15 : 0.055,
      xref: "x",
      yref: `${yref} domain`,
      x0,
      x1,
      y0: 0,
      y1: 1,
    })),
  );
}
