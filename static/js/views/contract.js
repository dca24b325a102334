// The view "contract", as the server writes it: what stays open stays open, and a line of the source is brought into sight.

import { calm, contentOf } from "../dom.js";

export function panel(place, { loadSheet }) {
  const dressed = loadSheet("contract");
  const unfolded = new Map(); // by its name whether somebody has opened or closed a part
  let shown = "";

  /** Ticked, torch.compile takes seconds: its badge says so until the answer is there. */
  function compiling({ target }) {
    if (target.name !== "compile" || !target.checked) return;
    place.querySelector(".badge[data-name=compile] i")?.replaceChildren("compiling…");
    shown = "";
  }

  function clicked(event) {
    const part = event.target.closest("summary")?.parentElement;
    if (part) unfolded.set(part.className, !part.open);
    const line = event.target.closest("a[href^='#L']");
    if (!line) return;
    event.preventDefault();
    pointAt(document.querySelector(line.hash));
  }

  document.addEventListener("change", compiling);
  place.addEventListener("click", clicked);

  function close() {
    document.removeEventListener("change", compiling);
    place.removeEventListener("click", clicked);
    clearPointed();
  }

  async function show({ html }) {
    await dressed;
    if (html === shown) return;
    const focused = place.contains(document.activeElement) ? document.activeElement : null;
    const part = focused?.matches("summary") && focused.parentElement.className;
    place.replaceChildren(contentOf(html));
    for (const [name, open] of unfolded) place.querySelector(`details.${name}`)?.toggleAttribute("open", open);
    if (part) place.querySelector(`.${part} > summary`)?.focus({ preventScroll: true });
    shown = html;
  }

  return { show, redraw() {}, close };
}

function clearPointed() {
  for (const marked of document.querySelectorAll(".source .pointed")) marked.classList.remove("pointed");
}

function pointAt(line) {
  if (line === null) return;
  clearPointed();
  line.classList.add("pointed");
  line.scrollIntoView({ block: "center", behavior: calm.matches ? "auto" : "smooth" });
  line.tabIndex = -1;
  line.focus({ preventScroll: true });
}
