// The Jacobian: three heatmaps of every output by every input, a cell to read and to open, and what reaches what.

import { influence } from "./influence.js";
import { cells, label, placeOf, total } from "./cells.js";
import { maps } from "./maps.js";
import { format } from "../../number.js";
import { element } from "../../table.js";

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
  undecided: "Differences cannot tell.",
  differs: "They differ.",
  gap: "",
};

export function panel(place, { move, palette, wear }) {
  const dressed = wear("jacobian_panel.css");
  const canvas = document.createElement("canvas");
  canvas.tabIndex = 0;
  canvas.setAttribute("role", "application");
  canvas.setAttribute("aria-describedby", "jacobian-reading");
  const [bar, below, reaches] = ["choose", "below", "influence"].map((name) => {
    const box = document.createElement("div");
    box.className = name;
    return box;
  });
  const reading = Object.assign(document.createElement("p"), { id: "jacobian-reading", className: "cell" });
  reading.setAttribute("role", "status");
  const scale = document.createElement("ul");
  scale.className = "scales";
  below.append(reading, scale);
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
    bar.replaceChildren(...chosen(answer), ...ways(answer), ...apart(answer));
    const field = document.querySelector("#field-at");
    if (field) field.placeholder = format(answer.at, 6);
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
    const parts = numbers.flatMap(([name, text]) => [" ", element("span", `${name} `), element("b", text)]);
    const here = cursor ? "" : `, where ${shown.wrt} = ${format(shown.at)}`;
    const cell = element("b", `${block.rows[row]} by ${block.columns[column]}`);
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
  function chosen({ tensors, rows, across }) {
    const sides = [
      ["of", "derivative of", rows.name],
      ["wrt", "with respect to", across.name],
    ];
    return sides.map(([name, text, current]) => {
      const box = document.createElement("label");
      box.append(element("span", text), " ");
      if (tensors[name].length < 2) box.append(element("code", current));
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
  function ways({ rows, across }) {
    const sides = [
      ["of", "rows", rows],
      ["wrt", "columns", across],
    ];
    return sides
      .filter(([, , side]) => side.count < total(side))
      .map(([name, text, side]) => {
        const box = document.createElement("span");
        box.className = "way";
        const [first, last] = [side.first, side.first + side.count];
        box.append(
          button("‹", `previous ${text}`, first > 0 && (() => move({ [name]: label(side, first - 1) }))),
          element("span", `${text} ${first}–${last - 1} of ${total(side)}`),
          button("›", `next ${text}`, last < total(side) && (() => move({ [name]: label(side, last) }))),
        );
        return box;
      });
  }

  /** To the cell where they are furthest apart. */
  function apart({ worst, elsewhere, of, wrt }) {
    const cell = elsewhere?.worst ?? worst;
    if (!cell || (cell.of === of && cell.wrt === wrt)) return [];
    return [button(`Worst: ${cell.of} by ${cell.wrt}`, "", () => move({ of: cell.of, wrt: cell.wrt }))];
  }

  function legend({ columns, statuses, designed }) {
    const words = new Set(columns.status.map((code) => statuses[code]));
    const items = block.most > 0 ? [ramp("numerical and returned", block.most)] : [];
    if (block.apart > 0) items.push(ramp(designed ? "difference, meant" : "difference", block.apart));
    const right = words.has("agrees") || words.has("subgradient");
    if (right) items.push(said("blank", "within the error bound"));
    const marked = block.marked();
    if (drawing.small() && marked.size) items.push(said("dot", listed([...marked].map((kind) => MARKED[kind]))));
    else items.push(...[...marked].map((kind) => said(kind, MARKED[kind])));
    items.push(said("here", "the section above"));
    scale.replaceChildren(...items);
  }

  return { show, redraw, close() {} };
}

function button(text, name, pressed) {
  const made = Object.assign(element("button", text), { type: "button", disabled: !pressed });
  if (name) made.setAttribute("aria-label", name);
  if (pressed) made.addEventListener("click", pressed);
  return made;
}

/** A scale of colours from −most to most. */
function ramp(name, most) {
  const item = document.createElement("li");
  const bar = document.createElement("i");
  bar.className = "ramp";
  item.append(element("span", `${name}: ${format(-most, 3)}`), bar, element("span", format(most, 3)));
  return item;
}

const MARKED = { kink: "kink", jump: "jump", cross: "no number, or none that can be told" };
const listed = (texts) => (texts.length > 1 ? `${texts.slice(0, -1).join(", ")} or ${texts.at(-1)}` : texts[0]);
const SAMPLES = {
  cross: "M6 4 14 12M14 4 6 12",
  dot: "M7 8A3 3 0 1 1 13 8A3 3 0 1 1 7 8",
  blank: "M2 2H18V14H2Z",
  kink: "M10 3 15 8 10 13 5 8Z",
  jump: "M4 12H10M10 4H16",
  here: "M3 3H17V13H3Z",
};

function said(kind, text) {
  const item = document.createElement("li");
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  const path = svg.appendChild(document.createElementNS(svg.namespaceURI, "path"));
  for (const [name, value] of [["viewBox", "0 0 20 16"], ["class", `sample ${kind}`], ["aria-hidden", "true"]]) {
    svg.setAttribute(name, value);
  }
  path.setAttribute("d", SAMPLES[kind]);
  item.append(svg, element("span", text));
  return item;
}
