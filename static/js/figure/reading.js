// The numbers at the cursor: as cells under the figure, and as a sentence for a screen reader.

import { h } from "../dom.js";
import { fixed, format } from "../number.js";
import { nouns } from "./legend.js";
import { poles } from "./ranges.js";

const GAPS = {
  nan: "not a number",
  "+inf": "+∞",
  "-inf": "−∞",
  jump: "jumps",
  kink: "two slopes",
  cusp: "two slopes",
  undecided: "uncertain",
};

/**
 * Shows a row of `answer` in `element`, if there is one; the hint comes back with row null. Returns the words for it from
 * cell `first`.
 */
export function readout(element, answer) {
  const hint = element?.querySelector(".keys");
  const list = element?.querySelector("dl");
  function show(cells) {
    hint.hidden = cells !== null;
    list.hidden = cells === null;
    list.replaceChildren(...(cells ?? []).map(({ name, term, text }) => cell(name, term, text)));
  }
  return (row, first = 0) => {
    const cells = row === null ? null : readingCells(answer(), row);
    if (element) show(cells);
    if (cells === null) return "";
    const words = cells.map(({ term, text }) => `${term} ${text}`);
    const at = first % words.length;
    return [...words.slice(at), ...words.slice(0, at)].join(", ");
  };
}

function cell(name, term, text) {
  return h("div", { "data-name": name }, h("dt", {}, term), h("dd", {}, text));
}

/** The cells of row `row`: [{name, term, text}]. */
export function readingCells(answer, row) {
  const { x, analytical, numerical } = answer.columns;
  const step = (answer.stop - answer.start) / (answer.count - 1);
  return [
    { name: "x", term: answer.wrt, text: fixed(x[row], step) },
    { name: "forward", term: nouns(answer).of, text: value(answer, "forward", row) },
    analytical && { name: "analytical", term: "analytical", text: value(answer, "analytical", row) },
    numerical && { name: "numerical", term: "numerical", text: measured(answer, row) },
    analytical && { name: "status", term: "they", text: status(answer, row) },
  ].filter(Boolean);
}

function value(answer, column, row) {
  const number = answer.columns[column][row];
  if (number !== null) return format(number);
  if (column === "forward" && poles(answer).includes(row)) return "unbounded";
  const reason = Object.entries(answer.gaps?.[column] ?? {}).find(([, rows]) => rows.includes(row));
  return reason ? GAPS[reason[0]] : "–";
}

/** The numerical gradient with its bound; on a kink the slopes of the two sides. */
function measured(answer, row) {
  const { numerical, error, left, right } = answer.columns;
  const text = value(answer, "numerical", row);
  if (text === GAPS.kink) return `${side(left[row])} left, ${side(right[row])} right`;
  return numerical[row] !== null && error[row] ? `${text} ± ${format(error[row], 2)}` : text;
}

/** A one-sided slope. */
const side = (slope) => (Number.isFinite(slope ?? NaN) ? format(slope) : "unbounded");

function status(answer, row) {
  const { left, right, status: codes } = answer.columns;
  const sides = [left?.[row], right?.[row]];
  const between = sides.every((side) => Number.isFinite(side ?? NaN))
    ? `from ${format(Math.min(...sides))} to ${format(Math.max(...sides))}`
    : "between the two sides";
  const words = {
    agrees: "agree",
    subgradient: `agree: at a kink any slope ${between} is right`,
    jump: `cannot be compared: ${nouns(answer).forward} ${poles(answer).includes(row) ? "grows without bound" : "jumps"}`,
    edge: "cannot be compared: an edge of the domain",
    undecided: "cannot be told apart within the error",
    differs: answer.verdict.word === "matches its surrogate" ? "differ, by design" : "differ",
    gap: "cannot be compared: a value is missing",
  };
  return words[answer.statuses[codes[row]]];
}
