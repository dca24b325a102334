// Pointer and keys on the maps of a surface: hover reads all of them at one point, a click holds it, a drag chooses a
// part, arrow keys walk.

import { setAttributes, svg } from "../../dom.js";

const STILL = 4; // pixels that a click may move
const DOUBLE = 250; // milliseconds in which a second click makes a double one
const KEYS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
const clamp = (value) => Math.min(1, Math.max(0, value));

/**
 * Lays a sheet over a map; one with a `label` is for keys too. `frame()` tells {left, top, width, height} of its panel in pixels. Called back are
 * `seen(share)` with a place as shares of the panel from the left and from below, null for none; `picked(share)`;
 * `chosen([from, to])`; `widened()`; `walked(columns, rows)`. Returns {mark(share)}, which shows a place.
 */
export function pointer(place, { frame, label, seen, picked, chosen, widened, walked }) {
  const said = label ? { tabindex: "0", role: "application", "aria-label": label } : { "aria-hidden": "true" };
  const sheet = place.appendChild(svg("svg", { class: "hand", ...said }));
  const part = (name, tag) => sheet.appendChild(svg(tag, { class: name }));
  const [box, upright, level] = [part("choice", "rect"), part("hairline", "path"), part("hairline", "path")];
  let from = null;
  let click = 0;

  const inside = ({ clientX, clientY }) => {
    const [{ left, top, width, height }, at] = [frame(), sheet.getBoundingClientRect()];
    return [clamp((clientX - at.left - left) / width), clamp(1 - (clientY - at.top - top) / height)];
  };
  const spot = ([x, y]) => {
    const { left, top, width, height } = frame();
    return [left + x * width, top + (1 - y) * height];
  };

  function mark(share) {
    for (const line of [upright, level]) line.toggleAttribute("hidden", share === null);
    if (share === null) return;
    const [{ left, top, width, height }, [x, y]] = [frame(), spot(share)];
    upright.setAttribute("d", `M${x} ${top}V${top + height}`);
    level.setAttribute("d", `M${left} ${y}H${left + width}`);
  }

  function stretch(to) {
    const [[x0, y0], [x1, y1]] = [spot(from), spot(to)];
    const [width, height] = [Math.abs(x1 - x0), Math.abs(y1 - y0)];
    const moved = Math.max(width, height) > STILL;
    box.toggleAttribute("hidden", !moved);
    setAttributes(box, { x: Math.min(x0, x1), y: Math.min(y0, y1), width, height });
    return moved;
  }

  sheet.addEventListener("pointermove", (event) => {
    const at = inside(event);
    seen(at);
    if (from !== null) stretch(at);
  });
  sheet.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    from = inside(event);
    if (event.pointerType === "mouse") sheet.setPointerCapture(event.pointerId);
  });
  sheet.addEventListener("pointerup", (event) => {
    if (from === null) return;
    const [start, to] = [from, inside(event)];
    const moved = stretch(to);
    end();
    clearTimeout(click);
    if (!moved) click = setTimeout(picked, DOUBLE, to);
    else if (event.pointerType === "mouse") chosen([start, to]);
  });
  function end() {
    from = null;
    box.setAttribute("hidden", "");
  }
  sheet.addEventListener("pointercancel", end); // a finger that scrolls the page
  sheet.addEventListener("pointerleave", ({ pointerType }) => pointerType !== "touch" && seen(null));
  sheet.addEventListener("dblclick", () => {
    clearTimeout(click);
    widened();
  });
  sheet.addEventListener("keydown", (event) => {
    const step = KEYS[event.key];
    if (!step || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    walked(...step.map((each) => each * (event.shiftKey ? 10 : 1)));
  });
  end();
  mark(null);
  return { mark };
}
