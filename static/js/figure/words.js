// The figure in words and as a table of values, for those who do not see it and for those who want the numbers.

import { grid, h } from "../dom.js";
import { format, nearest, typesetSentence, formatRangeEnd } from "../number.js";
import { markRows } from "./cursor.js";
import { nouns } from "./legend.js";
import { poles, withoutPoles } from "./ranges.js";
import { readingCells } from "./reading.js";
import { isKink } from "./traces.js";

const MOST = 24;
const STRUCTURES = {
  together: "Many points went through the Function in one call.",
  "one by one": "The Function was called once for each point.",
};

/** Sentences about `answer`, most important first. */
function summary(answer) {
  const { columns, marks } = withoutPoles(answer);
  const { verdict, wrt, order, grad_output } = answer;
  const said = nouns(answer);
  const of = order === 2 ? `${said.of}, what backward returns for grad_output ${format(grad_output)},` : said.of;
  const worst = verdict.worst;
  const span = answer.stop - answer.start;
  const infinite = poles(answer).map((row) => formatRangeEnd(columns.x[row], span));
  const endless = infinite.length > 0;
  if (columns.x.length === 0) return ["Nothing could be computed, so there is nothing to draw."];
  return [
    `${wrt} goes from ${formatRangeEnd(answer.start, span)} to ${formatRangeEnd(answer.stop, span)}; ` +
      `${of} ${endless ? `grows without bound at ${wrt} = ${infinite.join(", ")}` : extremes(columns.forward)}.`,
    columns.analytical &&
      !endless &&
      (order === 2
        ? `Its derivative by autograd, of double backward, ${extremes(columns.analytical)}.`
        : `With grad_output ${format(grad_output)}, backward returns a gradient that ${extremes(columns.analytical)}.`),
    columns.surrogate &&
      !endless &&
      `The ${order === 2 ? "gradient of the " : ""}surrogate ${extremes(columns.surrogate)}.`,
    worst &&
      `They differ most at ${wrt} = ${formatRangeEnd(worst.x, span)}: ` +
        `analytical ${apart(worst.analytical, worst.numerical)}, ` +
        `numerical ${apart(worst.numerical, worst.analytical)}.`,
    marks.length === 0 &&
      !endless &&
      `${order === 2 ? `${said.of} has` : "There is"} no kink and no jump in this range.`,
  ].filter(Boolean);
}

function extremes(column) {
  const values = column.filter((value) => value !== null && Number.isFinite(value));
  if (values.length === 0) return "has no finite value";
  const [low, high] = [Math.min(...values), Math.max(...values)];
  return high - low <= 1e-9 * Math.max(Math.abs(low), Math.abs(high))
    ? `is ${format(high)} everywhere`
    : `lies between ${formatRangeEnd(low, high - low)} and ${formatRangeEnd(high, high - low)}`;
}

/** `value` with the digits that tell it from `other`. */
const apart = (value, other) =>
  value === null
    ? "no number"
    : Number.isFinite(other ?? NaN)
      ? formatRangeEnd(value, Math.abs(value - other))
      : format(value);

/** A table of kinks and jumps: {head, rows}, null where there is none. */
function marksTable(answer) {
  const { marks } = withoutPoles(answer);
  if (marks.length === 0) return null;
  const jumps = marks.some(({ kind }) => kind === "jump");
  const sides = jumps ? ["left of it", "right of it"] : ["slope left", "slope right"];
  const head = [answer.wrt, "", ...sides, nouns(answer).backward];
  const rows = marks
    .slice(0, MOST)
    .map((mark) => [
      formatRangeEnd(mark.x, answer.stop - answer.start),
      mark.kind,
      ...(isKink(mark) ? [slope(mark.left, jumps), slope(mark.right, jumps)] : [format(mark.below), format(mark.above)]),
      format(mark.analytical),
    ]);
  return { head, rows, left: marks.length - rows.length };
}

const slope = (value, labelled) => (labelled ? "slope " : "") + (value === null ? "unbounded" : format(value));

/** How the numbers came about, in one paragraph. */
function method(answer) {
  const { numerical, tolerance, structure, dtype, device, columns, verdict, order } = answer;
  const { of } = nouns(answer);
  return typesetSentence(
    [
      `backward${order === 2 ? " and double backward" : ""} ran in ${dtype} on ${device.name ?? device.kind}.`,
      numerical &&
        `The numerical curve is ${numerical.dtype} on ${numerical.device}: differences ` +
          `${order === 2 ? `of ${of} ` : ""}from a first step of ${format(numerical.step, 2)}, extrapolated, ` +
          `${format(numerical.forwards_per_point, 2)} ${order === 2 ? "calls" : "forwards"} a point, ` +
          `each with its own error bound.`,
      tolerance &&
        `${order === 2 ? "Double backward" : "backward"} is accused only where it is off by more than ` +
          `${format(tolerance.atol, 2)} + ` +
          `${format(tolerance.rtol, 2)} × |numerical| + 10 × the error bound.`,
      `${verdict.judged} of ${columns.x.length} points could be judged.`,
      STRUCTURES[structure],
    ]
      .filter(Boolean)
      .join(" "),
  );
}

/** Fill the page's elements with the words for `answer`. */
export function writeWords(answer, { paragraphs, table, paragraph }) {
  paragraphs.replaceChildren(...summary(answer).map((text) => h("p", {}, text)));
  const marks = marksTable(answer);
  table.replaceChildren(...(marks ? [grid("Kinks and jumps", marks)] : []));
  if (marks?.left > 0) table.append(h("p", {}, `and ${marks.left} more, all in the JSON.`));
  paragraph.textContent = method(answer);
}

const CELLS = 20;

/** Fill the table in `box`; without a row there is no box. */
export function writeValues(box, answer) {
  const read = valueRows(answer).map((row) => readingCells(answer, row));
  box.hidden = read.length === 0;
  const [head] = read;
  const line = (cells) => h("tr", {}, ...cells);
  const heading = (scope, text) => h("th", { scope }, text);
  const rows = read.map(([x, ...others]) =>
    line([heading("row", x.text), ...others.map(({ text }) => h("td", {}, text))]),
  );
  box.querySelector("thead").replaceChildren(line((head ?? []).map(({ term }) => heading("col", term))));
  box.querySelector("tbody").replaceChildren(...rows);
}

/** The rows that are shown, from left to right. */
function valueRows(answer) {
  const { columns, start, stop } = answer;
  if (columns.x.length === 0) return [];
  const even = Array.from({ length: CELLS + 1 }, (_, i) => nearest(columns.x, start + (i / CELLS) * (stop - start)));
  return [...new Set([...even, ...markRows(answer)])].sort((a, b) => a - b);
}
