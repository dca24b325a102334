// The view "node", as the server writes it: the picture lies along the page where that has room for it, else upright.

import { contentOf } from "../dom.js";

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

  async function show({ html }) {
    await dressed;
    const open = place.querySelector("details")?.open ?? false;
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
