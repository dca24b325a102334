// The three heatmaps of a Jacobian on one canvas: numerical, returned, and their difference.

import { format } from "../../number.js";

const TITLES = { numerical: "numerical", returned: "returned by backward", difference: "difference" };
const KEYS = { numerical: "numerical", returned: "analytical", difference: "disagreement" };
// In rem: from where on the maps stand side by side, and how large a cell may be, and all of them together.
const [WIDE, WIDEST, HIGHEST, TALL, TALL_ALONE] = [42, 6, 2.4, 22, 15];
const [GAP, TITLE, FOOT, PAD] = [1.4, 1.7, 1.5, 0.4];
// In rem, beside a number, and from what height on there is room for one; in pixels, from where on for a mark.
const [ROOM, LOW, MARK] = [0.5, 1.1, 7];
const DIGITS = [3, 2]; // of the numbers in cells, as many as fit
const DEEP = 0.72; // from here on a colour needs light type

/** Where things are on a canvas `width` wide: {maps, high, wide, tall, height}, in pixels. */
function arrange(block, width, rem, measure) {
  const names = Object.keys(TITLES);
  const widest = Math.max(...block.rows.map(measure)) + 1.7 * PAD * rem; // and beside the ring of the focus
  const labels = Math.min(widest, 0.4 * width);
  const beside = width >= WIDE * rem;
  const room = beside ? (width - labels - 2 * GAP * rem) / 3 : width - labels;
  const wide = Math.min(room / block.columns.length, WIDEST * rem);
  const tall = ((beside ? TALL : TALL_ALONE) * rem) / block.rows.length;
  const high = Math.max(Math.min(HIGHEST * rem, Math.max(wide, 1.3 * rem), tall), 2);
  const [w, h] = [wide * block.columns.length, high * block.rows.length];
  const step = beside ? Math.min(room, Math.max(w, 11 * rem)) + GAP * rem : h + (TITLE + FOOT + 0.7) * rem;
  const maps = names.map((name, i) => ({
    ...{ name, w, h, labelled: !beside || i === 0 },
    x: labels + (beside ? i * step : 0),
    y: TITLE * rem + (beside ? 0 : i * step),
  }));
  return { maps, wide, high, height: maps.at(-1).y + h + FOOT * rem };
}

/** Every so many of the labels, at most `count`: [label, place] each. */
function thinned(texts, count) {
  const steps = [1, 2, 4, 5, 8, 10, 16, 20, 32, 50, 64];
  const step = steps.find((each) => texts.length / each <= count) ?? texts.length;
  return texts.map((text, i) => [text, i]).filter((_, i) => i % step === 0);
}

/**
 * Draws on `canvas` what `draw(block, {width, rem, palette, now, cursor})` is given: `now` and `cursor` are cells
 * [row, column] to outline. `cell(x, y)` is the one at a point, null where there is none.
 */
