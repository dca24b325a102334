// The numbers at the cursor: as cells under the figure, and as a sentence for a screen reader.

import { h } from "../dom.js";
import { fixed, format, nearest } from "../number.js";

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
    list.replaceChildren(...(cells ?? []).map(({ name, term, spoken = term, text }) => cell(name, spoken, text)));
  }
  return (row, first = 0) => {
    const cells = row === null ? null : readingCells(answer(), row);
    if (element) show(cells);
    if (cells === null) return "";
    const words = cells.map(({ term, spoken = term, text }) => `${spoken} ${text}`);
    const at = first % words.length;
    return [...words.slice(at), ...words.slice(0, at)].join(", ");
  };
}

function cell(name, term, text) {
  return h("div", { "data-name": name }, h("dt", {}, term), h("dd", {}, text));
}

const LEAST = 2 ** -1022; // of normal numbers: a bound below it is none
const CELLS = 20; // of a table of values, between evenly spaced points

/** The rows of `table`, an element: what is read of `answer` at evenly spaced points and at each mark. */
export function writeValues(table, answer) {
  const { columns, marks, start, stop } = answer;
  const even = Array.from({ length: CELLS + 1 }, (_, cell) => start + (cell / CELLS) * (stop - start));
  const places = [...even, ...marks.map(({ x }) => x)].map((x) => nearest(columns.x, x)).sort((a, b) => a - b);
  const rows = [...new Set(columns.x.length > 0 ? places : [])].map((row) => readingCells(answer, row));
  const heads = (rows[0] ?? []).map(({ term }) => h("th", { scope: "col" }, term));
  const lines = rows.map(([first, ...others]) => h("tr", {}, h("th", { scope: "row" }, first.text), ...others.map(({ text }) => h("td", {}, text))));
  table.replaceChildren(h("table", {}, h("thead", {}, h("tr", {}, ...heads)), h("tbody", {}, ...lines)));
}

const FINER = 1e-3; // of a step: how far beside a mark digits still tell

/** x of a row, told from that of a mark beside it. */
function placeText(x, row, marks, step) {
  const text = fixed(x[row], step);
  const mark = marks.map((each) => nearest(x, each.x)).find((other) => other !== row && fixed(x[other], step) === text);
  if (mark === undefined) return text;
  const finer = fixed(x[row], FINER * step);
  return finer === fixed(x[mark], FINER * step) ? `${row < mark ? "<" : ">"} ${text}` : finer;
}

/** The cells of row `row`: [{name, term, text}]. */
function readingCells({ columns, readings, scene, wrt, marks, start, stop, count }, row) {
  const { x, analytical, numerical, error, status } = columns;
  const value = (name) => {
    const number = columns[name][row];
    return number === null ? (readings.gaps[name]?.find(([, rows]) => rows.includes(row))?.[0] ?? "–") : format(number);
  };
  const bound = numerical && numerical[row] !== null && error[row] >= LEAST ? ` ± ${format(error[row], 2)}` : "";
  return [
    { name: "x", term: wrt, text: placeText(x, row, marks, (stop - start) / (count - 1)) },
    { name: "forward", term: scene.nouns.of, text: value("forward") },
    analytical && { name: "analytical", term: "analytical", text: value("analytical") },
    numerical && { name: "numerical", term: "numerical", text: value("numerical") + bound },
    analytical && { name: "status", term: "agreement", spoken: "they", text: readings.rows[row] ?? readings.they[status[row]] },
  ].filter(Boolean);
}
