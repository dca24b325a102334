// The legend: each entry is a button that hides its curve, and shows it again.

import { h } from "../dom.js";

/** Makes buttons of the entries in `figure`; returns the names of those that are hidden, and `changed()` hears of others. */
export function legendButtons(figure, changed) {
  const hidden = new Set();
  for (const entry of figure.querySelectorAll("[data-curve]")) {
    const name = entry.dataset.curve;
    const button = h("button", { type: "button", "aria-pressed": "true" }, ...entry.childNodes);
    button.addEventListener("click", () => {
      const shown = hidden.delete(name);
      if (!shown) hidden.add(name);
      button.setAttribute("aria-pressed", shown);
      changed();
    });
    entry.append(button);
  }
  return hidden;
}
