// The graph around one call as a picture: forward as lines, gradients that came back as dots, constants dashed.

import { svg } from "../../dom.js";

const EDGE = 12; // around the picture
const HEAD = 5; // of an arrow
const FONTS = { called: "13px", node: "11px", label: "11.5px" };
const NONE = "None";

/** Draws `answer` as an SVG of at most `room` pixels, if it can be; `family` is the face of code, `title` its name. */
export function picture(answer, room, family, title) {
  const { width, height, down, boxes, ways } = arrange(answer, ruler(family), room - 2 * EDGE);
  const box = [-EDGE, -EDGE, width + 2 * EDGE, height + 2 * EDGE];
  const drawing = svg("svg", {
    ...{ viewBox: box.join(" "), width: box[2], height: box[3], class: "graph", role: "img", "aria-label": title },
  });
  drawing.append(svg("defs", {}, arrow("forward"), arrow("backward")));
  drawing.append(...answer.edges.flatMap((edge, i) => flow(edge, answer.vertices[edge.source].kind, ways[i], down)));
  drawing.append(...boxes.map(vertex));
  drawing.append(...answer.edges.map((edge, i) => label(edge, ways[i], down)).filter(Boolean));
  return drawing;
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
    svg("path", { class: role, d: curve(some, aside, down), ...(marked && { "marker-end": `url(#${marked}-head)` }) });
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
  const group = svg("g", { class: `vertex ${kind}` });
  if (kind !== "input" && kind !== "output") {
    group.append(svg("rect", { x: x - width / 2, y: y - height / 2, width, height, rx: 5 }));
  }
  group.append(...texts.map(({ text, role, y: line }) => written(text, role, x, y + line + 4, "middle")));
  return group;
}

function written(text, role, x, y, anchor) {
  return svg("text", { x, y, class: role, "text-anchor": anchor }, text);
}

function arrow(role) {
  const size = { markerWidth: HEAD, markerHeight: HEAD, refX: HEAD - 0.5, refY: HEAD / 2 };
  const head = svg("path", { d: `M0 0L${HEAD} ${HEAD / 2}L0 ${HEAD}Z`, class: `head-${role}` });
  return svg("marker", { id: `${role}-head`, orient: "auto", markerUnits: "userSpaceOnUse", ...large(size) }, head);
}

/** The marker of an arrow that is as large as its lines are thick. */
const large = ({ markerWidth, markerHeight, ...at }) => ({
  ...at,
  ...{ markerWidth: 1.6 * markerWidth, markerHeight: 1.6 * markerHeight, viewBox: `0 0 ${HEAD} ${HEAD}` },
});

const PAD = 9; // inside a box
const LINE = 17; // from one line of a text to the next
const LANE = 26; // from one edge to the next beside it, where they meet a box
const APART = 16; // between neighbours in a layer
const BESIDE = 4; // how far the way forward and the way back are from the middle of an edge
const STEPS = { along: 84, down: 46 }; // from layer to layer, with room for what stands beside an edge

/**
 * Places for the `vertices` and `edges` of an answer; `measure(text, role)` is the length of a text. The layers go from
 * left to right if that fits in `room` pixels, else from top to bottom. Returns {width, height, down, boxes, ways}: a
 * box has its middle, its size and its `texts` (each {text, role, y}), a way the points that it goes through.
 */
function arrange({ vertices, edges }, measure, room) {
  const along = placed(vertices, edges, measure, false);
  return along.width <= room ? along : placed(vertices, edges, measure, true);
}

function placed(vertices, edges, measure, down) {
  const boxes = vertices.map((vertex, i) => sized(vertex, measure, lanes(edges, i), down));
  const passes = edges.flatMap((edge, i) =>
    edge.path.map(([layer, row]) => ({ edge: i, layer, row, width: 0, height: 0 })),
  );
  const items = [...boxes, ...passes];
  const layers = Map.groupBy(items, ({ layer }) => layer);
  const [main, across] = down ? ["height", "width"] : ["width", "height"];
  const last = Math.max(...layers.keys());
  const wide = Math.max(...[...layers.values()].map((layer) => extent(layer, across)));
  let at = 0;
  for (let level = 0; level <= last; level += 1) {
    const layer = (layers.get(level) ?? []).sort((a, b) => a.row - b.row);
    const deep = Math.max(0, ...layer.map((item) => item[main]));
    let beside = (wide - extent(layer, across)) / 2;
    for (const item of layer) {
      const [x, y] = [at + deep / 2, beside + item[across] / 2];
      Object.assign(item, down ? { x: y, y: x } : { x, y });
      beside += item[across] + APART;
    }
    at += deep + (level < last ? (down ? STEPS.down : STEPS.along) : 0);
  }
  const size = down ? { width: wide, height: at } : { width: at, height: wide };
  return { ...size, down, boxes, ways: ways(edges, boxes, passes, down) };
}

