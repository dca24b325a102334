// What training with this backward leads to, in a sentence and two small curves: for gradients that are not the slope.

import { h, svg, withCode } from "../dom.js";
import { latestOnly } from "../state/question.js";

const [WIDTH, HEIGHT, PEN] = [120, 36, 3];
const NOT_THE_SLOPE = ["matches its surrogate", "differs"];

/**
 * Fills `strip` once it comes into sight, and after each settled answer: `address()` is that of the descent, `source`
 * answers it. Returns `tell(word)`, to be told the word of each verdict.
 */
export function descentStrip(strip, { address, source }) {
  const [link, curves] = ["a", "svg"].map((each) => strip.querySelector(each));
  const said = h("span"); // before the link, which stays: the focus may be on it
  link.before(said);
  let seen = false;
  let asked = "";
  let word = "";
  const ask = latestOnly(source, show, blank);

  function show(answer, of) {
    if (of !== asked) return;
    if (!answer.returned || !answer.true) return blank();
    said.replaceChildren(...withCode(`${answer.sentence} `));
    drawLosses(curves, answer.columns);
  }

  function blank() {
    said.replaceChildren();
    curves.replaceChildren();
  }

  function update() {
    if (!seen || address() === asked) return;
    asked = "";
    if (!NOT_THE_SLOPE.includes(word)) return blank();
    asked = address();
    ask(asked);
  }

  new IntersectionObserver(([{ isIntersecting }], observer) => {
    if (!isIntersecting) return;
    seen = true;
    observer.disconnect();
    update();
  }).observe(strip);

  return (told) => {
    word = told;
    update();
  };
}

/** Both losses on one scale, the one of backward in front. */
function drawLosses(picture, { step, loss, true_loss }) {
  const most = Math.max(...[...loss, ...true_loss].filter(Number.isFinite));
  const x = (i) => PEN + (i / Math.max(1, step.length - 1)) * (WIDTH - 2 * PEN);
  const y = (value) => HEIGHT - PEN - (most > 0 ? value / most : 0) * (HEIGHT - 2 * PEN);
  const line = (values, role) => {
    const points = values.flatMap((value, i) => (Number.isFinite(value) ? [`${x(i).toFixed(1)},${y(value).toFixed(1)}`] : []));
    return svg("polyline", { points: points.join(" "), class: `line ${role}` });
  };
  picture.replaceChildren(line(true_loss, "numerical"), line(loss, "analytical"));
}
