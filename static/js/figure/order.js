// What the words of a figure call things, of the first derivative and of the second.

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
export const retold = (text, asked) => text.replace(/\b(forward|backward)\b/g, (word) => nouns(asked)[word]);