const extent = (layer, across) => layer.reduce((sum, item) => sum + item[across], APART * (layer.length - 1));

/** How many edges a vertex has on its busier side. */
const lanes = (edges, i) =>
  Math.max(...["source", "target"].map((end) => edges.filter((edge) => edge[end] === i).length));

function sized({ kind, lines, node, layer, row }, measure, many, down) {
  const bare = kind === "input" || kind === "output";
  const type = down && bare ? node.split(/(?<=[a-z])(?=[A-Z])/) : [node];
  const texts = [
    [lines, "called"],
    [type.filter(Boolean), "node"],
  ].flatMap(([all, role]) => all.map((text) => ({ text, role })));
  const width = Math.max(...texts.map(({ text, role }) => measure(text, role))) + (bare ? 8 : 2 * PAD);
  const height = LINE * texts.length + (bare ? 6 : PAD);
  const needed = LANE * many;
  texts.forEach((each, i) => (each.y = LINE * (i - (texts.length - 1) / 2)));
  return {
    ...{ kind, layer, row, texts },
    width: down ? Math.max(width, needed) : width,
    height: down ? height : Math.max(height, needed),
  };
}

/** The points of every edge: from the side of its source through the layers between to the side of its target. */
function ways(edges, boxes, passes, down) {
  const cross = down ? "x" : "y";
  const through = edges.map((_, i) => passes.filter(({ edge }) => edge === i));
  const starts = ports(edges, boxes, "source", (edge, i) => (through[i][0] ?? boxes[edge.target])[cross]);
  const ends = ports(edges, boxes, "target", (edge, i) => (through[i].at(-1) ?? boxes[edge.source])[cross]);
  const side = (box, shift, sign) =>
    down
      ? { x: box.x + shift, y: box.y + (sign * box.height) / 2 }
      : { x: box.x + (sign * box.width) / 2, y: box.y + shift };
  return edges.map(({ source, target }, i) => [
    side(boxes[source], starts[i], 1),
    ...through[i].map(({ x, y }) => ({ x, y })),
    side(boxes[target], ends[i], -1),
  ]);
}

/** How far from the middle of a box each edge meets it, in the order of where the other ends lie. */
function ports(edges, boxes, end, other) {
  const shifts = edges.map(() => 0);
  boxes.forEach((_, box) => {
    const mine = edges.map((edge, i) => ({ edge, i })).filter(({ edge }) => edge[end] === box);
    mine.sort((a, b) => other(a.edge, a.i) - other(b.edge, b.i) || a.i - b.i);
    mine.forEach(({ i }, place) => (shifts[i] = LANE * (place - (mine.length - 1) / 2)));
  });
  return shifts;
}

/** A smooth path through `points`, `aside` pixels to one side of them; it leaves and arrives straight. */
function curve(points, aside, down) {
  const moved = points.map(({ x, y }) => (down ? [x + aside, y] : [x, y + aside]));
  const [[x, y], ...rest] = moved;
  let path = `M${x} ${y}`;
  let from = moved[0];
  for (const to of rest) {
    const bend = down ? (to[1] - from[1]) / 2 : (to[0] - from[0]) / 2;
    const [c, d] = down
      ? [
          [from[0], from[1] + bend],
          [to[0], to[1] - bend],
        ]
      : [
          [from[0] + bend, from[1]],
          [to[0] - bend, to[1]],
        ];
    path += `C${c} ${d} ${to}`;
    from = to;
  }
  return path;
}

/** The middle of a way. */
function middle(points) {
  const i = Math.max(1, Math.floor(points.length / 2));
  return { x: (points[i - 1].x + points[i].x) / 2, y: (points[i - 1].y + points[i].y) / 2 };
}