export function maps(canvas) {
  const pen = canvas.getContext("2d");
  let laid = null;
  let block = null;

  function draw(given, { width, rem, palette, now, cursor }) {
    block = given;
    const scale = devicePixelRatio;
    const font = (weight, size) => `${weight} ${size * rem}px ${palette.family}`;
    pen.font = font(400, 0.8);
    laid = arrange(block, width, rem, (text) => pen.measureText(text).width);
    canvas.width = Math.round(width * scale);
    canvas.height = Math.round(laid.height * scale);
    canvas.style.height = `${laid.height}px`;
    canvas.maps = laid.maps; // where they are, for who looks at them from outside
    pen.scale(scale, scale);
    const style = { rem, palette, font, scale, color: colourScale(palette), digits: fitting(rem, font) };
    for (const map of laid.maps) {
      head(map, style);
      fill(map, style);
      names(map, style);
      if (cursor) outline(map, cursor, style, 1.25, palette.muted);
      if (now) outline(map, now, style, 2, palette.ink);
      if (map.name !== "numerical" && !block.returned) say("nothing returned", map, style);
      else if (map.name === "difference" && block.alike) say("within the error bound", map, style);
    }
  }

  function head({ name, x, y }, { rem, palette, font }) {
    pen.fillStyle = palette[KEYS[name]];
    pen.fillRect(x, y - 1.05 * rem, 0.22 * rem, 0.75 * rem);
    pen.fillStyle = palette.ink;
    pen.font = font(600, 0.85);
    pen.textAlign = "left";
    pen.textBaseline = "alphabetic";
    pen.fillText(TITLES[name], x + 0.5 * rem, y - 0.4 * rem);
  }

  function fill(map, style) {
    const { palette, scale, color } = style;
    const snap = (at) => Math.round(at * scale) / scale; // no seams between cells
    const most = (map.name === "difference" ? block.apart : block.most) || 1;
    pen.fillStyle = palette.paper;
    pen.fillRect(map.x, map.y, map.w, map.h);
    for (let row = 0; row < block.rows.length; row++) {
      for (let column = 0; column < block.columns.length; column++) {
        const cell = block.at(row, column);
        const [left, right] = [column, column + 1].map((at) => snap(map.x + at * laid.wide));
        const [top, bottom] = [row, row + 1].map((at) => snap(map.y + at * laid.high));
        const box = [left, top, right - left, bottom - top];
        const value = cell[map.name];
        if (blank(map.name, cell)) continue;
        if (value === null) mark(cell, box, style, map.name);
        else {
          pen.fillStyle = color(value / most);
          pen.fillRect(...box);
          write(value, value / most, box, style);
        }
      }
    }
    pen.strokeStyle = palette.rule;
    pen.lineWidth = 1;
    pen.strokeRect(snap(map.x), snap(map.y), snap(map.w), snap(map.h));
  }

  /** Is a cell of this map left as it is? */
  const blank = (name, { right }) =>
    name !== "numerical" && (!block.returned || (name === "difference" && right));

  function say(text, { x, y, w, h }, { rem, palette, font }) {
    pen.font = font(400, 0.8);
    const room = pen.measureText(text).width + 0.6 * rem;
    if (room > w - 0.4 * rem || h < 1.6 * rem) return;
    pen.fillStyle = palette.paper; // over the frames
    pen.fillRect(x + (w - room) / 2, y + h / 2 - 0.65 * rem, room, 1.3 * rem);
    pen.fillStyle = palette.muted;
    pen.textAlign = "center";
    pen.textBaseline = "middle";
    pen.fillText(text, x + w / 2, y + h / 2);
  }

  /** With how many digits all numbers fit into their cells, 0 if with none. */
  function fitting(rem, font) {
    if (laid.high < LOW * rem || laid.wide < 2 * rem) return 0;
    pen.font = font(400, 0.75);
    const cells = block.rows.flatMap((_, row) => block.columns.map((_, column) => block.at(row, column)));
    const values = cells.flatMap((cell) => Object.keys(TITLES).map((name) => (blank(name, cell) ? null : cell[name])));
    const fits = (digits) => (value) =>
      value === null || pen.measureText(format(value, digits)).width + ROOM * rem <= laid.wide;
    return DIGITS.find((digits) => values.every(fits(digits))) ?? 0;
  }

  function write(value, share, [x, y, w, h], { palette, font, digits }) {
    if (digits === 0) return;
    pen.fillStyle = Math.abs(share) > DEEP ? palette.paper : palette.ink;
    pen.font = font(400, 0.75);
    pen.textAlign = "center";
    pen.textBaseline = "middle";
    pen.fillText(format(value, digits), x + w / 2, y + h / 2 + 0.5);
  }

  /** What has no colour: a diamond at a kink, a step at a jump, a cross where there is no number; small ones a dot. */
  function mark({ status, left, after, returned }, [x, y, w, h], { palette }, name) {
    const size = Math.min(w, h, 16);
    const [middle, centre, r] = [x + w / 2, y + h / 2, size / 3.4];
    pen.strokeStyle = pen.fillStyle = palette.muted;
    pen.lineWidth = 1.2;
    pen.beginPath();
    const own = name === "numerical" || (name === "difference" && returned !== null); // what forward is like here
    if (size < MARK) pen.arc(middle, centre, size / 5, 0, 7);
    else if (own && status === "jump") {
      pen.moveTo(middle - r, centre + r);
      pen.lineTo(middle, centre + r);
      pen.moveTo(middle, centre - r);
      pen.lineTo(middle + r, centre - r);
    } else if (own && left !== null && after !== null) {
      for (const [dx, dy] of [[0, -r], [r, 0], [0, r], [-r, 0], [0, -r]]) pen.lineTo(middle + dx, centre + dy);
    } else {
      pen.moveTo(middle - r, centre - r);
      pen.lineTo(middle + r, centre + r);
      pen.moveTo(middle + r, centre - r);
      pen.lineTo(middle - r, centre + r);
    }
    pen.stroke();
  }

  function names({ x, y, w, h, labelled }, { rem, palette, font }) {
    pen.fillStyle = palette.muted;
    pen.font = font(400, 0.8);
    pen.textBaseline = "middle";
    pen.textAlign = "right";
    const rows = labelled ? thinned(block.rows, Math.max(1, Math.floor(h / (1.15 * rem)))) : [];
    for (const [text, i] of rows) pen.fillText(text, x - PAD * rem, y + (i + 0.5) * laid.high);
    pen.textAlign = "center";
    const widest = Math.max(...block.columns.map((text) => pen.measureText(text).width)) + 1.1 * rem;
    const columns = thinned(block.columns, Math.max(1, Math.floor(w / widest)));
    for (const [text, i] of columns) pen.fillText(text, x + (i + 0.5) * laid.wide, y + h + 0.75 * rem);
  }

  function outline({ x, y }, [row, column], { palette }, width, color) {
    const box = [x + column * laid.wide, y + row * laid.high, laid.wide, laid.high];
    for (const [line, stroke] of [[width + 2, palette.paper], [width, color]]) {
      pen.lineWidth = line;
      pen.strokeStyle = stroke;
      pen.strokeRect(...box);
    }
  }

  function cell(x, y) {
    for (const map of laid?.maps ?? []) {
      const [row, column] = [Math.floor((y - map.y) / laid.high), Math.floor((x - map.x) / laid.wide)];
      const inside = row >= 0 && column >= 0 && row < block.rows.length && column < block.columns.length;
      if (inside) return [row, column];
    }
    return null;
  }

  /** Are cells too small for more than a dot as a mark? */
  const small = () => Math.min(laid.wide, laid.high) < MARK;

  return { draw, cell, small };
}

