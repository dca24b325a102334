// The view "surface": four maps over the plane of two elements, read together.

import { grid as table, h, ramp, rem } from "../../dom.js";
import { closestIndex, fixed, format, roundForSpan } from "../../number.js";
import { gridExtent, grids, scales } from "./field.js";
import { mapOf, margins } from "./map.js";
import { pointer } from "./pointer.js";

const MAPS = ["forward", "returned", "numerical", "difference"];

export function panel(element, { place, move, loadPlotly, drawFigure, palette, loadSheet }) {
  const dressed = loadSheet("surface");
  let built = null;
  let shown = null; // {answer, grid, held}
  let component = "x";
  let plotly = null;
  let typed = null; // the ranges before the first drag
  let pointed = null; // where all maps are read, as shares of the plane

  async function show(answer) {
    await dressed;
    offer(answer);
    if (answer.shape[0] === 0) {
      clear();
      return;
    }
    plotly = await loadPlotly("maps");
    built ??= raise();
    const parts = ["x", "y"].filter((axis) => answer.columns[`analytical_${axis}`]);
    if (parts.length === 1) component = parts[0];
    shown = { answer, held: heldAt(answer) };
    built.options(answer, component, parts.length === 2);
    built.pairs.replaceChildren(...pairs(answer, open));
    await draw();
  }

  function raise() {
    const made = build(element, {
      chose(name) {
        component = name;
        draw();
      },
    });
    made.hands = MAPS.map((name) =>
      pointer(made.charts[name].map, {
        frame: () => frame(made.charts[name].map),
        label: name === "forward" ? "The plane: arrow keys move the point that is held" : "",
        seen: read,
        picked: (spot) => hold(at(spot)),
        chosen: ([from, to]) => zoom(at(from, false), at(to, false)),
        widened: widen,
        walked: walk,
      }),
    );
    return made;
  }

  async function draw() {
    const { answer, held } = shown;
    const [grid, colors, { rem }] = [grids(answer, component), palette(), place().view];
    shown.grid = grid;
    const most = scales(grid);
    const scale = Object.fromEntries(
      MAPS.map((name) => [name, name === "forward" ? (gridExtent(grid.forward) ?? [0, 1]) : [-most[name], most[name]]]),
    );
    for (const name of MAPS) {
      const { chart, map } = built.charts[name];
      chart.classList.toggle("blank", !grid[name] || gridExtent(grid[name]) === null);
      key(built.charts[name], name, scale[name], answer, component);
      const view = { width: map.clientWidth, height: map.clientHeight, rem, held, scale: scale[name] };
      await drawFigure(plotly, map.querySelector(".map"), mapOf(name, answer, grid, view, colors), view);
    }
    read(built.charts.forward.map.contains(document.activeElement) ? share(held) : pointed);
  }

  /** The point that everything is held at. */
  function heldAt({ inputs, parameters, wrt, wrt2, places }) {
    const value = (name, i) => (i === null ? parameters[name] : inputs[name][i]);
    return [wrt, wrt2].map((name, i) => value(name.split("[")[0], places[i]));
  }

  /** Where a point lies, as shares of the plane. */
  function share(point) {
    const { columns } = shown.answer;
    return point.map((value, i) => {
      const numbers = [columns.x, columns.y][i];
      return Math.min(1, Math.max(0, (value - numbers[0]) / (numbers.at(-1) - numbers[0])));
    });
  }

  /** The numbers at shares of the plane, or those of the nearest point. */
  function at([x, y], near = true) {
    const { columns } = shown.answer;
    return [x, y].map((share, i) => {
      const numbers = [columns.x, columns.y][i];
      if (near) return numbers[Math.round(share * (numbers.length - 1))];
      return roundForSpan(numbers[0] + share * (numbers.at(-1) - numbers[0]), numbers.at(-1) - numbers[0]);
    });
  }

  /** Hold both elements at a point: the curves above become the section through it. */
  function hold(point) {
    const { inputs, wrt, wrt2, places } = shown.answer;
    const said = {};
    [wrt, wrt2].forEach((element, i) => {
      const [name] = element.split("[");
      if (places[i] === null) said[name] = point[i];
      else said[name] = (said[name] ?? inputs[name]).map((value, k) => (k === places[i] ? point[i] : value));
    });
    move(Object.fromEntries(Object.entries(said).map(([name, values]) => [name, String(values)])));
  }

  function walk(...steps) {
    const { columns } = shown.answer;
    const next = steps.map((step, i) => {
      const numbers = [columns.x, columns.y][i];
      const now = closestIndex(numbers, shown.held[i]);
      return step === 0 ? shown.held[i] : numbers[Math.min(numbers.length - 1, Math.max(0, now + step))];
    });
    hold(next);
  }

  function zoom(from, to) {
    const [[start, stop], [start2, stop2]] = [0, 1].map((i) => [from[i], to[i]].sort((a, b) => a - b));
    if (!(start < stop && start2 < stop2)) return;
    const field = (name) => document.querySelector(`#field-${name}`)?.value ?? "";
    typed ??= Object.fromEntries(["start", "stop", "start2", "stop2"].map((name) => [name, field(name)]));
    move({ start: `${start}`, stop: `${stop}`, start2: `${start2}`, stop2: `${stop2}` });
  }

  /** Back to the ranges that were there before the drags. */
  function widen() {
    move(typed ?? { start: "", stop: "" });
    typed = null;
  }

  /** What all maps say at one place, null for none. */
  function read(spot) {
    pointed = spot;
    for (const hand of built.hands) hand.mark(spot);
    const { answer, grid } = shown;
    if (spot === null) {
      built.reading.textContent = "Click to fix a point (the curves above run through it); drag to zoom.";
      return;
    }
    const [column, row] = [Math.round(spot[0] * (grid.x.length - 1)), Math.round(spot[1] * (grid.y.length - 1))];
    const value = (name) => {
      const found = grid[name]?.[row][column] ?? null;
      const right = name === "difference" && found === null && grid.returned?.[row][column] != null;
      return right && grid.numerical[row][column] !== null ? "within the error bound" : format(found);
    };
    const where = [grid.x, grid.y].map(
      (numbers, i) => `${[answer.wrt, answer.wrt2][i]} = ${fixed(numbers[[column, row][i]], numbers[1] - numbers[0])}`,
    );
    built.reading.textContent = `${where.join(", ")}: ${MAPS.map((name) => `${name} ${value(name)}`).join(", ")}`;
  }

  /** What can be swept beside, and what is if nothing is said. */
  function offer({ wrt, wrt2, start2, stop2 }) {
    const [field, ...range] = ["wrt2", "start2", "stop2"].map((name) => document.querySelector(`#field-${name}`));
    for (const option of field.options) option.disabled = option.value === wrt;
    if (field.value === "") field.options[0].textContent = wrt2 ?? "nothing else";
    field.closest(".control").hidden = wrt2 === null;
    range.forEach((each, i) => (each.placeholder = format([start2, stop2][i], 6)));
  }

  const open = (wrt, wrt2) => move({ wrt, wrt2, start2: "", stop2: "" });

  function clear() {
    for (const { map } of Object.values(built?.charts ?? {})) plotly?.purge(map.querySelector(".map"));
    element.replaceChildren();
    [built, shown, pointed] = [null, null, null];
  }

  return { show, redraw: () => shown && draw(), close: clear };
}

