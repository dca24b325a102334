// Which input reaches which output: a picture of lines, the same as a table, and a loss to choose.

import { grid, h, svg, withCode } from "../../dom.js";

const WORDS = {
  arrives: "a gradient arrives",
  dropped: "it moves, no gradient arrives",
  unfounded: "a gradient arrives, it does not move",
  unknown: "undecided",
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
// In units of the picture, which are those of its type.
const [WIDTH, HIGH, TOP] = [360, 34, 34];

/** `show(influence)` fills `place`; which loss is looked at stays chosen as long as there is one of that name. */
export function influence(place) {
  let chosen = "";

  function show(seen) {
    place.hidden = seen === null;
    if (seen === null) return place.replaceChildren();
    const loss = seen.losses.find(({ name }) => name === chosen) ?? seen.losses.find(hasDropped) ?? seen.losses.at(-1);
    const title = h("h3", {}, "Which input reaches which output");
    const told = h("p", { class: "told", role: "status" }, ...withCode(loss.sentence));
    const kinds = [...new Set(loss.links.flat())];
    const pictures = loss.failure ? [] : [drawPicture(seen, loss), legend(kinds)];
    return place.replaceChildren(title, ...choice(seen, loss), told, ...pictures, table(seen, loss));
  }

  function choice(seen, { name: now }) {
    if (seen.losses.length === 1) return [];
    const words = seen.losses.map(({ name }) => {
      const box = h("input", { type: "radio", name: "loss", value: name, checked: name === now });
      return h("label", {}, box, h("span", {}, name));
    });
    const set = h("fieldset", { class: "choices" }, h("legend", {}, "loss on"), ...words);
    set.addEventListener("change", ({ target }) => {
      chosen = target.value;
      show(seen);
      place.querySelector(".choices :checked").focus();
    });
    return [set];
  }

  return { show };
}

/** Is this the loss to look at first? */
const hasDropped = ({ links, failure }) => failure !== null || links.flat().some((kind) => kind === "dropped");

function drawPicture({ inputs, outputs }, loss) {
  const height = TOP + HIGH * Math.max(inputs.length, outputs.length);
  const picture = svg("svg", { viewBox: `0 0 ${WIDTH} ${height}`, class: "influence-picture", role: "img" });
  picture.setAttribute("aria-label", `Inputs on the left, outputs on the right. ${loss.sentence}`);
  const size = { viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 7, markerHeight: 7 };
  const marker = svg("marker", { id: "arrives", orient: "auto", ...size }, svg("path", { d: "M0 0 8 4 0 8Z" }));
  const middle = (list, i) => TOP + (height - TOP) * ((i + 0.5) / list.length);
  const write = (text, x, y, anchor, name) => {
    const short = text.length > 16 ? `${text.slice(0, 15)}…` : text;
    return svg("text", { x, y, "text-anchor": anchor, class: name }, short);
  };
  const [left, right] = [120, WIDTH - 120];
  picture.append(marker, write("inputs", left, 16, "end", "side"), write("outputs", right, 16, "start", "side"));
  loss.links.forEach((row, i) => {
    const from = middle(outputs, outputs.indexOf(loss.outputs[i]));
    row.forEach((kind, j) => {
      if (kind === "nothing") return;
      const path = svg("path", { class: `link ${kind}`, d: `M${right - 8} ${from}L${left + 8} ${middle(inputs, j)}` });
      if (kind === "arrives" || kind === "unfounded") path.setAttribute("marker-end", "url(#arrives)");
      picture.append(path);
    });
  });
  inputs.forEach((name, j) => picture.append(write(name, left, middle(inputs, j) + 5, "end", "tensor")));
  outputs.forEach((name, i) => {
    const aside = loss.outputs.includes(name) ? "" : " aside";
    picture.append(write(name, right, middle(outputs, i) + 5, "start", `tensor${aside}`));
  });
  return picture;
}

function legend(kinds) {
  const shown = ["arrives", "dropped", "unfounded", "unknown"].filter((each) => kinds.includes(each));
  const items = shown.map((kind) => {
    const line = svg("path", { class: `link ${kind}`, d: "M1 5H29" });
    return h("li", {}, svg("svg", { viewBox: "0 0 30 10", "aria-hidden": "true" }, line), h("span", {}, WORDS[kind]));
  });
  return h("ul", { class: "scales" }, ...items);
}

/** The same in words; of one input and one output the picture and the sentence say it all. */
function table({ inputs, outputs }, loss) {
  const came = loss.returned.length > 0;
  const rows = inputs.map((name, j) => {
    const words = loss.links.map((links) => (loss.failure ? "backward raised" : SHORT[links[j]]));
    return [name, ...words, ...(came ? [loss.returned[j]] : [])];
  });
  const head = ["", ...loss.outputs, ...(came ? ["arrived"] : [])];
  const made = grid(`Inputs by outputs, with the loss on ${loss.name}`, { head, rows });
  made.classList.toggle("unseen", inputs.length * outputs.length === 1);
  return made;
}
