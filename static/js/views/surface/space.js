// The surface in three dimensions, on a canvas: turned by drag or arrow keys, its far faces painted first.

import { h } from "../../dom.js";

const FINEST = 48; // faces a side
const [LOW, HIGH] = [-1.4, 1.4]; // radians that it may be tilted
const TURN = 0.012; // radians for each pixel
const STEP = 0.12; // for each key
const KEYS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
const SHADE = 0.35;

/** A canvas in `place` and `draw(grid, {row, colors, names})`: heights `grid.z` over x and y, null for a hole. */
export function surfaceCanvas(place, label) {
  const named = { class: "solid", tabindex: 0, role: "application", "aria-label": label };
  const canvas = place.appendChild(h("canvas", named));
  let [turned, tilted] = [-0.65, 0.55];
  let last = null;
  let held = null;

  function turn(across, up) {
    turned += across;
    tilted = Math.min(HIGH, Math.max(LOW, tilted + up));
    paint();
  }
  canvas.addEventListener("pointerdown", (event) => {
    held = [event.clientX, event.clientY];
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", ({ clientX, clientY }) => {
    if (held === null) return;
    const [x, y] = held;
    held = [clientX, clientY];
    turn((clientX - x) * TURN, (clientY - y) * TURN);
  });
  for (const event of ["pointerup", "pointercancel"]) canvas.addEventListener(event, () => (held = null));
  canvas.addEventListener("keydown", (event) => {
    const step = KEYS[event.key];
    if (!step || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    turn(step[0] * STEP, step[1] * STEP);
  });

  function draw(grid, how) {
    last = { ...how, ...thinned(grid) };
    paint();
  }

  function paint() {
    if (last === null) return;
    const [{ clientWidth: width, clientHeight: height }, sharp] = [canvas, window.devicePixelRatio || 1];
    Object.assign(canvas, { width: width * sharp, height: height * sharp });
    const pen = canvas.getContext("2d");
    pen.scale(sharp, sharp);
    const project = camera(turned, tilted, width, height);
    drawFloor(pen, project, width, last);
    drawHeightAxis(pen, project, last);
    drawFaces(pen, project, last);
    drawPoint(pen, project, last);
  }
  return { draw, paint, canvas };
}

/** At most so many faces a side, the ends kept, in a cube from −1 to 1; `row` is the one nearest to the section. */
function thinned({ x, y, z }) {
  const some = (length) => {
    const count = Math.min(length, FINEST + 1);
    return Array.from({ length: count }, (_, i) => Math.round((i * (length - 1)) / Math.max(1, count - 1)));
  };
  const [columns, rows] = [some(x.length), some(y.length)];
  const unit = (values) => values.map((value) => (2 * (value - values[0])) / (values.at(-1) - values[0]) - 1);
  const known = z.flat().filter((value) => value !== null);
  const [low, high] = known.reduce(([a, b], value) => [Math.min(a, value), Math.max(b, value)], [Infinity, -Infinity]);
  const height = (value) => (value === null ? null : high > low ? (2 * (value - low)) / (high - low) - 1 : 0);
  return {
    x: unit(columns.map((i) => x[i])),
    y: unit(rows.map((i) => y[i])),
    z: rows.map((row) => columns.map((column) => height(z[row][column]))),
    ends: { x: [x[0], x.at(-1)], y: [y[0], y.at(-1)], z: [low, high] },
  };
}

/** From the cube to [x, y, depth] on the canvas. */
function camera(turned, tilted, width, height) {
  const [sin, cos, rise, fall] = [Math.sin(turned), Math.cos(turned), Math.sin(tilted), Math.cos(tilted)];
  const size = Math.min(width, height) / 3.7;
  return (x, y, z) => {
    const [across, deep] = [x * cos - y * sin, x * sin + y * cos];
    return [
      width / 2 + size * across,
      height / 2 - size * (0.72 * z * fall + deep * rise),
      deep * fall - 0.72 * z * rise,
    ];
  };
}

/** The floor of the box with what lies along its edges. */
function drawFloor(pen, project, width, { colors, names, ends, say }) {
  const corner = (x, y) => project(x, y, -1);
  const floor = [corner(-1, -1), corner(1, -1), corner(1, 1), corner(-1, 1)];
  outline(pen, floor);
  Object.assign(pen, { strokeStyle: colors.rule, lineWidth: 1, fillStyle: colors.muted, font: colors.font });
  pen.stroke();
  const middle = project(0, 0, -1);
  const label = (text, [x, y], far) => {
    const [dx, dy] = [x - middle[0], y - middle[1]];
    pen.textAlign = Math.abs(dx) < 12 ? "center" : dx < 0 ? "right" : "left";
    pen.textBaseline = dy < 0 ? "bottom" : "top";
    const { actualBoundingBoxLeft: before, actualBoundingBoxRight: after } = pen.measureText(text);
    const at = Math.min(width - after - 2, Math.max(before + 2, middle[0] + dx * far));
    pen.fillText(text, at, middle[1] + dy * far);
  };
  const front = (a, b) => (a[2] < b[2] ? a : b);
  label(`${names[0]} ${say(ends.x[0])} … ${say(ends.x[1])}`, front(corner(0, -1), corner(0, 1)), 1.12);
  label(`${names[1]} ${say(ends.y[0])} … ${say(ends.y[1])}`, front(corner(-1, 0), corner(1, 0)), 1.12);
}

/** The height: an axis with three ticks on the corner furthest to the left. */
function drawHeightAxis(pen, project, { colors, ends, say }) {
  const corners = [-1, 1].flatMap((x) => [-1, 1].map((y) => [x, y]));
  const [x, y] = corners.reduce((a, b) => (project(...b, 0)[0] < project(...a, 0)[0] ? b : a));
  Object.assign(pen, { strokeStyle: colors.rule, lineWidth: 1, fillStyle: colors.muted, font: colors.font });
  outline(pen, [project(x, y, -1), project(x, y, 1)]);
  pen.stroke();
  Object.assign(pen, { textAlign: "right", textBaseline: "middle" });
  const [low, high] = ends.z;
  for (const height of high > low ? [-1, 0, 1] : [0]) {
    const [left, top] = project(x, y, height);
    outline(pen, [
      [left - 4, top],
      [left, top],
    ]);
    pen.stroke();
    pen.fillText(say(low + ((high - low) * (height + 1)) / 2), left - 6, top);
  }
}

/** The point that everything is held at, on the face nearest to it. */
function drawPoint(pen, project, { x, y, z, held, colors }) {
  const nearest = (numbers, to) =>
    numbers.reduce((best, value, i) => (Math.abs(value - to) < Math.abs(numbers[best] - to) ? i : best), 0);
  const [column, row] = [nearest(x, held[0]), nearest(y, held[1])];
  if (z[row][column] === null) return;
  const [left, top] = project(x[column], y[row], z[row][column]);
  for (const [size, color] of [
    [6, colors.paper],
    [4, colors.ink],
  ]) {
    pen.beginPath();
    pen.arc(left, top, size, 0, 7);
    pen.fillStyle = color;
    pen.fill();
  }
}

function outline(pen, points) {
  pen.beginPath();
  points.forEach(([x, y], i) => (i === 0 ? pen.moveTo(x, y) : pen.lineTo(x, y)));
  pen.closePath();
}

/** The faces from far to near, each lit by how steep it is, the section among them. */
function drawFaces(pen, project, { x, y, z, colors, section }) {
  const corners = y.map((v, row) => x.map((u, column) => z[row][column] !== null && project(u, v, z[row][column])));
  const line = y.reduce((best, v, row) => (Math.abs(v - section) < Math.abs(y[best] - section) ? row : best), 0);
  const list = [];
  for (let row = 0; row + 1 < y.length; row += 1) {
    for (let column = 0; column + 1 < x.length; column += 1) {
      const points = [
        corners[row][column],
        corners[row][column + 1],
        corners[row + 1][column + 1],
        corners[row + 1][column],
      ];
      if (!points.every(Boolean)) continue;
      const height = (z[row][column] + z[row + 1][column + 1]) / 2;
      const [before, after] = [z[row], z[row + 1]];
      const slope =
        (before[column + 1] - before[column]) / (x[column + 1] - x[column]) -
        (after[column] - before[column]) / (y[row + 1] - y[row]);
      list.push({
        points,
        height,
        slope,
        deep: points.reduce((sum, point) => sum + point[2], 0),
        edge: row === line,
      });
    }
  }
  list.sort((a, b) => b.deep - a.deep);
  for (const { points, height, slope, edge } of list) {
    outline(pen, points);
    pen.fillStyle = colors.shade((height + 1) / 2, SHADE * Math.tanh(slope / 2));
    pen.strokeStyle = pen.fillStyle;
    pen.lineWidth = 0.6;
    pen.fill();
    pen.stroke();
    if (edge) {
      pen.beginPath();
      pen.moveTo(points[0][0], points[0][1]);
      pen.lineTo(points[1][0], points[1][1]);
      for (const [lineWidth, strokeStyle] of [
        [4, colors.paper],
        [2, colors.ink],
      ]) {
        Object.assign(pen, { strokeStyle, lineWidth });
        pen.stroke();
      }
    }
  }
}
