// The graph around one call as a picture: forward as lines, what came back as dots, what is no tensor dashed.

import { arrange, BESIDE, curve, middle } from "./layout.js";

const EDGE = 12; // around the picture
const HEAD = 5; // of an arrow
const FONTS = { called: "13px", node: "11px", label: "11.5px" };
const NONE = "None";

/** Draws `answer` as an SVG of at most `room` pixels, if it can be; `family` is the face of code, `title` its name. */
export function picture(answer, room, family, title) {
  const { width, height, down, boxes, ways } = arrange(answer, ruler(family), room - 2 * EDGE);
  const box = [-EDGE, -EDGE, width + 2 * EDGE, height + 2 * EDGE];
  const svg = node("svg", {
    ...{ viewBox: box.join(" "), width: box[2], height: box[3], class: "graph", role: "img", "aria-label": title },
  });
  svg.append(node("defs", {}, arrow("forward"), arrow("backward")));
  svg.append(...answer.edges.flatMap((edge, i) => flow(edge, answer.vertices[edge.source].kind, ways[i], down)));
  svg.append(...boxes.map(vertex));
  svg.append(...answer.edges.map((edge, i) => label(edge, ways[i], down)).filter(Boolean));
  return svg;
}

function ruler(family) {
  const pen = document.createElement("canvas").getContext("2d");
  return (text, role) => {
    pen.font = `${FONTS[role]} ${family}`;
    return pen.measureText(text).width;
  };
}

/** An edge: the way forward, and beside it the way back, if backward went it. */
function flow({ back }, from, points, down) {
  const way = (role, aside, some, marked) =>
    node("path", { class: role, d: curve(some, aside, down), ...(marked && { "marker-end": `url(#${marked}-head)` }) });
  if (from === "constant" || back === "nothing") {
    return [way(from === "constant" ? "way constant" : "way", 0, points, "forward")];
  }
  const returned = [...points].reverse();
  const dots =
    back === "gradient" ? way("way back", BESIDE, returned, "backward") : way("way back none", BESIDE, returned);
  return [way("way", -BESIDE, points, "forward"), dots];
}

function label({ back, label: text }, points, down) {
  if (back === "nothing") return null;
  const { x, y } = middle(points);
  const [dx, dy] = down ? [BESIDE + 7, 4] : [0, BESIDE + 14];
  const role = back === "gradient" ? "label" : "label none";
  return written(back === "gradient" ? text : NONE, role, x + dx, y + dy, down ? "start" : "middle");
}

function vertex({ kind, x, y, width, height, texts }) {
  const group = node("g", { class: `vertex ${kind}` });
  if (kind !== "input" && kind !== "output") {
    group.append(node("rect", { x: x - width / 2, y: y - height / 2, width, height, rx: 5 }));
  }
  group.append(...texts.map(({ text, role, y: line }) => written(text, role, x, y + line + 4, "middle")));
  return group;
}

function written(text, role, x, y, anchor) {
  const found = node("text", { x, y, class: role, "text-anchor": anchor });
  found.textContent = text;
  return found;
}

function arrow(role) {
  const size = { markerWidth: HEAD, markerHeight: HEAD, refX: HEAD - 0.5, refY: HEAD / 2 };
  const head = node("path", { d: `M0 0L${HEAD} ${HEAD / 2}L0 ${HEAD}Z`, class: `head-${role}` });
  return node("marker", { id: `${role}-head`, orient: "auto", markerUnits: "userSpaceOnUse", ...large(size) }, head);
}

/** The marker of an arrow that is as large as its lines are thick. */
const large = ({ markerWidth, markerHeight, ...at }) => ({
  ...at,
  ...{ markerWidth: 1.6 * markerWidth, markerHeight: 1.6 * markerHeight, viewBox: `0 0 ${HEAD} ${HEAD}` },
});

function node(tag, attributes, ...children) {
  const found = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) found.setAttribute(name, value);
  found.append(...children);
  return found;
}
