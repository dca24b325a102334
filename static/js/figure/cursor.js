// The cursor on the curves: follows the pointer and the keys, and lays both slopes on forward as tangents.

import { setAttributes, svg } from "../dom.js";
import { nearest } from "../number.js";

const REACH = 4.2;
const STILL = 4;
const PARTS = [
  "hairline",
  "tangent numerical left",
  "tangent numerical right",
  "tangent analytical",
  "dot forward",
  "dot numerical",
  "dot analytical",
];

/**
 * `plot` draws, `read(row)` shows what stands at a row and returns the words for it; `picked(x)` hears a click
 * and Enter.
 * Returns {refresh, follow}: to be called after every drawing, and to take the cursor to a row without a word; to
 * null when it goes back to where the hand had left it.
 */
export function curveCursor({ canvas, overlay, cursor }, plot, read, picked) {
  const frame = overlay.appendChild(svg("svg"));
  const parts = Object.fromEntries(
    PARTS.map((name) => [name, part(name, name.startsWith("tangent") ? frame : overlay)]),
  );
  let x = null;
  let first = 0; // of the words for a row

  function show(row) {
    x = plot.state().answer.columns.x[row];
    cursor.setAttribute("aria-valuenow", x);
    cursor.setAttribute("aria-valuetext", place(row));
  }

  function place(row) {
    const { answer } = plot.state();
    const words = read(row, first);
    drawAt(parts, frame, answer, row, plot.place(), plot.state().view);
    canvas.classList.add("traced");
    return words;
  }

  function hide() {
    if (document.activeElement === cursor) return;
    x = null;
    canvas.classList.remove("traced");
    read(null);
  }

  const point = ({ clientX, buttons, pointerType }) => {
    const zooming = buttons > 0 && pointerType === "mouse";
    if (zooming) canvas.classList.remove("traced");
    if (zooming || !drawn()) return;
    const at = plot.place();
    const pixel = clientX - canvas.getBoundingClientRect().left;
    if (pixel < at.left - 8 || pixel > at.right + 8) hide();
    else show(nearest(plot.state().answer.columns.x, at.invert(pixel)));
  };
  for (const event of ["pointermove", "pointerdown"]) canvas.addEventListener(event, point);
  let down = null; // plotly swallows the click itself
  canvas.addEventListener("pointerdown", ({ clientX, button, target }) => {
    if (button === 0 && !target.closest(".head")) down = clientX;
  });
  addEventListener("pointerup", ({ clientX, pointerType }) => {
    const pixel = clientX - canvas.getBoundingClientRect().left;
    const still = down !== null && Math.abs(clientX - down) < STILL;
    down = null;
    if (!still || !drawn() || pixel < plot.place().left || pixel > plot.place().right) return;
    const row = nearest(plot.state().answer.columns.x, plot.place().invert(pixel));
    show(row);
    if (pointerType === "mouse") cursor.focus({ preventScroll: true }); // from here the keys go on
    picked(plot.state().answer.columns.x[row]);
  });
  // A finger that is lifted leaves the reading where it was.
  canvas.addEventListener("pointerleave", ({ pointerType }) => pointerType !== "touch" && hide());
  cursor.addEventListener("blur", hide);
  cursor.addEventListener("focus", () => drawn() && show(rowNow()));
  cursor.addEventListener("keydown", (event) => {
    if (!drawn() || event.altKey || event.ctrlKey || event.metaKey) return;
    if (event.key === "Enter") picked(plot.state().answer.columns.x[rowNow()]);
    if (event.key === "c") first += 1;
    const row = event.key === "c" ? rowNow() : rowForKey(plot.state().answer, rowNow(), event);
    if (row === undefined) return;
    event.preventDefault();
    show(row);
  });

  const drawn = () => plot.state()?.ranges && plot.state().answer.columns.x.length > 0;
  const rowNow = () => {
    const { answer } = plot.state();
    return nearest(answer.columns.x, x ?? (answer.start + answer.stop) / 2);
  };
  const back = () => (x !== null && drawn() ? show(rowNow()) : hide());
  function refresh() {
    const { answer } = plot.state();
    cursor.setAttribute("aria-label", `Trace the curves along ${answer.wrt}`);
    cursor.setAttribute("aria-valuemin", answer.start);
    cursor.setAttribute("aria-valuemax", answer.stop);
    back();
  }
  return { refresh, follow: (row) => (row === null ? back() : place(row)) };
}

