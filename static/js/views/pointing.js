// Links from a finding to the line of the source that it speaks of.

import { element } from "../table.js";

/** Returns `link(line)`, a link that brings the line into sight and marks it, and `clear()`, which marks none. */
export function pointing() {
  const clear = () => {
    for (const marked of document.querySelectorAll(".source .pointed")) marked.classList.remove("pointed");
  };

  /** The ids count from 1, the numbers that are seen from where the source begins in its file. */
  function link(number) {
    const first = Number(document.querySelector(".source")?.dataset.first ?? 1);
    const to = Object.assign(element("a", `line ${number + first - 1}`), { href: `#L${number}` });
    to.addEventListener("click", (event) => {
      event.preventDefault();
      const line = document.getElementById(`L${number}`);
      if (line === null) return;
      clear();
      line.classList.add("pointed");
      const behavior = matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth";
      line.scrollIntoView({ block: "center", behavior });
      line.tabIndex = -1;
      line.focus({ preventScroll: true });
    });
    return to;
  }

  return { link, clear };
}
