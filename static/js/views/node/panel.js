// The node, opened: the picture of its graph, and in tables what it holds, what arrived and what left.

import { ledger } from "../../ledger.js";
import { format } from "../../number.js";
import { picture } from "./picture.js";
import { element } from "../../table.js";
import { coded } from "../../figure/words.js";

const BACK = { gradient: ({ label }) => label, none: () => "None", nothing: () => "–" };

export function panel(place, { wear }) {
  const dressed = Promise.all([wear("ledger.css"), wear("node_panel.css")]);
  const drawing = document.createElement("div");
  drawing.className = "drawing";
  let shown = null;
  let room = 0;

  function draw() {
    room = place.clientWidth;
    const family = getComputedStyle(document.documentElement).getPropertyValue("--code");
    drawing.replaceChildren(picture(shown, room, family, told(shown)));
    const wide = drawing.scrollWidth > drawing.clientWidth;
    drawing.tabIndex = wide ? 0 : -1;
  }

  async function show(answer) {
    await dressed;
    const open = place.querySelector("details")?.open ?? false;
    shown = answer;
    const field = document.querySelector("#field-at");
    if (field) field.placeholder = format(answer.at, 6);
    place.replaceChildren(drawing, legend(answer), listed(answer, open), ...answer.functions.map(opened));
    draw();
  }

  function redraw() {
    if (shown && place.clientWidth !== room) draw();
  }

  return { show, redraw, close() {} };
}

const name = ({ kind, lines }) => lines.join(kind === "constant" ? ", " : " ");

/** The picture in one sentence. */
function told({ vertices, edges }) {
  const into = vertices.map((vertex, i) => {
    const sources = edges.filter(({ target }) => target === i).map(({ source }) => name(vertices[source]));
    return sources.length ? `${sources.join(" and ")} into ${name(vertex)}` : "";
  });
  return `Graph: ${into.filter(Boolean).join("; ")}.`;
}

function legend({ vertices, edges }) {
  const samples = [
    ["way", "forward", true],
    ["way back", "the gradient that came back", edges.some(({ back }) => back === "gradient")],
    ["way back none", "None came back", edges.some(({ back }) => back === "none")],
    ["way constant", "needs no gradient", vertices.some(({ kind }) => kind === "constant")],
  ];
  const list = Object.assign(document.createElement("ul"), { className: "legend" });
  for (const [role, text] of samples.filter(([, , there]) => there)) {
    const item = document.createElement("li");
    const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    const line = svg.appendChild(document.createElementNS(svg.namespaceURI, "path"));
    for (const [key, value] of [
      ["viewBox", "0 0 26 10"],
      ["aria-hidden", "true"],
    ])
      svg.setAttribute(key, value);
    for (const [key, value] of [
      ["d", "M1 5H25"],
      ["class", role],
    ])
      line.setAttribute(key, value);
    item.append(svg, element("span", text));
    list.append(item);
  }
  return list;
}

/** The picture as a table, for those who do not see it. */
function listed({ vertices, edges }, open) {
  const box = document.createElement("details");
  box.open = open;
  const rows = edges.map((edge) => [name(vertices[edge.source]), name(vertices[edge.target]), BACK[edge.back](edge)]);
  box.append(element("summary", "The graph as a table"), ledger("Forward and back", ["from", "to", "came back"], rows));
  return box;
}

function opened(one) {
  const box = document.createElement("section");
  box.className = "opened";
  const facts = element("p", "");
  facts.append(...coded(about(one)));
  const title = element("h3", one.name);
  title.append(" ", element("code", one.node));
  box.append(title, facts, ...tables(one));
  return box;
}

function about({ new_style, once, materialize, outputs, arguments: given, count, returned_list, more }) {
  const dirty = given.filter((each) => each.dirty).map((each) => each.name);
  const silent = outputs.filter((each) => each.silent).map((each) => each.name);
  const all = given.length + more.arguments;
  return [
    new_style ? "ctx is filled in setup_context." : "forward takes ctx itself, the old style.",
    once && "backward is marked once_differentiable.",
    outputs.length + more.outputs > 1 && `For an output that is not used backward is given ${materialize ? "zeros" : "None"}.`,
    dirty.length > 0 && `Marked as changed in place: ${dirty.join(", ")}.`,
    silent.length > 0 && `Without a gradient: ${silent.join(", ")}.`,
    returned_list && "backward returned a list, which torch takes for one value.",
    count !== null && count < all && `backward returned ${count} for ${all} arguments.`,
  ]
    .filter(Boolean)
    .join(" ");
}

function tables({ arguments: given, outputs, saved, attributes, ran, more }) {
  const found = [];
  if (given.length) {
    const rows = given.map((each) => [
      each.name,
      value(each.thing),
      needs(each),
      value(each.returned),
      delivered(each),
    ]);
    const head = ["argument", "value", "needs a gradient", "backward returned", "torch delivered"];
    found.push(
      ledger(
        "Into forward, out of backward",
        ran ? head : head.slice(0, 3),
        ran ? rows : rows.map((row) => row.slice(0, 3)),
      ),
      ...others(more.arguments),
    );
  }
  if (outputs.length) {
    const head = ["output", "value", "grad_output that arrived", "strides"];
    const rows = outputs.map((each) => [each.name, value(each.thing), value(each.arrived), strides(each.arrived)]);
    found.push(
      ledger(
        "Out of forward, into backward",
        ran ? head : head.slice(0, 2),
        ran ? rows : rows.map((row) => row.slice(0, 2)),
      ),
      ...others(more.outputs),
    );
  }
  if (saved.length)
    found.push(
      ledger("Saved for backward", ["tensor", "value", "bytes", "memory", "used"], saved.map(kept)),
      ...others(more.saved),
    );
  if (attributes.length) {
    const rows = attributes.map((each) => [each.name, each.thing.kind, value(each.thing), each.role || "–"]);
    found.push(ledger("On ctx", ["attribute", "kind", "value", "is"], rows));
  }
  return found;
}

/** How many there are that are not listed. */
const others = (count) =>
  count > 0 ? [Object.assign(element("p", `… and ${format(count, 6)} more.`), { className: "others" })] : [];

const needs = ({ tracked }) => (tracked ? "yes" : "no");
const strides = (thing) => (thing?.strides ? `[${thing.strides.join(", ")}]` : "–");

function delivered({ thing, tracked, returned, delivered: came }) {
  if (came !== null) return value(came);
  return tracked && thing.shape && returned?.kind === "None" ? "nothing: None counts as zeros" : "–";
}

function kept({ name: called, thing, shares, used }) {
  if (thing === null) return ["None", "–", "0", "–", "–"];
  const memory = shares ? `shared with ${shares}, costs nothing` : "of its own";
  const mine = called || (shares ? `a view of ${shares}` : "a tensor of its own");
  return [mine, value(thing), String(thing.size), memory, { true: "yes", false: "never", null: "–" }[used]];
}

/** A value in short: its shape and dtype, and its first elements. */
function value(thing) {
  if (thing === null || thing === undefined) return "–";
  if (thing.shape === null) return [element("code", thing.text)];
  const kind = [thing.shape.some((size) => size !== 1) ? `[${thing.shape.join(", ")}]` : "", thing.dtype];
  return [element("code", thing.text), " ", element("i", kind.filter(Boolean).join(" "))];
}