function part(name, parent) {
  const [tag, r] = name === "hairline" ? ["path"] : name.startsWith("dot") ? ["circle", 4] : ["line"];
  return parent.appendChild(svg(tag, { class: name, r }));
}

function drawAt(parts, frame, answer, row, at, { rem, hidden }) {
  const { x: xs, forward } = answer.columns;
  const { analytical } = hidden.has("analytical") ? {} : answer.columns;
  const { numerical, left, right } = hidden.has("numerical") ? {} : answer.columns;
  const [x, y] = [at.x(xs[row]), forward[row] === null ? null : at.upper(forward[row])];
  set(parts.hairline, {
    d: Object.values(at.panels)
      .map(([from, to]) => `M${x} ${from}V${to}`)
      .join(""),
  });
  const [top, bottom] = at.panels.upper;
  const box = [at.left, top, at.right - at.left, bottom - top];
  set(frame, { x: box[0], y: box[1], width: box[2], height: box[3], viewBox: box.join(" ") });
  const tangent = (name, gradient, from, to) => {
    const rise =
      gradient === null || gradient === undefined || y === null ? NaN : slope(gradient / answer.scene.nouns.scale, at);
    const length = (REACH * rem) / Math.hypot(1, rise);
    set(
      parts[name],
      Number.isFinite(rise) && {
        x1: x + from * length,
        x2: x + to * length,
        y1: y + from * length * rise,
        y2: y + to * length * rise,
      },
    );
  };
  tangent("tangent numerical left", left?.[row] ?? numerical?.[row], -1, 0);
  tangent("tangent numerical right", right?.[row] ?? numerical?.[row], 0, 1);
  tangent("tangent analytical", analytical?.[row], -1, 1);
  // Beside a pole a curve leaves its panel, and so does the dot.
  const dot = (name, value, scale, [ceiling, floor]) => {
    const cy = scale(value ?? NaN);
    set(parts[name], cy >= ceiling - 1 && cy <= floor + 1 && { cx: x, cy });
  };
  dot("dot forward", hidden.has("forward") ? null : forward[row], at.upper, at.panels.upper);
  dot("dot numerical", numerical?.[row], at.lower, at.panels.lower);
  dot("dot analytical", analytical?.[row], at.lower, at.panels.lower);
}

/** A slope of the data as one of pixels. */
const slope = (gradient, at) => (gradient * (at.upper(1) - at.upper(0))) / (at.x(1) - at.x(0));

function set(element, attributes) {
  element.toggleAttribute("hidden", !attributes);
  setAttributes(element, attributes || {});
}

const STEPS = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageDown: -10, PageUp: 10 };

/** The row that a key leads to from `row`, undefined for keys that mean nothing here. */
function rowForKey(answer, row, { key, shiftKey }) {
  const last = answer.columns.x.length - 1;
  const step = STEPS[key];
  if (step) return Math.max(0, Math.min(last, row + step * (shiftKey ? 10 : 1)));
  if (key === "Home") return 0;
  if (key === "End") return last;
  if (key === "m" || key === "M") return onward(markRows(answer), row, shiftKey);
  if (key === "e" || key === "E") return next(differences(answer), row, shiftKey);
  return undefined;
}

/** The rows of the marks, from left to right. */
const markRows = ({ columns, marks }) => marks.map(({ x }) => nearest(columns.x, x)).sort((a, b) => a - b);

/** In each interval where the two differ the row where they do so most, the largest difference first. */
function differences({ columns: { x, analytical, numerical }, verdict }) {
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
