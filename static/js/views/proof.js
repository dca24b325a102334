// The view "proof", as the server writes it.

import { contentOf } from "../dom.js";

export function panel(place, { loadSheet }) {
  const dressed = loadSheet("proof");

  async function show({ html }) {
    await dressed;
    place.replaceChildren(contentOf(html));
    offer(document.querySelector("#controls [name=wrt]")?.value);
  }

  /** What can be held in a range. */
  function offer(wrt) {
    const field = document.querySelector("#field-wrt2");
    for (const option of field.options) option.disabled = option.value === wrt;
    field.options[0].textContent = "nothing";
    field.closest(".control").hidden = field.options.length < 3;
  }

  return { show, redraw() {}, close() {} };
}
