// Which input reaches which output: a picture of lines, the same as a table, and a loss to choose.

import { element } from "../../table.js";
import { coded } from "../../figure/words.js";

const WORDS = {
  arrives: "a gradient arrives",
  dropped: "it moves, no gradient arrives",
  unfounded: "a gradient arrives, it does not move",
  unknown: "cannot be told",
  nothing: "no influence",
};
// The same in a cell of the table.
const SHORT = {
  arrives: "arrives",
  dropped: "dropped",
  unfounded: "arrives, though it does not move",
  unknown: "not known",
  nothing: "none",
};
const NAMESPACE = "http://www.w3.org/2000/svg";
// In units of the picture, which are those of its type.
const [WIDTH, HIGH, TOP] = [360, 34, 34];

/** `show(influence)` fills `place`; which loss is looked at stays chosen as long as there is one of that name. */
export function influence(place) {
  let chosen = "";

  function show(seen) {
    place.hidden = seen === null;
    if (seen === null) return place.replaceChildren();
    const loss = seen.losses.find(({ name }) => name === chosen) ?? seen.losses.find(amiss) ?? seen.losses.at(-1);
    const title = element("h3", "Which input reaches which output");
    const told = document.createElement("p");
    told.append(...coded(loss.sentence));
    told.className = "told";
    told.setAttribute("role", "status");
    const kinds = [...new Set(loss.links.flat())];
    const pictures = loss.failure ? [] : [drawn(seen, loss), legend(kinds)];
    return place.replaceChildren(title, ...choice(seen, loss), told, ...pictures, table(seen, loss));
  }

  function choice(seen, { name: now }) {
    if (seen.losses.length === 1) return [];
    const set = document.createElement("fieldset");
    set.className = "losses";
    set.append(element("legend", "loss on"));
    for (const { name } of seen.losses) {
      const box = Object.assign(document.createElement("input"), { type: "radio", name: "loss", value: name });
      box.checked = name === now;
      const label = document.createElement("label");
      label.append(box, element("span", name));
      set.append(label);
    }
    set.addEventListener("change", ({ target }) => {
      chosen = target.value;
      show(seen);
      place.querySelector(".losses :checked").focus();
    });
    return [set];
  }

  return { show };
}

/** Is this the loss to look at first? */
const amiss = ({ links, failure }) => failure !== null || links.flat().some((kind) => kind === "dropped");

function drawn({ inputs, outputs }, loss) {
  const height = TOP + HIGH * Math.max(inputs.length, outputs.length);
  const svg = made("svg", { viewBox: `0 0 ${WIDTH} ${height}`, class: "influence-picture", role: "img" });
  svg.setAttribute("aria-label", `Inputs on the left, outputs on the right. ${loss.sentence}`);
  const size = { viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 7, markerHeight: 7 };
  const marker = made("marker", { id: "arrives", orient: "auto", ...size });
  marker.append(made("path", { d: "M0 0 8 4 0 8Z" }));
  const middle = (list, i) => TOP + (height - TOP) * ((i + 0.5) / list.length);
  const write = (text, x, y, anchor, name) => {
    const line = made("text", { x, y, "text-anchor": anchor, class: name });
    line.textContent = text.length > 16 ? `${text.slice(0, 15)}…` : text;
    return line;
  };
  const [left, right] = [120, WIDTH - 120];
  svg.append(marker, write("inputs", left, 16, "end", "side"), write("outputs", right, 16, "start", "side"));
  loss.links.forEach((row, i) => {
    const from = middle(outputs, outputs.indexOf(loss.outputs[i]));
    row.forEach((kind, j) => {
      if (kind === "nothing") return;
      const path = made("path", { class: `link ${kind}`, d: `M${right - 8} ${from}L${left + 8} ${middle(inputs, j)}` });
      if (kind === "arrives" || kind === "unfounded") path.setAttribute("marker-end", "url(#arrives)");
      svg.append(path);
    });
  });
  inputs.forEach((name, j) => svg.append(write(name, left, middle(inputs, j) + 5, "end", "tensor")));
  outputs.forEach((name, i) => {
    const aside = loss.outputs.includes(name) ? "" : " aside";
    svg.append(write(name, right, middle(outputs, i) + 5, "start", `tensor${aside}`));
  });
  return svg;
}

function legend(kinds) {
  const list = document.createElement("ul");
  list.className = "scales";
  for (const kind of ["arrives", "dropped", "unfounded", "unknown"].filter((each) => kinds.includes(each))) {
    const sample = made("svg", { viewBox: "0 0 30 10", "aria-hidden": "true" });
    sample.append(made("path", { class: `link ${kind}`, d: "M1 5H29" }));
    const item = document.createElement("li");
    item.append(sample, element("span", WORDS[kind]));
    list.append(item);
  }
  return list;
}

/** The same in words; of one input and one output the picture and the sentence say it all. */
function table({ inputs, outputs }, loss) {
  const grid = document.createElement("table");
  grid.classList.toggle("unseen", inputs.length * outputs.length === 1);
  grid.append(element("caption", `Inputs by outputs, with the loss on ${loss.name}`));
  const head = grid.createTHead().insertRow();
  head.append(element("td", ""), ...loss.outputs.map((name) => heading(name, "col")));
  if (loss.returned.length) head.append(heading("arrived", "col"));
  const body = grid.createTBody();
  inputs.forEach((name, j) => {
    const row = body.insertRow();
    const words = loss.links.map((links) => (loss.failure ? "backward raised" : SHORT[links[j]]));
    row.append(heading(name, "row"), ...words.map((word) => element("td", word)));
    if (loss.returned.length) row.append(element("td", loss.returned[j]));
  });
  return grid;
}

const heading = (text, scope) => Object.assign(element("th", text), { scope });

function made(tag, attributes) {
  const node = document.createElementNS(NAMESPACE, tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  return node;
}
