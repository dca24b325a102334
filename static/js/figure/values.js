// The figure as a table: evenly spaced rows, as many as one reads, and every mark.

import { marked } from "./keys.js";
import { nearest } from "../nearest.js";
import { reading } from "./reading.js";
import { element } from "../table.js";

const CELLS = 20;

/** Fill the table in `box`; without a row there is no box. */
export function tabulate(box, answer) {
  const read = chosen(answer).map((row) => reading(answer, row));
  box.hidden = read.length === 0;
  const [head] = read;
  const line = (cells) => {
    const row = document.createElement("tr");
    row.append(...cells);
    return row;
  };
  const heading = (scope, text) => Object.assign(element("th", text), { scope });
  const rows = read.map(([x, ...others]) =>
    line([heading("row", x.text), ...others.map(({ text }) => element("td", text))]),
  );
  box.querySelector("thead").replaceChildren(line((head ?? []).map(({ term }) => heading("col", term))));
  box.querySelector("tbody").replaceChildren(...rows);
}

/** The rows that are shown, from left to right. */
export function chosen(answer) {
  const { columns, start, stop } = answer;
  if (columns.x.length === 0) return [];
  const even = Array.from({ length: CELLS + 1 }, (_, i) => nearest(columns.x, start + (i / CELLS) * (stop - start)));
  return [...new Set([...even, ...marked(answer)])].sort((a, b) => a - b);
}
