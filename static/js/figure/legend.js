// The legend: each entry is a button that hides its curve, and shows it again; the address keeps what it has a name for.

import { h } from "../dom.js";

const PARTS = { numerical: "numerical", implied: "implied", disagreement: "shading" }; // as `hide` of an address names them

/** Makes buttons of the entries in `figure`; returns the names of those that are hidden, and `changed()` hears of others. */
export function legendButtons(figure, session, changed) {
  const hidden = new Set();
  const buttons = {};
  const kept = () => (session.state.hide ?? "").split(",").filter(Boolean);

  function show(name, shown) {
    hidden[shown ? "delete" : "add"](name);
    buttons[name]?.setAttribute("aria-pressed", shown);
  }

  function toggle(name) {
    const [shown, part] = [hidden.has(name), PARTS[name]];
    const others = kept().filter((each) => each !== part);
    show(name, shown);
    if (part && "hide" in session.usual) session.dress({ hide: (shown ? others : [...others, part]).join(",") });
    changed();
  }

  for (const entry of figure.querySelectorAll("[data-curve]")) {
    const name = entry.dataset.curve;
    const button = h("button", { type: "button", "aria-pressed": "true" }, ...entry.childNodes);
    button.addEventListener("click", () => toggle(name));
    entry.append(button);
    buttons[name] = button;
  }
  session.on("address", () => {
    if (!("hide" in session.usual)) return;
    for (const [name, part] of Object.entries(PARTS)) show(name, !kept().includes(part));
  });
  return hidden;
}
