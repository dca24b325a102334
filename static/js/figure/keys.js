// Where the keys lead the cursor: along the rows, from mark to mark, from difference to difference.

import { nearest } from "../nearest.js";

const STEPS = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageDown: -10, PageUp: 10 };

/** The row that a key leads to from `row`, undefined for keys that mean nothing here. */
export function target(answer, row, { key, shiftKey }) {
  const last = answer.columns.x.length - 1;
  const step = STEPS[key];
  if (step) return Math.max(0, Math.min(last, row + step * (shiftKey ? 10 : 1)));
  if (key === "Home") return 0;
  if (key === "End") return last;
  if (key === "m" || key === "M") return onward(marked(answer), row, shiftKey);
  if (key === "e" || key === "E") return next(differences(answer), row, shiftKey);
  return undefined;
}

/** The rows of the marks, from left to right. */
export const marked = ({ columns, marks }) => marks.map(({ x }) => nearest(columns.x, x)).sort((a, b) => a - b);

/** In each interval where the two differ the row where they do so most, the largest difference first. */
export function differences({ columns: { x, analytical, numerical }, verdict }) {
  const apart = (row) => Math.abs((analytical?.[row] ?? NaN) - (numerical?.[row] ?? NaN));
  const worst = verdict.intervals.map(([from, to]) => {
    const rows = x.map((_, row) => row).filter((row) => x[row] >= from && x[row] <= to && apart(row) >= 0);
    return rows.length > 0 ? rows.reduce((most, row) => (apart(row) > apart(most) ? row : most)) : nearest(x, from);
  });
  const size = (row) => (apart(row) >= 0 ? apart(row) : Infinity); // where one of them is missing nothing can be closer
  return [...new Set(worst)].sort((a, b) => size(b) - size(a) || a - b);
}

/** Of increasing `rows` the one after `row`, or before it; from the last on to the first. */
const onward = (rows, row, back) =>
  back ? (rows.findLast((each) => each < row) ?? rows.at(-1)) : (rows.find((each) => each > row) ?? rows[0]);

/** Of `rows` in any order the one that follows `row`; from anywhere else to the first. */
function next(rows, row, back) {
  const at = rows.indexOf(row);
  return at < 0 ? rows[0] : rows[(at + (back ? rows.length - 1 : 1)) % rows.length];
}
