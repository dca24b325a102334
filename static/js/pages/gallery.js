// The gallery: the search hides cards that do not have every word typed, and groups without cards. Cards that are
// still measured are asked for again until they are there.

import { showInAddressBar } from "../state/address.js";

const SOON = 1000; // milliseconds, and twice as many after each time that nothing has come
const LATEST = 16000;

const box = document.querySelector("#search");
const all = () => [...document.querySelectorAll(".card")];
const groups = [...document.querySelectorAll(".group")];
const guides = [...document.querySelectorAll(".tour, .jump")];
const texts = new Map(all().map((card) => [card, textOf(card)]));
const nothing = document.querySelector("#nothing");
const count = document.querySelector("#found");

// All that a card says, with the name of its group and the words that do not stand on it.
function textOf(card) {
  const group = card.closest(".group").querySelector("h2").textContent;
  return `${card.textContent} ${group} ${card.dataset.search}`.toLowerCase();
}

function filter() {
  const words = box.value.toLowerCase().split(/\s+/).filter(Boolean);
  const cards = all();
  for (const card of cards) card.hidden = !words.every((word) => texts.get(card).includes(word));
  for (const group of groups) group.hidden = !group.querySelector(".card:not([hidden])");
  for (const guide of guides) guide.hidden = words.length > 0;
  const found = cards.filter((card) => !card.hidden);
  nothing.hidden = found.length > 0;
  nothing.querySelector("q").textContent = box.value.trim();
  count.textContent = words.length === 0 ? "" : found.length === 1 ? "1 Function" : `${found.length} Functions`;
  showInAddressBar(words.length > 0 ? `/?search=${encodeURIComponent(box.value.trim())}` : "/");
  const named = (card) => words.every((word) => card.querySelector("h3").textContent.toLowerCase().includes(word));
  return found.find(named) ?? found[0];
}

/** Put the cards that are measured by now in the place of those that were not. */
async function measured(later) {
  const waiting = [...document.querySelectorAll(".card.measuring")];
  if (waiting.length === 0) return;
  const fresh = document.hidden ? null : await fetchPage();
  const come = waiting.map((card) => [card, fresh?.getElementById(card.id)]).filter(([, now]) => now?.matches(":not(.measuring)"));
  for (const [card, now] of come) {
    const focused = card.contains(document.activeElement);
    card.replaceWith(now);
    texts.set(now, textOf(now));
    if (focused) now.querySelector("a").focus({ preventScroll: true });
  }
  if (come.length > 0 && box.value) filter();
  const next = come.length > 0 ? SOON : Math.min(2 * later, LATEST);
  setTimeout(measured, next, next);
}

/** The page as it is now; null while the server does not answer. */
async function fetchPage() {
  try {
    const response = await fetch("/", { headers: { Accept: "text/html" } });
    return new DOMParser().parseFromString(await response.text(), "text/html");
  } catch {
    return null;
  }
}

box.addEventListener("input", filter);
box.form.addEventListener("submit", (event) => {
  event.preventDefault();
  filter()?.querySelector("a").click();
});
addEventListener("keydown", (event) => {
  if (event.key === "Escape" && document.activeElement === box && box.value) {
    box.value = "";
    filter();
  }
  if (event.key !== "/" || event.ctrlKey || event.metaKey || document.activeElement === box) return;
  event.preventDefault();
  box.focus();
});

box.value = new URLSearchParams(location.search).get("search") ?? "";
if (box.value) filter();
measured(SOON);
