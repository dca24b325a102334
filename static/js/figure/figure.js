// An answer in, a Plotly figure out: the two panels. Pure: no DOM, no memory.

import { axisStyle, axisTitle, baseLayout, verticalStripe, ticks, widest, xAxis } from "./axes.js";
import { axisWords } from "./legend.js";
import { ranges, withoutPoles } from "./ranges.js";
import { curves, errorBand } from "./traces.js";

const LEAST = 0.006; // of the width, so that a single point is seen to differ
const LABELS = { stacked: 4, overlaid: 7 }; // about so many beside a panel, however high it is
// The margins in rem: those of the grid in figure.css, and of server/figure, which draws the same figure.
const MARGIN = { left: 3.6, right: 0.9, top: 0.5, bottom: 3 };

/** What lies where, in pixels from the top of the figure: {upper: [top, bottom], lower: [top, bottom]}. */
export function panelPlaces({ layout, height, rem, gap }) {
  const top = Math.round(MARGIN.top * rem);
  const bottom = height - Math.round(MARGIN.bottom * rem);
  if (layout === "overlaid") return { upper: [top, bottom], lower: [top, bottom] };
  const each = (bottom - top - gap) / 2;
  return { upper: [top, top + each], lower: [bottom - each, bottom] };
}

/**
 * {data, layout} for `Plotly.react`.
 * `view`: {layout: "stacked" | "overlaid", width, height, rem, gap (pixels), held, zoomable, titles, at}.
 */
export function figure(answer, view, palette) {
  const overlaid = view.layout === "overlaid";
  const { upper, lower } = ranges(answer, view);
  const place = panelPlaces(view);
  const [top, bottom] = [MARGIN.top, MARGIN.bottom].map((length) => Math.round(length * view.rem));
  const inner = view.height - top - bottom;
  const domain = ([from, to]) =>
    [1 - (to - top) / inner, 1 - (from - top) / inner].map((v) => Math.min(1, Math.max(0, v)));
  const style = axisStyle(palette);
  const [above, below] = [upper, lower].map((each) => ticks(each, LABELS[view.layout]));
  const left = Math.round(margin([...above.ticktext, ...below.ticktext]) * view.rem);
  const words = axisWords(answer, overlaid);
  const title = (text) => axisTitle(view.titles ? text : "", palette);
  const layout = {
    ...baseLayout({ l: left, r: Math.round(MARGIN.right * view.rem), t: top, b: bottom }, view.titles, palette),
    dragmode: view.zoomable ? "zoom" : false,
    xaxis: {
      ...xAxis(answer, view, palette),
      anchor: overlaid ? "y" : "y2",
      fixedrange: !view.zoomable,
    },
    yaxis: {
      ...style,
      domain: domain(place.upper),
      range: upper,
      fixedrange: true,
      ...above,
      title: title(words.upper),
    },
    shapes: [...disagreements(answer, overlaid, palette), ...lookedAt(view, overlaid, palette)],
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
  const outline = errorBand(seen.columns.x, seen.columns.numerical ?? [], seen.columns.error ?? []);
  return { data: curves(seen, outline, overlaid, palette), layout };
}

/** The room that labels before the panels take, in rem, by quarters. */
const margin = (texts) => Math.ceil(4 * Math.max(MARGIN.left, 0.7 + widest(texts))) / 4;

function disagreements(answer, overlaid, palette) {
  const opacity = answer.verdict.word === "differs" ? 0.15 : 0.055;
  const least = LEAST * (answer.stop - answer.start);
  return answer.verdict.intervals.flatMap(([from, to]) => {
    const more = Math.max(0, least - (to - from)) / 2;
    return axes(overlaid).map((y) => verticalStripe(from - more, to + more, palette.disagreement, opacity, `${y} domain`));
  });
}

/** An upright line where the steps are looked at, if they are. */
function lookedAt({ at }, overlaid, palette) {
  const line = { color: palette.ink, width: 1, dash: "1px,3px" };
  if (!Number.isFinite(at ?? NaN)) return [];
  return axes(overlaid).map((y) => ({
    type: "line",
    line,
    xref: "x",
    yref: `${y} domain`,
    x0: at,
    x1: at,
    y0: 0,
    y1: 1,
  }));
}

const axes = (overlaid) => (overlaid ? ["y"] : ["y", "y2"]);
