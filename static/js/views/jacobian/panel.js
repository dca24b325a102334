// The view "jacobian": heatmaps of every output by every input, a cell to read and to open, and what reaches what.

import { h, ramp, svg } from "../../dom.js";
import { format } from "../../number.js";
import { influence } from "./influence.js";
import { cells, label, maps, placeOf, total } from "./maps.js";

const KEYS = {
  ArrowUp: ([row, column]) => [row - 1, column],
  ArrowDown: ([row, column]) => [row + 1, column],
  ArrowLeft: ([row, column]) => [row, column - 1],
  ArrowRight: ([row, column]) => [row, column + 1],
  Home: ([row]) => [row, 0],
  End: ([row]) => [row, Infinity],
};
const SAID = {
  agrees: "They agree.",
  subgradient: "A kink: any slope between its sides is right.",
  jump: "Forward jumps here.",
  edge: "Forward can be followed on one side only.",
  undecided: "The differences are too uncertain to tell.",
  differs: "They differ.",
  gap: "",
};

export function panel(place, { move, palette, loadSheet }) {
  const dressed = loadSheet("jacobian");
  const canvas = h("canvas", { tabindex: 0, role: "application", "aria-describedby": "jacobian-reading" });
  const reading = h("p", { id: "jacobian-reading", class: "cell", role: "status" });
  const scale = h("ul", { class: "scales" });
  const [bar, reaches] = [h("div", { class: "choose" }), h("div", { class: "influence" })];
  const below = h("div", { class: "below" }, reading, scale);
  const drawing = maps(canvas);
  const picture = influence(reaches);
  let shown = null;
  let block = null;
  let cursor = null;

  async function show(answer) {
    await dressed;
    [shown, cursor] = [answer, null];
    const there = answer.rows !== null;
    for (const each of [bar, canvas, below]) each.hidden = !there;
    if (place.firstChild !== bar) place.replaceChildren(bar, canvas, below, reaches);
    picture.show(answer.influence);
    if (!there) return;
    block = cells(answer);
    const { rows, across } = answer;
    const told = `Heatmaps of ${rows.name} by ${across.name}: numerical, returned and difference.`;
    canvas.setAttribute("aria-label", `${told} Arrow keys go from cell to cell, Enter opens one.`);
    bar.replaceChildren(...tensorChoice(answer), ...blockSteps(answer), ...worstButton(answer));
    redraw();
    read();
  }

  const now = () => {
    const { rows, across, of, wrt } = shown;
    return [placeOf(rows, of) - rows.first, placeOf(across, wrt) - across.first];
  };

  function redraw() {
    const width = place.clientWidth;
    if (!block || !shown.rows || !width) return;
    const rem = parseFloat(getComputedStyle(document.documentElement).fontSize);
    drawing.draw(block, { width, rem, palette: palette(), now: now(), cursor });
    legend(shown);
  }

  /** What a cell says: that under the cursor, else that of the section above. */
  function read() {
    const [row, column] = cursor ?? now();
    const { numerical, returned, difference, error, left, after, status } = block.at(row, column);
    const sides = left === null ? format(null) : `${format(left)} left, ${format(after)} right`;
    const slope = numerical === null ? sides : `${format(numerical)} ± ${format(error, 2)}`;
    const numbers = [
      ["numerical", slope],
      ["returned", returned === null && block.returned ? "no number" : format(returned)],
      ["difference", format(difference, 2)],
    ];
    const parts = numbers.flatMap(([name, text]) => [" ", h("span", {}, `${name} `), h("b", {}, text)]);
    const here = cursor ? "" : `, where ${shown.wrt} = ${format(shown.at)}`;
    const cell = h("b", {}, `${block.rows[row]} by ${block.columns[column]}`);
    reading.replaceChildren(cell, `${here}:`, ...parts, `. ${SAID[status]}`);
  }

  function point(cell) {
    if (String(cell) === String(cursor)) return;
    cursor = cell;
    redraw();
    read();
  }

  const open = ([row, column]) => move({ of: block.rows[row], wrt: block.columns[column] });
  const under = ({ offsetX, offsetY }) => block && drawing.cell(offsetX, offsetY);

  canvas.addEventListener("pointermove", (event) => {
    const cell = under(event);
    canvas.classList.toggle("pointing", cell !== null);
    if (cell || event.pointerType === "mouse") point(cell);
  });
  canvas.addEventListener("pointerleave", () => document.activeElement !== canvas && point(null));
  canvas.addEventListener("blur", () => point(null));
  canvas.addEventListener("click", (event) => {
    const cell = under(event);
    if (cell) open(cell);
  });
  canvas.addEventListener("keydown", (event) => {
    const { key } = event;
    if ((key === "Enter" || key === " ") && cursor) open(cursor);
    else if (KEYS[key] && !event.altKey && !event.ctrlKey && !event.metaKey) {
      const [row, column] = KEYS[key](cursor ?? now());
      const within = (at, count) => Math.max(0, Math.min(count - 1, at));
      point([within(row, block.rows.length), within(column, block.columns.length)]);
    } else return;
    event.preventDefault();
  });

  /** The pair of tensors. */
  function tensorChoice({ tensors, rows, across }) {
    const sides = [
      ["of", "derivative of", rows.name],
      ["wrt", "with respect to", across.name],
    ];
    return sides.map(([name, text, current]) => {
      const box = h("label", {}, h("span", {}, text), " ");
      if (tensors[name].length < 2) box.append(h("code", {}, current));
      else {
        const select = document.createElement("select");
        for (const each of tensors[name]) select.add(new Option(each.name, each.first, false, each.name === current));
        select.addEventListener("change", () => move({ [name]: select.value }));
        box.append(select);
      }
      return box;
    });
  }

  /** From block to block of what is larger than one. */
  function blockSteps({ rows, across }) {
    const sides = [
      ["of", "rows", rows],
      ["wrt", "columns", across],
    ];
    return sides
      .filter(([, , side]) => side.count < total(side))
      .map(([name, text, side]) => {
        const [first, last] = [side.first, side.first + side.count];
        return h(
          "span",
          { class: "way" },
          button("‹", `previous ${text}`, first > 0 && (() => move({ [name]: label(side, first - 1) }))),
          h("span", {}, `${text} ${first}–${last - 1} of ${total(side)}`),
          button("›", `next ${text}`, last < total(side) && (() => move({ [name]: label(side, last) }))),
        );
      });
  }

  /** To the cell where they are furthest apart. */
  function worstButton({ worst, elsewhere, of, wrt }) {
    const cell = elsewhere?.worst ?? worst;
    if (!cell || (cell.of === of && cell.wrt === wrt)) return [];
    return [button(`Worst: ${cell.of} by ${cell.wrt}`, "", () => move({ of: cell.of, wrt: cell.wrt }))];
  }

  function legend({ columns, statuses, designed }) {
    const words = new Set(columns.status.map((code) => statuses[code]));
    const items = block.most > 0 ? [scaleItem("numerical and returned", block.most)] : [];
    if (block.apart > 0) items.push(scaleItem(designed ? "difference, intended" : "difference", block.apart));
    const right = words.has("agrees") || words.has("subgradient");
    if (right) items.push(legendItem("blank", "within the error bound"));
    const marked = block.marked();
    if (drawing.small() && marked.size) items.push(legendItem("dot", listed([...marked].map((kind) => MARKED[kind]))));
    else items.push(...[...marked].map((kind) => legendItem(kind, MARKED[kind])));
    items.push(legendItem("here", "the section above"));
    scale.replaceChildren(...items);
  }

  return { show, redraw, close() {} };
}

function button(text, name, pressed) {
  const made = h("button", { type: "button", disabled: !pressed, "aria-label": name || null }, text);
  if (pressed) made.addEventListener("click", pressed);
  return made;
}

/** A scale of colours from −most to most. */
const scaleItem = (name, most) => h("li", {}, `${name}: ${format(-most, 3)}`, ramp(), format(most, 3));

const MARKED = { kink: "kink", jump: "jump", cross: "no number, or undecided" };
const listed = (texts) => (texts.length > 1 ? `${texts.slice(0, -1).join(", ")} or ${texts.at(-1)}` : texts[0]);
const SAMPLES = {
  cross: "M6 4 14 12M14 4 6 12",
  dot: "M7 8A3 3 0 1 1 13 8A3 3 0 1 1 7 8",
  blank: "M2 2H18V14H2Z",
  kink: "M10 3 15 8 10 13 5 8Z",
  jump: "M4 12H10M10 4H16",
  here: "M3 3H17V13H3Z",
};

function legendItem(kind, text) {
  const shape = { viewBox: "0 0 20 16", class: `sample ${kind}`, "aria-hidden": "true" };
  return h("li", {}, svg("svg", shape, svg("path", { d: SAMPLES[kind] })), h("span", {}, text));
}
