// What stands around the panels: the words of the axes, and samples of what is drawn, nothing else.

import { bent, implied } from "./curves.js";
import { axisWords } from "./figure.js";
import { nouns } from "./order.js";

/** Bring the words around `figure`, the element, into line with `answer`. Some of them may be left out. */
export function legend(figure, answer, layout) {
  const say = (name, words) => {
    const place = figure.querySelector(`[id$="${name}"]`);
    if (place && place.textContent !== words) place.textContent = words;
  };
  const { upper, lower } = axisWords(answer, layout === "overlaid");
  const bends = ["kink", "cusp"].filter((each) => answer.marks.some(({ kind }) => kind === each));
  const has = drawn(answer);
  figure.dataset.layout = layout;
  say("upper-words", upper);
  say("lower-words", lower);
  say("differing", answer.verdict.word === "differs" ? "differ" : "differ by design");
  say("bends", bends.join(", ") || "kink");
  const said = nouns(answer);
  for (const word of figure.querySelectorAll("[data-noun]")) word.textContent = said[word.dataset.noun];
  for (const item of figure.querySelectorAll("[data-curve]")) item.hidden = !has[item.dataset.curve];
}

const drawn = (answer) => ({
  forward: true,
  implied: implied(answer),
  surrogate: answer.columns.surrogate,
  analytical: answer.columns.analytical,
  numerical: answer.columns.numerical,
  "surrogate slope": answer.columns.surrogate_numerical,
  disagreement: answer.verdict.intervals.length > 0,
  kinks: answer.marks.some(bent),
  "closed ends": answer.marks.some(({ kind }) => kind === "jump"),
});