/** What the element at a flat `place` of a tensor is called. */
export function label({ name, shape }, place) {
  if (shape.reduce((product, size) => product * size, 1) === 1) return name;
  const index = [];
  for (const size of shape.toReversed()) {
    index.unshift(place % size);
    place = Math.floor(place / size);
  }
  return `${name}[${index.join(",")}]`;
}

/** The flat place of an element, by what it is called. */
export function placeOf({ shape }, called) {
  const index = called.match(/\[(.*)\]/)?.[1].split(",").map(Number) ?? [];
  return index.reduce((place, i, axis) => place * shape[axis] + i, 0);
}

export const total = ({ shape }) => shape.reduce((product, size) => product * size, 1);

const RIGHT = ["agrees", "subgradient"];

/**
 * {rows, columns, at(row, column), most, apart, returned, alike}: the cells of an answer, how far its two scales of
 * colour go, whether anything was returned, and whether nothing of it differs.
 */
export function cells({ rows, across, columns, statuses }) {
  const number = (name, i) => columns[name]?.[i] ?? null;
  const size = columns.status.length;
  const words = columns.status.map((code) => statuses[code]);
  let [most, apart] = [0, 0];
  for (let i = 0; i < size; i++) {
    for (const name of ["numerical", "returned"]) most = Math.max(most, Math.abs(number(name, i) ?? 0));
    if (words[i] === "differs") apart = Math.max(apart, Math.abs(number("difference", i) ?? 0));
  }
  /** What is marked and not coloured, on any of the maps: "kink", "jump", "cross". */
  function marked() {
    const kinds = words.flatMap((word, i) => {
      const bent = number("left", i) !== null && number("right", i) !== null;
      const mark = word === "jump" ? "jump" : bent ? "kink" : "cross";
      const forward = number("numerical", i) === null ? [mark] : [];
      return columns.returned !== null && number("returned", i) === null ? [...forward, "cross"] : forward;
    });
    return new Set(kinds);
  }
  return {
    marked,
    rows: Array.from({ length: rows.count }, (_, i) => label(rows, rows.first + i)),
    columns: Array.from({ length: across.count }, (_, i) => label(across, across.first + i)),
    most,
    apart,
    returned: columns.returned !== null,
    alike: words.every((word) => RIGHT.includes(word)),
    at(row, column) {
      const i = row * across.count + column;
      const [numerical, returned, difference] = ["numerical", "returned", "difference"].map((name) => number(name, i));
      return {
        ...{ numerical, returned, difference, status: words[i], right: RIGHT.includes(words[i]) },
        ...{ error: number("error", i), left: number("left", i), after: number("right", i) },
      };
    },
  };
}

/** The colour of `share`, from −1 to 1, between those of a palette. */
function colourScale({ negative, neutral, positive }) {
  const parts = (color) => color.match(/[\d.]+/g).slice(0, 3).map(Number);
  const [low, middle, high] = [negative, neutral, positive].map(parts);
  return (share) => {
    const end = share < 0 ? low : high;
    const part = Math.min(1, Math.abs(share));
    return `rgb(${middle.map((value, i) => Math.round(value + part * (end[i] - value))).join(" ")})`;
  };
}
