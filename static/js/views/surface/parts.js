// What stands around the maps of a surface: their headings and keys, the choice of the component, the pairs.

import { format } from "../../number.js";
import { element } from "../../table.js";

const SVG = "http://www.w3.org/2000/svg";
const TITLES = {
  forward: "forward",
  returned: "returned",
  numerical: "numerical",
  difference: "difference",
};
const RAMPS = { forward: ["neutral", "muted"], signed: ["negative", "neutral", "positive"] };

/** Builds the panel in `place`: {charts, options, pairs, reading, spatial}. */
export function build(place, { chose, space }) {
  const [head, maps, reading, rest] = ["div", "div", "output", "div"].map((tag) => document.createElement(tag));
  [head.className, maps.className, reading.className, rest.className] = ["choices", "maps", "reading", "pairs"];
  const choice = document.createElement("fieldset");
  const button = Object.assign(element("button", "3-D"), { type: "button", id: "surface-space", onclick: space });
  choice.append(element("legend", "Gradient"));
  head.append(choice, button);
  const charts = Object.fromEntries(Object.keys(TITLES).map((name) => [name, chart(maps, name)]));
  place.replaceChildren(head, maps, reading, rest);
  spatial(false);

  function options({ wrt, wrt2 }, component, both) {
    choice.hidden = !both;
    const names = { x: `∂/∂${wrt}`, y: `∂/∂${wrt2}`, length: "length" };
    choice.replaceChildren(
      choice.firstChild,
      ...Object.entries(names).map(([value, text]) => radio(value, text, component, chose)),
    );
  }

  function spatial(on) {
    button.setAttribute("aria-pressed", String(on));
    charts.forward.chart.classList.toggle("spatial", on);
  }
  return { charts, options, reading, pairs: rest, spatial };
}

function radio(value, text, chosen, chose) {
  const label = document.createElement("label");
  const input = Object.assign(document.createElement("input"), {
    type: "radio",
    name: "component",
    value,
    checked: value === chosen,
  });
  input.addEventListener("change", () => chose(value));
  label.append(input, element("span", text));
  return label;
}

function chart(maps, name) {
  const [figure, caption, map, canvas] = ["figure", "figcaption", "div", "div"].map((tag) =>
    document.createElement(tag),
  );
  [figure.className, map.className, canvas.className] = ["chart", "place", "map"];
  figure.dataset.map = name;
  const legend = document.createElement("span");
  legend.className = "key";
  caption.append(element("strong", TITLES[name]), legend);
  canvas.setAttribute("role", "img");
  canvas.setAttribute("aria-label", `${TITLES[name]} as a map`);
  map.append(canvas);
  figure.append(caption, map);
  maps.append(figure);
  return { chart: figure, map, legend };
}

/** The scale of a map beside its heading, or why there is none. */
export function key({ chart, legend }, name, [low, high], { wrt, wrt2, columns, failure }, component) {
  const of = { x: wrt, y: wrt2, length: "both" }[component];
  chart.querySelector("strong").textContent =
    name === "forward" ? "forward" : `${TITLES[name]}, ${component === "length" ? "length" : `∂/∂${of}`}`;
  if (!chart.classList.contains("blank")) {
    legend.replaceChildren(format(low, 3), ramp(name === "forward" ? "forward" : "signed"), format(high, 3));
    if (name === "difference") legend.append(element("span", "blank: within the bound"));
    return;
  }
  const needed = component === "length" ? ["x", "y"] : [component];
  const missing = needed.some((axis) => !columns[`analytical_${axis}`]);
  const none = failure ? "none: backward failed" : missing ? "none is returned" : "nowhere a number";
  legend.replaceChildren(element("span", name === "difference" && !missing ? "none beyond the error bound" : none));
}

function ramp(kind) {
  const node = (tag, attributes, ...children) => {
    const made = document.createElementNS(SVG, tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    made.append(...children);
    return made;
  };
  const names = RAMPS[kind];
  const stops = names.map((name, i) => node("stop", { class: name, offset: i / (names.length - 1) }));
  const id = `surface-${kind}`;
  return node(
    "svg",
    { class: "ramp", viewBox: "0 0 100 10", preserveAspectRatio: "none", "aria-hidden": "true" },
    node("linearGradient", { id }, ...stops),
    node("path", { d: "M0 0H100V10H0Z", fill: `url(#${id})` }),
  );
}

/** Whether the field of every two elements is the gradient of a function; `open` shows a pair. */
export function pairs({ pairs: list, wrt, wrt2 }, open) {
  if (list.length < 2) return [];
  const table = document.createElement("table");
  table.append(element("caption", "Every two elements"));
  const head = table.createTHead().insertRow();
  head.append(
    ...["elements", "what is returned is the gradient of"].map((text) =>
      Object.assign(element("th", text), { scope: "col" }),
    ),
  );
  const body = table.createTBody();
  for (const pair of list) {
    const row = body.insertRow();
    const heading = Object.assign(document.createElement("th"), { scope: "row" });
    const same = [pair.wrt, pair.wrt2].sort().join() === [wrt, wrt2].sort().join();
    const button = Object.assign(element("button", `${pair.wrt}, ${pair.wrt2}`), { type: "button", disabled: same });
    button.addEventListener("click", () => open(pair.wrt, pair.wrt2));
    heading.append(button);
    row.append(heading, element("td", verdict(pair)));
  }
  return [table];
}

function verdict({ holds, worst }) {
  if (holds) return "one function";
  return holds === null ? "cannot be told" : `no function: circulation ${format(worst.circulation, 3)}`;
}
