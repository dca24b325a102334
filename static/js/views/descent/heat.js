// The elements of a tensor as a field of colours, white at 0, and a dot on those that have not moved.

import { format } from "../../number.js";

const SVG = "http://www.w3.org/2000/svg";
const LARGEST = 3; // rem, of a cell
const LABELLED = 16; // rows or columns, with a number for each

/** {svg, paint(values, start, most)} for a tensor of this `shape`, rows of its last dimension. `name` names elements. */
export function heat(shape, name) {
  const columns = shape.at(-1);
  const rows = shape.reduce((a, b) => a * b, 1) / columns;
  const labelled = Math.max(rows, columns) <= LABELLED;
  const edge = labelled ? 0.6 : 0;
  const svg = made("svg", {
    viewBox: `${-edge} ${-edge} ${columns + edge} ${rows + edge}`,
    role: "img",
    class: "heat",
  });
  svg.style.maxWidth = `${LARGEST * (columns + edge)}rem`;
  const cells = Array.from({ length: rows * columns }, (_, i) => cell(svg, i % columns, Math.floor(i / columns)));
  if (labelled) {
    for (let i = 0; i < columns; i += 1) svg.append(label(i + 0.48, -0.18, i, "middle"));
    for (let i = 0; i < rows; i += 1) svg.append(label(-0.14, i + 0.6, i, "end"));
  }

  /** Show `values`; those that are what they were at `start` get a dot. Colours go to `most` on either side of 0. */
  function paint(values, start, most) {
    cells.forEach(({ square, dot, title }, i) => {
      const share = Math.round(100 * Math.min(1, Math.abs(values[i]) / most || 0));
      const side = values[i] < 0 ? "negative" : "positive";
      square.style.fill = `color-mix(in srgb, var(--${side}) ${share}%, var(--neutral))`;
      dot.toggleAttribute("hidden", start === null || values[i] !== start[i]);
      title.textContent = `${element(name, shape, i)} = ${format(values[i])}`;
    });
  }

  return { svg, paint };
}

function cell(svg, column, row) {
  const square = made("rect", { x: column, y: row, width: 0.95, height: 0.95 });
  const dot = made("circle", { cx: column + 0.475, cy: row + 0.475, r: 0.1 });
  const title = square.appendChild(made("title", {}));
  svg.append(square, dot);
  return { square, dot, title };
}

const label = (x, y, text, anchor) =>
  Object.assign(made("text", { x, y, "text-anchor": anchor }), { textContent: text });

/** The name of the element at a place of the flattened tensor. */
function element(name, shape, place) {
  const index = [];
  let rest = place;
  for (const size of [...shape].reverse()) {
    index.unshift(rest % size);
    rest = Math.floor(rest / size);
  }
  return `${name}[${index.join(",")}]`;
}

function made(tag, attributes) {
  const found = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) found.setAttribute(name, value);
  return found;
}
