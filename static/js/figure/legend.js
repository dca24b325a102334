// The words around the panels: legend, axes, and what things are called for the first derivative and the second.

import { impliedForward, isKink } from "./traces.js";

/** Bring the words around `figure`, the element, into line with `answer`. Some of them may be left out. */
export function updateLegend(figure, answer, layout) {
  const say = (name, words) => {
    const place = figure.querySelector(`[id$="${name}"]`);
    if (place && place.textContent !== words) place.textContent = words;
  };
  const { upper, lower } = axisWords(answer, layout === "overlaid");
  const bends = ["kink", "cusp"].filter((each) => answer.marks.some(({ kind }) => kind === each));
  const has = curvesIn(answer);
  figure.dataset.layout = layout;
  say("upper-words", upper);
  say("lower-words", lower);
  say("differing", answer.verdict.word === "differs" ? "differ" : "differ by design");
  say("bends", bends.join(", ") || "kink");
  const said = nouns(answer);
  for (const word of figure.querySelectorAll("[data-noun]")) word.textContent = said[word.dataset.noun];
  for (const item of figure.querySelectorAll("[data-curve]")) item.hidden = !has[item.dataset.curve];
}

const curvesIn = (answer) => ({
  forward: true,
  implied: impliedForward(answer),
  surrogate: answer.columns.surrogate,
  analytical: answer.columns.analytical,
  numerical: answer.columns.numerical,
  "surrogate slope": answer.columns.surrogate_numerical,
  disagreement: answer.verdict.intervals.length > 0,
  kinks: answer.marks.some(isKink),
  "closed ends": answer.marks.some(({ kind }) => kind === "jump"),
});

/**
 * For an answer or a state: `forward` is the function that is looked at and `backward` what returns its derivative, `of`
 * what the upper panel measures and `slope` what the lower one does, `drawn` the word for the curve in the upper one;
 * gradients are slopes times `scale`.
 */
export function nouns({ order, of, wrt, grad_output: scale }) {
  if (Number(order) !== 2) {
    return { of, forward: "forward", backward: "backward", drawn: "forward", slope: `grad of ${wrt}`, scale };
  }
  const grad = `grad_${wrt}`;
  return {
    of: grad,
    forward: grad,
    backward: "double backward",
    drawn: "returned by backward",
    slope: `second grad of ${wrt}`,
    scale: 1,
  };
}

/** A title that speaks of forward and backward, for the order that was asked for. */
export const titleFor = (text, asked) => text.replace(/\b(forward|backward)\b/g, (word) => nouns(asked)[word]);

/** What the two y-axes measure, in the words of the op. */
export function axisWords(answer, overlaid) {
  const { of, slope } = nouns(answer);
  const alone = answer.order !== 2 && answer.verdict.word === "no gradient";
  const swept = alone ? `sensitivity to ${answer.wrt}` : slope;
  return { upper: overlaid ? `${of} and ${swept}` : of, lower: swept };
}
