// Two texts, line by line.

import { h } from "../dom.js";

const AROUND = 2; // lines that are shown before and after a change

/** The lines of both texts in order: [sign, line], the sign "-" for one of the old text alone, "+" of the new, " " of both. */
function diffLines(old, now) {
  const [before, after] = [old, now].map((text) => text.replace(/\n$/, "").split("\n"));
  // common[i][j] is how many lines the ends from i and from j have in common.
  const common = Array.from({ length: before.length + 1 }, () => new Uint16Array(after.length + 1));
  for (let i = before.length - 1; i >= 0; i -= 1) {
    for (let j = after.length - 1; j >= 0; j -= 1) {
      const same = before[i] === after[j];
      common[i][j] = same ? common[i + 1][j + 1] + 1 : Math.max(common[i + 1][j], common[i][j + 1]);
    }
  }
  const lines = [];
  let [i, j] = [0, 0];
  while (i < before.length || j < after.length) {
    if (i < before.length && j < after.length && before[i] === after[j]) {
      lines.push([" ", before[i]]);
      [i, j] = [i + 1, j + 1];
    } else if (j === after.length || (i < before.length && common[i + 1][j] >= common[i][j + 1])) lines.push(["-", before[i++]]);
    else lines.push(["+", after[j++]]);
  }
  return lines;
}

/** The changes as elements, with the lines around them. */
export function diffElements(old, now) {
  const lines = diffLines(old, now);
  const near = (at) => lines.slice(Math.max(0, at - AROUND), at + AROUND + 1).some(([sign]) => sign !== " ");
  const tags = { "-": "del", "+": "ins", " ": "span" };
  const shown = [];
  for (const [at, [sign, line]] of lines.entries()) {
    if (near(at)) shown.push(h(tags[sign], {}, `${sign} ${line}\n`));
    else if (shown.at(-1)?.className !== "gap") shown.push(h("span", { class: "gap" }, "…\n"));
  }
  return shown;
}
