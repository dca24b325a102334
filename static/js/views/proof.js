// The view "proof", as the server writes it.

import { contentOf } from "../dom.js";

export function panel(place, { loadSheet }) {
  const dressed = loadSheet("proof");

  async function show({ html }) {
    await dressed;
    place.replaceChildren(contentOf(html));
  }

  return { show, redraw() {}, close() {} };
}
