// What a term of the glossary means, beside the term: where the pointer rests, the keyboard's focus is, or a finger taps.

import { h } from "./dom.js";
import { ROOT } from "./root.js";

const APART = 6; // pixels between a term and its definition
let glossary;

/** The page of the glossary, asked for once, and again only if it did not come. */
function glossaryPage() {
  glossary ??= fetch(`${ROOT}/glossary`).then(async (reply) => new DOMParser().parseFromString(await reply.text(), "text/html"));
  glossary.catch(() => (glossary = undefined));
  return glossary;
}

/** Show the definitions of the terms of this page, now and after every redraw. A term that shows its own is a link. */
export function showDefinitions() {
  const note = h("p", { id: "definition", class: "definition", role: "tooltip", popover: "manual" });
  let term = null;
  document.body.append(note);

  async function show(next) {
    if (term === next) return;
    hide();
    term = next;
    const entry = (await glossaryPage().catch(() => null))?.getElementById(next.hash.slice(1));
    if (term !== next || !entry || !next.isConnected) return;
    note.replaceChildren(...[...entry.querySelector("p").childNodes].map((node) => document.importNode(node, true)));
    next.setAttribute("aria-describedby", note.id);
    note.showPopover();
    place(note, next.getBoundingClientRect());
  }

  function hide() {
    term?.removeAttribute("aria-describedby");
    term = null;
    if (note.matches(":popover-open")) note.hidePopover();
  }

  const at = ({ target }) => target.closest?.(".term");
  document.addEventListener("pointerover", (event) => {
    if (event.pointerType !== "mouse") return;
    if (at(event)) show(at(event));
    else if (!note.contains(event.target) && term !== document.activeElement) hide();
  });
  document.addEventListener("focusin", (event) => (at(event)?.matches(":focus-visible") ? show(at(event)) : hide()));
  document.addEventListener("keydown", (event) => event.key === "Escape" && hide());
  document.addEventListener("click", (event) => {
    if (!at(event)) return hide();
    if (at(event) !== term) event.preventDefault();
    show(at(event));
  });
}

/** Put `note` under the box of a term, or above it where there is no room, and within the page's width. */
function place(note, box) {
  const { offsetWidth, offsetHeight } = note;
  const under = box.bottom + APART + offsetHeight <= innerHeight;
  const left = Math.max(8, Math.min(box.left, document.documentElement.clientWidth - offsetWidth - 8));
  note.style.left = `${left + scrollX}px`;
  note.style.top = `${(under ? box.bottom + APART : box.top - APART - offsetHeight) + scrollY}px`;
}
