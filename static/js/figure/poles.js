// Where forward runs off to infinity. What stands beside such a row is huge and says nothing.

import { nearest } from "../nearest.js";

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
export function steep({ marks, start, stop }) {
  const places = marks.filter(({ kind }) => kind === "pole" || kind === "cusp").map(({ x }) => x);
  const apart = places.slice(1).map((x, i) => x - places[i]);
  const near = Math.min(NEAR * (stop - start), BETWEEN * Math.min(Infinity, ...apart));
  return (x) => places.some((at) => Math.abs(x - at) < near);
}

/** The columns of `answer` without what is near its poles and cusps. */
export function calm(answer) {
  const { columns } = answer;
  const out = columns.x.map(steep(answer));
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
