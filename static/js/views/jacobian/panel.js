// The view "jacobian": maps of every output by every input, as the server draws them, a cell to read and to open, and what
// reaches what.

import { contentOf, h, svg } from "../../dom.js";
import { format } from "../../number.js";
import { cells, label, placeOf, total } from "./cells.js";
import { influence } from "./influence.js";

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

export function panel(place, { move, loadSheet }) {
  const dressed = loadSheet("jacobian");
  const picture = h("div", { class: "pictures", tabindex: 0, role: "application", "aria-describedby": "jacobian-reading" });
  const reading = h("p", { id: "jacobian-reading", role: "status" });
  const [bar, reaches] = [h("div", { class: "choose" }), h("div", { class: "influence" })];
  const reached = influence(reaches);
  let shown = null;
  let block = null;
  let cursor = null;

  async function show({ numbers: answer, html }) {
    await dressed;
    [shown, cursor] = [answer, null];
    const there = answer.rows !== null;
    for (const each of [bar, picture, reading]) each.hidden = !there;
    if (place.firstChild !== bar) place.replaceChildren(bar, picture, reading, reaches);
    picture.replaceChildren(contentOf(html));
    reached.show(answer.influence);
    if (!there) return;
    block = cells(answer);
    const { rows, across } = answer;
    const told = `Heatmaps of ${rows.name} by ${across.name}: numerical, returned and difference.`;
    picture.setAttribute("aria-label", `${told} Arrow keys go from cell to cell, Enter opens one.`);
    bar.replaceChildren(...tensorChoice(answer), ...blockSteps(answer), ...worstButton(answer));
    outline("here", now());
    read();
  }

  const now = () => {
    const { rows, across, of, wrt } = shown;
    return [placeOf(rows, of) - rows.first, placeOf(across, wrt) - across.first];
  };

  /** Outlines a cell on all maps, none where it is null. */
  function outline(name, cell) {
    for (const map of picture.querySelectorAll("svg.panel")) {
      map.querySelector(`.${name}`)?.remove();
      if (cell === null) continue;
      const { width, height } = map.viewBox.baseVal;
      const [wide, high] = [width / block.columns.length, height / block.rows.length];
      map.append(svg("rect", { class: name, x: cell[1] * wide, y: cell[0] * high, width: wide, height: high }));
    }
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
    outline("cursor", cell);
    read();
  }

  const open = ([row, column]) => move({ of: block.rows[row], wrt: block.columns[column] });

  /** The cell under a pointer, null beside the maps. */
  function under({ clientX, clientY }) {
    for (const map of block ? picture.querySelectorAll("svg.panel") : []) {
      const { left, top, width, height } = map.getBoundingClientRect();
      const column = Math.floor(((clientX - left) / width) * block.columns.length);
      const row = Math.floor(((clientY - top) / height) * block.rows.length);
      if (row >= 0 && column >= 0 && row < block.rows.length && column < block.columns.length) return [row, column];
    }
    return null;
  }

  picture.addEventListener("pointermove", (event) => {
    const cell = under(event);
    picture.classList.toggle("pointing", cell !== null);
    if (cell || event.pointerType === "mouse") point(cell);
  });
  picture.addEventListener("pointerleave", () => document.activeElement !== picture && point(null));
  picture.addEventListener("blur", () => point(null));
  picture.addEventListener("click", (event) => {
    const cell = under(event);
    if (cell) open(cell);
  });
  picture.addEventListener("keydown", (event) => {
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

  return { show, redraw() {}, close() {} };
}

function button(text, name, pressed) {
  const made = h("button", { type: "button", disabled: !pressed, "aria-label": name || null }, text);
  if (pressed) made.addEventListener("click", pressed);
  return made;
}
