// What the two y-axes show: every finite value but what runs off to a pole, air around, no zoom into rounding noise.

import { nearest } from "../number.js";
import { nouns } from "./legend.js";
import { impliedForward, isKink } from "./traces.js";

const AIR = 0.11;
const BEYOND = 0.5;
const NOISE = 1e-9;
const [LEAST, MOST] = [1e-290, 1e304]; // plotly takes no longer range than 1.8e304

function extent(columns) {
  let low = Infinity;
  let high = -Infinity;
  for (const value of columns.flatMap((column) => column ?? [])) {
    if (value === null || !Number.isFinite(value)) continue;
    low = Math.min(low, value);
    high = Math.max(high, value);
  }
  return low <= high ? [low, high] : null;
}

/**
 * The range for `columns`. `zero` keeps 0 in sight; `natural` is the size below a billionth of which values count
 * as 0; `held` is a range that must stay visible, so that an axis does not breathe while a slider is dragged. Of what
 * the columns hold beyond those that are `calm`, no more is shown than half as much again.
 */
export function range(columns, { zero = false, natural = 1, held = null, calm = columns } = {}) {
  const unit = Math.min(Math.max(natural, LEAST), MOST);
  const all = extent(columns) ?? [-unit, unit];
  let [low, high] = within(all, extent(calm), zero).map((end) => Math.max(-MOST, Math.min(MOST, end)));
  if (Math.max(Math.abs(low), Math.abs(high)) <= NOISE * unit) [low, high] = [-unit, unit];
  if (zero) [low, high] = [Math.min(low, 0), Math.max(high, 0)];
  const size = Math.max(Math.abs(low), Math.abs(high));
  if (high - low <= NOISE * size) [low, high] = [low - size / 2, high + size / 2];
  const air = (high - low) * AIR;
  [low, high] = [low - air, high + air];
  return held ? [Math.min(low, held[0]), Math.max(high, held[1])] : [low, high];
}

/** `all`, but not far out of `calm`; 0 belongs to what is calm if the axis shows it. */
function within(all, calm, zero) {
  if (calm === null) return all;
  const [low, high] = zero ? [Math.min(calm[0], 0), Math.max(calm[1], 0)] : calm;
  const more = BEYOND * (high - low);
  const seen = [Math.max(all[0], low - more), Math.min(all[1], high + more)];
  return seen[0] <= seen[1] ? seen : all;
}

// Near a pole or a cusp: this share of the range, and of the way to the next one.
const [NEAR, BETWEEN] = [0.03, 0.2];

/** The rows at which forward has a pole. */
export function poles({ columns, marks }) {
  return marks.filter(({ kind }) => kind === "pole").map(({ x }) => nearest(columns.x, x));
}

/**
 * Tells of an x whether it is near a pole or a cusp, where values or slopes run off to infinity: how far they get is
 * an accident of the points, and a scale that goes there shows nothing of the rest.
 */
export function nearPole({ marks, start, stop }) {
  const places = marks.filter(({ kind }) => kind === "pole" || kind === "cusp").map(({ x }) => x);
  const apart = places.slice(1).map((x, i) => x - places[i]);
  const near = Math.min(NEAR * (stop - start), BETWEEN * Math.min(Infinity, ...apart));
  return (x) => places.some((at) => Math.abs(x - at) < near);
}

/** The columns of `answer` without what is near its poles and cusps. */
function withoutSteepParts(answer) {
  const { columns } = answer;
  const out = columns.x.map(nearPole(answer));
  if (!out.includes(true)) return columns;
  const cut = (column) => column && column.map((value, row) => (out[row] ? null : value));
  return Object.fromEntries(Object.entries(columns).map(([name, column]) => [name, cut(column)]));
}

/** `answer` without its poles: no mark there, and no value right beside them. */
export function withoutPoles(answer) {
  const rows = poles(answer);
  if (rows.length === 0) return answer;
  const beside = new Set(rows.flatMap((row) => [row - 1, row, row + 1]));
  const { x, status } = answer.columns;
  const cut = (column) => column && column.map((value, row) => (beside.has(row) ? null : value));
  const columns = Object.entries(answer.columns).map(([name, column]) => [name, cut(column)]);
  return {
    ...answer,
    columns: { ...Object.fromEntries(columns), x, status },
    marks: answer.marks.filter(({ kind }) => kind !== "pole"),
  };
}

/** The y-ranges of `answer`: {upper, lower}, equal when overlaid. `held` ranges stay in sight. */
export function ranges(whole, { layout, held }) {
  const answer = withoutPoles(whole);
  const bends = answer.marks.filter(isKink).flatMap(({ left, right }) => [left, right]);
  const columns = withoutSteepParts(whole);
  const seen = sides(answer.columns, answer.statuses, bends);
  const quiet = sides(columns, answer.statuses, bends);
  const [bottom, ceiling] = range(seen.values, { calm: quiet.values });
  const rise = ceiling - bottom;
  const inSight = (y) => (y > ceiling + rise || y < bottom - rise ? null : y);
  const values = [...seen.values, impliedForward(answer)?.map(inSight)];
  const still = [...quiet.values, impliedForward({ ...answer, columns })?.map(inSight)];
  const natural = (Math.abs(nouns(answer).scale) || 1) * (rise / (answer.stop - answer.start));
  if (layout === "overlaid") {
    const all = [...values, ...seen.slopes];
    const both = range(all, { zero: true, held: held?.upper, calm: [...still, ...quiet.slopes] });
    return { upper: both, lower: both };
  }
  return {
    upper: range(values, { held: held?.upper, calm: still }),
    lower: range(seen.slopes, { zero: true, natural, held: held?.lower, calm: quiet.slopes }),
  };
}

/** What the two panels show: {values, slopes}; numerical slopes that are too uncertain do not count. */
function sides({ forward, surrogate, analytical, numerical, surrogate_numerical, status }, statuses, bends) {
  const judged = numerical?.map((value, i) => (statuses[status[i]] === "undecided" ? null : value));
  return { values: [forward, surrogate], slopes: [analytical, judged, surrogate_numerical, bends] };
}
