// What the server says of a section, put into the page: the legend, the axes, and HTML for single elements.

import { opensElsewhere } from "../dom.js";

const shown = new WeakMap(); // by element the HTML that it was given

/** Fill every element whose id is `side` and a name of `words`, unless it says the same: it would be read out again. */
function writeWords(words, side = "") {
  for (const [name, html] of Object.entries(words ?? {})) {
    const place = document.getElementById(side + name);
    if (place === null || shown.get(place) === html) continue;
    const open = place.querySelector("details")?.open;
    const focused = place.contains(document.activeElement) ? document.activeElement.id : "";
    place.innerHTML = html;
    shown.set(place, html);
    if (open) place.querySelector("details")?.setAttribute("open", "");
    if (focused) (document.getElementById(focused) ?? document.querySelector(".cursor")).focus({ preventScroll: true });
  }
}

/**
 * The verdict in `box`, if there is one: `link(range)` is the address of the section with the range of the link in it,
 * `follow(range)` goes there. Returns `tell(answer, side, live)`, which writes the words of an answer; `live` while a slider
 * is held, which may lie below them.
 */
export function verdictWriter(box, { link, follow }) {
  const rangeOf = ({ dataset }) => ({ start: Number(dataset.start), stop: Number(dataset.stop) });
  box?.addEventListener("click", (event) => {
    const onward = event.target.closest("[data-start]");
    if (!onward || opensElsewhere(event)) return;
    event.preventDefault();
    follow(rangeOf(onward));
  });
  return ({ verdict, words }, side, live) => {
    if (box) keepHeight(box, live);
    writeWords(words, side);
    if (box) box.dataset.word = verdict.word;
    const onward = box?.querySelector("[data-start]");
    if (onward) onward.href = link(rangeOf(onward));
  };
}

/** What is said in the details will be at least as high as what was, and just so as long as it is `live`. */
function keepHeight(box, live) {
  const details = box.querySelector("details[open] > div");
  if (details) box.style.setProperty("--details-height", `${details.getBoundingClientRect().height}px`);
  box.classList.toggle("held", live);
}

/**
 * Bring the words around `figure`, the element, into line with the scene of `answer`, `open` where part of it is not proved.
 * Some of them may be left out.
 */
export function updateLegend(figure, { scene: { axes, legend, nouns } }, layout, open = false) {
  const say = (name, words) => {
    const place = figure.querySelector(`[id$="${name}"]`);
    if (place && place.textContent !== words) place.textContent = words;
  };
  const [upper, lower] = axes[layout].words;
  figure.dataset.layout = layout;
  say("upper-words", upper);
  say("lower-words", lower);
  say("differing", legend.differing);
  say("bends", legend.bends);
  for (const word of figure.querySelectorAll("[data-noun]")) {
    if (word.textContent !== nouns[word.dataset.noun]) word.textContent = nouns[word.dataset.noun];
  }
  const same = figure.dataset.drawn === nouns.drawn; // what was shown keeps its room then: the others stay where they are
  figure.dataset.drawn = nouns.drawn;
  for (const item of figure.querySelectorAll("[data-curve]")) {
    const drawn = item.dataset.curve === "unproved" ? open : legend.curves.includes(item.dataset.curve);
    item.hidden = !drawn && (item.hidden || !same);
    item.classList.toggle("absent", !drawn);
  }
}

/** A title that speaks of forward and backward, with these nouns instead. */
export const titleFor = (text, nouns) => text.replace(/\b(forward|backward)\b/g, (word) => nouns[word]);
