// The view "node": the picture of the graph around a call, and in tables what its node holds, got and returned.

import { h, responsiveTable, svg, withCode } from "../../dom.js";
import { format } from "../../number.js";
import { picture } from "./graph.js";

const BACK = { gradient: ({ label }) => label, none: () => "None", nothing: () => "–" };

export function panel(place, { loadSheet }) {
  const dressed = loadSheet("node");
  const drawing = h("div", { class: "drawing" });
  let shown = null;
  let room = 0;

  function draw() {
    room = place.clientWidth;
    const family = getComputedStyle(document.documentElement).getPropertyValue("--code");
    drawing.replaceChildren(picture(shown, room, family, graphSentence(shown)));
    const wide = drawing.scrollWidth > drawing.clientWidth;
    drawing.tabIndex = wide ? 0 : -1;
  }

  async function show(answer) {
    await dressed;
    const open = place.querySelector("details")?.open ?? false;
    shown = answer;
    const field = document.querySelector("#field-at");
    if (field) field.placeholder = format(answer.at, 6);
    place.replaceChildren(drawing, legend(answer), graphTable(answer, open), ...answer.functions.map(functionTables));
    draw();
  }

  function redraw() {
    if (shown && place.clientWidth !== room) draw();
  }

  return { show, redraw, close() {} };
}

const name = ({ kind, lines }) => lines.join(kind === "constant" ? ", " : " ");

/** The picture in one sentence. */
function graphSentence({ vertices, edges }) {
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
  const sample = (role) =>
    svg("svg", { viewBox: "0 0 26 10", "aria-hidden": "true" }, svg("path", { d: "M1 5H25", class: role }));
  const shown = samples.filter(([, , there]) => there);
  return h("ul", { class: "legend" }, ...shown.map(([role, text]) => h("li", {}, sample(role), h("span", {}, text))));
}

/** The picture as a table, for those who do not see it. */
function graphTable({ vertices, edges }, open) {
  const rows = edges.map((edge) => [name(vertices[edge.source]), name(vertices[edge.target]), BACK[edge.back](edge)]);
  const table = responsiveTable("Forward and back", ["from", "to", "came back"], rows);
  return h("details", { open }, h("summary", {}, "The graph as a table"), table);
}

function functionTables(one) {
  const title = h("h3", {}, one.name, " ", h("code", {}, one.node));
  return h("section", { class: "opened" }, title, h("p", {}, ...withCode(about(one))), ...tables(one));
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
      responsiveTable(
        "Into forward, out of backward",
        ran ? head : head.slice(0, 3),
        ran ? rows : rows.map((row) => row.slice(0, 3)),
      ),
      ...moreRows(more.arguments),
    );
  }
  if (outputs.length) {
    const head = ["output", "value", "grad_output that arrived", "strides"];
    const rows = outputs.map((each) => [each.name, value(each.thing), value(each.arrived), strides(each.arrived)]);
    found.push(
      responsiveTable(
        "Out of forward, into backward",
        ran ? head : head.slice(0, 2),
        ran ? rows : rows.map((row) => row.slice(0, 2)),
      ),
      ...moreRows(more.outputs),
    );
  }
  if (saved.length)
    found.push(
      responsiveTable("Saved for backward", ["tensor", "value", "bytes", "memory", "used"], saved.map(savedRow)),
      ...moreRows(more.saved),
    );
  if (attributes.length) {
    const rows = attributes.map((each) => [each.name, each.thing.kind, value(each.thing), each.role || "–"]);
    found.push(responsiveTable("On ctx", ["attribute", "kind", "value", "is"], rows));
  }
  return found;
}

/** How many there are that are not listed. */
const moreRows = (count) =>
  count > 0 ? [h("p", { class: "others" }, `… and ${format(count, 6)} more.`)] : [];

const needs = ({ tracked }) => (tracked ? "yes" : "no");
const strides = (thing) => (thing?.strides ? `[${thing.strides.join(", ")}]` : "–");

function delivered({ thing, tracked, returned, delivered: came }) {
  if (came !== null) return value(came);
  return tracked && thing.shape && returned?.kind === "None" ? "nothing: None counts as zeros" : "–";
}

function savedRow({ name: called, thing, shares, used }) {
  if (thing === null) return ["None", "–", "0", "–", "–"];
  const memory = shares ? `shared with ${shares}, costs nothing` : "of its own";
  const mine = called || (shares ? `a view of ${shares}` : "a tensor of its own");
  return [mine, value(thing), String(thing.size), memory, { true: "yes", false: "never", null: "–" }[used]];
}

/** A value in short: its shape and dtype, and its first elements. */
function value(thing) {
  if (thing === null || thing === undefined) return "–";
  if (thing.shape === null) return [h("code", {}, thing.text)];
  const kind = [thing.shape.some((size) => size !== 1) ? `[${thing.shape.join(", ")}]` : "", thing.dtype];
  return [h("code", {}, thing.text), " ", h("i", {}, kind.filter(Boolean).join(" "))];
}
