// A view that is a figure, as the server draws it. On the map a pointer sets grad_output.

import { contentOf } from "../dom.js";
import { roundForSpan } from "../number.js";

export function panel(place, { put, hold }) {
  let chosen = null; // while a pointer is down
  const map = () => place.querySelector("[data-name=map] .still");

  /** grad_output under the pointer, where the line goes. */
  function follow({ clientY }) {
    const [low, high] = [map().dataset.low, map().dataset.high].map(Number);
    const inside = map().querySelector("svg");
    const { bottom, height } = inside.getBoundingClientRect();
    const share = Math.min(1, Math.max(0, (bottom - clientY) / height));
    chosen = roundForSpan(low + share * (high - low), high - low);
    const y = inside.viewBox.baseVal.height * (1 - (chosen - low) / (high - low));
    for (const line of inside.querySelectorAll(".s-paper, .s-ink")) line.setAttribute("d", `M0 ${y}H${inside.viewBox.baseVal.width}`);
    put("grad_output", String(chosen), true);
  }

  function begin(event) {
    if (!map()?.contains(event.target) || event.button !== 0) return;
    event.preventDefault();
    place.setPointerCapture(event.pointerId);
    hold(true);
    follow(event);
  }

  function end() {
    if (chosen === null) return;
    const last = chosen;
    chosen = null;
    hold(false);
    put("grad_output", String(last), false);
  }

  const drag = (event) => chosen !== null && follow(event);
  const heard = { pointerdown: begin, pointermove: drag, pointerup: end, pointercancel: end };
  for (const [name, hear] of Object.entries(heard)) place.addEventListener(name, hear);

  function close() {
    for (const [name, hear] of Object.entries(heard)) place.removeEventListener(name, hear);
  }

  return { show: ({ html }) => place.replaceChildren(contentOf(html)), redraw() {}, close };
}
