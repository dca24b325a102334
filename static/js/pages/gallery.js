// The gallery: a search shows what the server finds, best first. Cards that are still measured are asked for again until
// they are there.

import { ROOT } from "../root.js";
import { showInAddressBar } from "../state/address.js";

const SOON = 1000; // milliseconds, and twice as many after each time that nothing has come
const LATEST = 16000;
const TYPED = 120; // milliseconds without another letter

const box = document.querySelector("#search");
const count = document.querySelector("#found");
const placeOf = (words) => `${ROOT}/${words && `?q=${encodeURIComponent(words)}`}`;
let shown = placeOf(box.value.trim());
let asking = new AbortController();
let typing;

/** Show what is found for the words in the box; resolves to the first card, null where there is none. */
async function search() {
  clearTimeout(typing);
  const place = placeOf(box.value.trim());
  if (place !== shown) {
    asking.abort();
    asking = new AbortController();
    const fresh = await fetchPage(place, asking.signal);
    if (fresh === null || placeOf(box.value.trim()) !== place) return null;
    shown = place;
    document.querySelector("#shelves").replaceWith(fresh.querySelector("#shelves"));
    count.textContent = fresh.querySelector("#found").textContent;
    showInAddressBar(place);
  }
  return document.querySelector("#shelves .card a");
}

/** Put the cards that are measured by now in the place of those that were not. */
async function measured(later) {
  const waiting = [...document.querySelectorAll(".card.measuring")];
  if (waiting.length === 0) return;
  const fresh = document.hidden ? null : await fetchPage(shown);
  const come = waiting.map((card) => [card, fresh?.getElementById(card.id)]).filter(([, now]) => now?.matches(":not(.measuring)"));
  for (const [card, now] of come) {
    const focused = card.contains(document.activeElement);
    card.replaceWith(now);
    if (focused) now.querySelector("a").focus({ preventScroll: true });
  }
  const next = come.length > 0 ? SOON : Math.min(2 * later, LATEST);
  setTimeout(measured, next, next);
}

/** A page as it is now; null while the server does not answer, or nobody wants it any more. */
async function fetchPage(place, signal) {
  try {
    const response = await fetch(place, { headers: { Accept: "text/html" }, signal });
    return new DOMParser().parseFromString(await response.text(), "text/html");
  } catch {
    return null;
  }
}

box.addEventListener("input", () => {
  clearTimeout(typing);
  typing = setTimeout(search, TYPED);
});
box.form.addEventListener("submit", async (event) => {
  event.preventDefault();
  (await search())?.click();
});
addEventListener("keydown", (event) => {
  if (event.key === "Escape" && document.activeElement === box && box.value) {
    box.value = "";
    search();
  }
  if (event.key !== "/" || event.ctrlKey || event.metaKey || event.target.matches("input, textarea, select")) return;
  event.preventDefault();
  box.focus();
});

measured(SOON);
