// The view "node", as the server writes it: the picture lies along the page where that has room for it, else upright.

import { format } from "../number.js";
import { contentOf } from "./contract.js";

export function panel(place, { loadSheet }) {
  const dressed = loadSheet("node");
  let pictures = []; // along and upright
  let room = 0;

  function draw() {
    room = place.clientWidth;
    const drawing = place.querySelector(".drawing");
    const [along, upright] = pictures;
    if (!along) return;
    drawing.replaceChildren(along.width.baseVal.value <= room ? along : upright);
    drawing.tabIndex = drawing.scrollWidth > drawing.clientWidth ? 0 : -1;
  }

  async function show({ at, html }) {
    await dressed;
    const open = place.querySelector("details")?.open ?? false;
    const field = document.querySelector("#field-at");
    if (field) field.placeholder = format(at, 6);
    place.replaceChildren(contentOf(html));
    pictures = [place, place.querySelector("template").content].map((each) => each.querySelector("svg.graph"));
    place.querySelector("details").open = open;
    draw();
  }

  function redraw() {
    if (place.clientWidth !== room) draw();
  }

  return { show, redraw, close() {} };
}
