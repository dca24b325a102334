// A section in, a Plotly figure out: the two panels. What is drawn is the scene that the server computed, in the place
// and the colours of the page. Pure: no DOM, no memory.

import { axisStyle, axisTitle, baseLayout, labelsOf, verticalStripe, ticks, widest, xAxis } from "./axes.js";
import { traces } from "./traces.js";

const SEEN_OPACITY = 0.16; // as in server/figure/palette.py
const LABELS = { stacked: 4, overlaid: 7 }; // about so many beside a panel whose axis is held, however high it is
const SPARE = 0.08; // of the air that server/figure/axes.py leaves around the curves
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
 * {data, layout, ranges} for `Plotly.react`; `ranges` are those of the y-axes, {upper, lower}, equal when overlaid.
 * `view`: {layout: "stacked" | "overlaid", width, height, rem, gap (pixels), held, zoomable, at, open, hidden, pale}; the ranges `held` stay
 * as they are while the curves fit in, so that these move and not the axis; where an answer is `pale`, those are its own.
 */
export function figure(answer, view, palette) {
  const { scene } = answer;
  const axes = scene.axes[view.layout];
  const own = view.pale?.scene.axes[view.layout];
  const held = (name) => view.held?.[name] ?? own?.[name]?.range;
  const [upper, lower] = ["upper", "lower"].map((name) => axes[name] && shownAxis(axes[name], held(name), view));
  const place = panelPlaces(view);
  const [top, bottom] = [MARGIN.top, MARGIN.bottom].map((length) => Math.round(length * view.rem));
  const inner = view.height - top - bottom;
  const domain = ([from, to]) =>
    [1 - (to - top) / inner, 1 - (from - top) / inner].map((v) => Math.min(1, Math.max(0, v)));
  const yAxis = ({ range, labels }, spot) => ({
    ...axisStyle(palette),
    domain: domain(spot),
    range,
    fixedrange: true,
    ...labels,
  });
  const labels = [upper, lower].flatMap((axis) => axis?.labels.ticktext ?? []);
  const left = Math.round((Math.ceil(4 * Math.max(MARGIN.left, 0.7 + widest(labels))) / 4) * view.rem);
  const layout = {
    ...baseLayout(view, { l: left, r: Math.round(MARGIN.right * view.rem), t: top, b: bottom }, palette),
    dragmode: view.zoomable ? "zoom" : false,
    xaxis: { ...xAxis(answer, scene, view, palette), anchor: lower ? "y2" : "y", fixedrange: !view.zoomable },
    yaxis: yAxis(upper, place.upper),
    shapes: [...(view.hidden.has("disagreement") ? [] : disagreements(scene, lower, palette)), ...seen(scene, palette), ...(view.hidden.has("unproved") ? [] : leftOpen(view, answer, lower, palette)), ...lookedAt(view, lower, palette)],
  };
  if (lower) layout.yaxis2 = yAxis(lower, place.lower);
  const ranges = { upper: upper.range, lower: (lower ?? upper).range };
  return { data: traces(answer, Boolean(lower), view.hidden, palette, view.pale, ranges), layout, ranges };
}

/** The axis of the scene, or the one that is `held`, with labels. */
function shownAxis({ range, least, ticks: marked }, held, { layout }) {
  const seen = !held ? range : fits(least, held) ? held : widened(held, range);
  const same = seen[0] === range[0] && seen[1] === range[1];
  return { range: seen, labels: same ? labelsOf(marked) : ticks(seen, LABELS[layout]) };
}

/** Are curves for which an axis from `low` to `high` is wanted in sight on one that is `held`? They may come near its ends. */
const fits = ([low, high], held) => held[0] - low <= SPARE * (high - low) && high - held[1] <= SPARE * (high - low);

/** `held`, widened by more than it lacks of `low` to `high`, so that what comes next fits in as well. */
function widened(held, [low, high]) {
  const [below, above] = [Math.max(0, held[0] - low), Math.max(0, high - held[1])];
  const more = 1 + (high - low) / (2 * (below + above));
  return [held[0] - below * more, held[1] + above * more];
}

const disagreements = ({ stripes, opacity }, lower, palette) =>
  stripes.flatMap(([from, to]) =>
    domains(lower).map((yref) => verticalStripe(from, to, palette.disagreement, opacity, yref)),
  );

/** Bars of the numbers that a step has seen, from the bottom of the upper panel. */
const seen = ({ seen: bars }, palette) =>
  bars.map(([from, to, height]) => ({ ...verticalStripe(from, to, palette.ink, SEEN_OPACITY), y1: height }));

const LEAST = 0.006; // of the range: no stripe is narrower

/** Quiet stripes where nothing is proved, if that was looked for. */
const leftOpen = ({ open = [] }, { start, stop }, lower, palette) =>
  open.flatMap(([from, to]) => {
    const more = Math.max(0, LEAST * (stop - start) - (to - from)) / 2;
    const line = { color: palette.muted, width: 1, dash: "1px,3px" };
    const stripe = (yref) => ({ ...verticalStripe(from - more, to + more, palette.muted, 0.1, yref), line });
    return domains(lower).map(stripe);
  });

/** An upright line where the steps are looked at, if they are. */
function lookedAt({ at }, lower, palette) {
  const line = { color: palette.ink, width: 1, dash: "1px,3px" };
  if (!Number.isFinite(at ?? NaN)) return [];
  return domains(lower).map((yref) => ({ type: "line", line, xref: "x", yref, x0: at, x1: at, y0: 0, y1: 1 }));
}

const domains = (lower) => (lower ? ["y domain", "y2 domain"] : ["y domain"]);