/** Where the panel of a map lies in it, in pixels. */
function frame(map) {
  const { width, height } = map.querySelector(".map")._fullLayout ?? {};
  const size = margins({ rem: rem() });
  const [wide, high] = [width ?? map.clientWidth, height ?? map.clientHeight];
  return { left: size.l, top: size.t, width: wide - size.l - size.r, height: high - size.t - size.b };
}

const TITLES = {
  forward: "forward",
  returned: "returned",
  numerical: "numerical",
  difference: "difference",
};

/** Builds the panel in `place`: {charts, options, pairs, reading}. */
function build(place, { chose }) {
  const choice = h("fieldset", { class: "choices" }, h("legend", {}, "Gradient"));
  const [maps, rest] = [h("div", { class: "maps" }), h("div", { class: "pairs" })];
  const reading = h("output", { class: "reading" });
  const charts = Object.fromEntries(Object.keys(TITLES).map((name) => [name, chart(maps, name)]));
  place.replaceChildren(choice, maps, reading, rest);

  function options({ wrt, wrt2 }, component, both) {
    choice.hidden = !both;
    const names = { x: `∂/∂${wrt}`, y: `∂/∂${wrt2}`, length: "length" };
    choice.replaceChildren(
      choice.firstChild,
      ...Object.entries(names).map(([value, text]) => radio(value, text, component, chose)),
    );
  }

  return { charts, options, reading, pairs: rest };
}

function radio(value, text, chosen, chose) {
  const input = h("input", { type: "radio", name: "component", value, checked: value === chosen });
  input.addEventListener("change", () => chose(value));
  return h("label", {}, input, h("span", {}, text));
}

function chart(maps, name) {
  const legend = h("span", { class: "key" });
  const drawing = h("div", { class: "map", role: "img", "aria-label": `${TITLES[name]} as a map` });
  const map = h("div", { class: "place" }, drawing);
  const caption = h("figcaption", {}, h("strong", {}, TITLES[name]), legend);
  const chart = maps.appendChild(h("figure", { class: "chart", "data-map": name }, caption, map));
  return { chart, map, legend };
}

/** The scale of a map beside its heading, or why there is none. */
function key({ chart, legend }, name, [low, high], { wrt, wrt2, columns, failure }, component) {
  const of = { x: wrt, y: wrt2, length: "both" }[component];
  chart.querySelector("strong").textContent =
    name === "forward" ? "forward" : `${TITLES[name]}, ${component === "length" ? "length" : `∂/∂${of}`}`;
  if (!chart.classList.contains("blank")) {
    legend.replaceChildren(format(low, 3), ramp(name === "forward"), format(high, 3));
    if (name === "difference") legend.append(h("span", {}, "blank: within the bound"));
    return;
  }
  const needed = component === "length" ? ["x", "y"] : [component];
  const missing = needed.some((axis) => !columns[`analytical_${axis}`]);
  const none = failure ? "none: backward failed" : missing ? "none is returned" : "no number anywhere";
  legend.replaceChildren(h("span", {}, name === "difference" && !missing ? "none beyond the error bound" : none));
}

/** Whether the field of every two elements is the gradient of a function; `open` shows a pair. */
function pairs({ pairs: list, wrt, wrt2 }, open) {
  if (list.length < 2) return [];
  const rows = list.map((pair) => {
    const same = [pair.wrt, pair.wrt2].sort().join() === [wrt, wrt2].sort().join();
    const button = h("button", { type: "button", disabled: same }, `${pair.wrt}, ${pair.wrt2}`);
    button.addEventListener("click", () => open(pair.wrt, pair.wrt2));
    return [button, verdict(pair)];
  });
  return [table("Every pair of elements", { head: ["elements", "what is returned is the gradient of"], rows })];
}

function verdict({ holds, worst }) {
  if (holds) return "one function";
  return holds === null ? "undecided" : `no function: curl ${format(worst.curl, 3)}`;
}
