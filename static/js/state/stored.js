// What stands in for the server where there is none: sections that were measured beforehand, one for each position of the
// sliders. server/publish/section_pool.py writes them.

import { labelsFor } from "../figure/axes.js";
import { closestIndex } from "../number.js";

const FEWEST = 8; // points that a zoom leaves in sight
const AIR = 0.08; // around the curves of a zoom, as a part of what they span

/**
 * The sections in `stored`, without the curves that are `hidden`. Returns what answers an address as `askServer` does, with the
 * section that comes closest; `whole` is its range where a zoom, unless it stands `still`, leaves a part of it in sight.
 */
export function storedSections({ axes, pool, sections }, hidden, still) {
  const known = new Map();

  function found(said) {
    const places = axes.map((axis) => place(axis, said.get(axis.name) ?? axis.usual));
    return whole(sections[axes.reduce((row, { values }, i) => row * values.length + places[i], 0)]);
  }

  /** A value, without what stands in it for others. */
  function whole(said) {
    if (Array.isArray(said)) return said.map(whole);
    if (said === null || typeof said !== "object") return said;
    if ("$" in said) return part(said.$);
    if ("$of" in said) return whole(said.$of).map((value) => value === null ? null : value * said.times);
    if ("$steps" in said) return unpacked(said);
    if ("$rows" in said) return recordsOf(whole(said.$rows));
    return Object.fromEntries(Object.entries(said).map(([name, value]) => [name, whole(value)]));
  }

  function part(spot) {
    if (!known.has(spot)) known.set(spot, whole(pool[spot]));
    return known.get(spot);
  }

  return async (address) => {
    const said = new URLSearchParams(address.split("?")[1]);
    const section = without(found(said), hidden);
    const [start, stop] = ["start", "stop"].map((name) => Number(said.get(name) ?? section[name]));
    return { ok: true, status: 200, body: still ? section : zoomed(section, start, stop), retryAfter: 0 };
  };
}

/** The place of the value that `text` says, or comes closest to. */
function place({ kind, values, at }, text) {
  if (kind === "float" || kind === "int") return closestIndex(values.map(Number), Number(text));
  return values.includes(text) ? values.indexOf(text) : at;
}

/** Numbers in a row from their differences, taken so many times, of whole multiples of a power of ten. */
function unpacked({ $steps: steps, times, decimals, finer }) {
  const unit = 10 ** Math.abs(decimals);
  let wholes = steps;
  for (let i = 0; i < times; i += 1) {
    let sum = 0;
    wholes = wholes.map((step) => step === null ? null : (sum += step));
  }
  return wholes.map((value, row) => finer[row] ?? (value === null ? null : decimals < 0 ? value * unit : value / unit));
}

/** Records of one kind from their columns. */
function recordsOf(columns) {
  const names = Object.keys(columns);
  return columns[names[0]].map((_, row) => Object.fromEntries(names.map((name) => [name, columns[name][row]])));
}

const MEASURED = ["numerical", "error", "left", "right", "surrogate_numerical"];

/** A section without what is `hidden` of its curves, as server/figure/hidden_curves.py leaves it out. */
function without(section, hidden) {
  let { columns, scene, verdict, marks } = section;
  const names = [...(hidden.includes("numerical") ? ["numerical", "kink slopes"] : []), ...(hidden.includes("implied") ? ["implied"] : [])];
  const seen = ([name]) => !names.includes(name);
  const legend = { ...scene.legend, curves: scene.legend.curves.filter((name) => seen([name])) };
  scene = { ...scene, legend, curves: scene.curves.filter(seen), marks: scene.marks.filter(seen) };
  if (hidden.includes("shading")) {
    [scene, verdict] = [{ ...scene, stripes: [] }, { ...verdict, intervals: [] }];
    scene.legend.curves = scene.legend.curves.filter((name) => name !== "disagreement");
  }
  if (hidden.includes("numerical")) {
    const nothing = columns.x.map(() => null);
    columns = { ...columns, ...Object.fromEntries(MEASURED.filter((name) => columns[name]).map((name) => [name, nothing])) };
    marks = marks.map((mark) => ({ ...mark, left: null, right: null }));
  }
  return { ...section, columns, scene, verdict, marks };
}

/** The rows of a section from `start` to `stop`, as a section of its own: a zoom among the points that there are. */
function zoomed(section, start, stop) {
  const { x } = section.columns;
  let [from, to] = [x.findIndex((each) => each >= start), x.findLastIndex((each) => each <= stop)];
  if (from < 0 || to < 0 || (from === 0 && to === x.length - 1)) return { ...section, whole: [section.start, section.stop] };
  const short = Math.max(0, FEWEST - (to - from + 1));
  from = Math.max(0, Math.min(from - (short >> 1), x.length - FEWEST));
  to = Math.min(x.length - 1, Math.max(to, from + FEWEST - 1));
  const within = (row) => row >= from && row <= to;
  const rows = (some) => some.filter(within).map((row) => row - from);
  const near = (at) => at >= x[from] && at <= x[to];
  const columns = Object.fromEntries(Object.entries(section.columns).map(([name, column]) => [name, column && column.slice(from, to + 1)]));
  const { readings } = section;
  const gaps = Object.entries(readings.gaps).map(([name, said]) => [name, said.map(([text, some]) => [text, rows(some)])]);
  const told = Object.entries(readings.rows).filter(([row]) => within(Number(row)));
  return {
    ...section,
    address: `${section.address}${section.address.includes("?") ? "&" : "?"}start=${x[from]}&stop=${x[to]}`,
    ...{ start: x[from], stop: x[to], count: to - from + 1, columns, whole: [section.start, section.stop] },
    marks: section.marks.filter((mark) => near(mark.x)),
    readings: { ...readings, gaps: Object.fromEntries(gaps), rows: Object.fromEntries(told.map(([row, text]) => [row - from, text])) },
    scene: sceneOf(section.scene, columns, [x[from], x[to]], rows, near),
  };
}

/** The scene between two `ends`: its labels, and axes for what is seen there. */
function sceneOf(scene, columns, ends, rows, near) {
  const curves = scene.curves.map(([name, column, lower, cut]) => [name, column, lower, rows(cut)]);
  const marks = scene.marks.map(([name, lower, xs, ys]) => {
    const kept = xs.map((_, i) => i).filter((i) => xs[i] === null || near(xs[i]));
    return [name, lower, kept.map((i) => xs[i]), kept.map((i) => ys[i])];
  });
  const seen = (lower) =>
    curves.filter((curve) => lower === undefined || curve[2] === lower).flatMap(([, column, , cut]) => (columns[column] ?? []).filter((_, row) => !cut.includes(row)));
  const { stacked, overlaid } = scene.axes;
  const axes = {
    stacked: { ...stacked, upper: closer(stacked.upper, seen(false), 4), lower: stacked.lower && closer(stacked.lower, seen(true), 4) },
    overlaid: { ...overlaid, upper: closer(overlaid.upper, seen(), 7) },
  };
  return { ...scene, curves, marks, axes, gaps: rows(scene.gaps), few: labelsFor(ends, 4), many: labelsFor(ends, 7) };
}

/** The axis around these values, unless they stand still there. */
function closer(axis, values, count) {
  const [floor, ceiling] = axis.range;
  const inside = values.filter((value) => value !== null && value >= floor && value <= ceiling);
  const [low, high] = [Math.min(...inside), Math.max(...inside)];
  if (!(high - low > 1e-6 * (ceiling - floor))) return axis;
  const range = [low - AIR * (high - low), high + AIR * (high - low)];
  return { range, least: [low, high], ticks: labelsFor(range, count) };
}
