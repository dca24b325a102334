// The verdict in words, above the figure.

import { beyond } from "./beyond.js";
import { coded } from "./words.js";

/**
 * Returns `tell(answer)`, which writes into `box`, or nowhere if there is none. `link(range)` is the address of the
 * section with another range, `follow(range)` goes there.
 */
export function teller(box, { link, follow }) {
  if (!box) return () => {};
  const find = (name) => box.querySelector(name);
  const onward = find("[id$=beyond]");
  let there = null;

  onward.addEventListener("click", (event) => {
    if (event.metaKey || event.ctrlKey || event.shiftKey) return;
    event.preventDefault();
    follow(there);
  });

  /** A link to the range in which a difference is seen that is out of sight. */
  function offer(range) {
    if (!range && document.activeElement === onward) document.querySelector(".cursor").focus({ preventScroll: true });
    onward.hidden = !range;
    there = range;
    if (range) onward.href = link(range);
  }

  return (answer) => {
    const { verdict, failure } = answer;
    const { word, sentence, explanation } = verdict;
    box.dataset.word = word;
    find("use").setAttribute("href", `#mark-${word.replaceAll(" ", "-")}`);
    say(find(".word"), [word]);
    say(find(".sentence"), coded(failure?.sentence ?? sentence));
    find(".explanation").hidden = !explanation;
    say(find(".explanation"), coded(explanation?.sentence ?? ""));
    find(".opinion").hidden = !answer.gradgradcheck;
    say(find(".opinion"), coded(answer.gradgradcheck?.sentence ?? ""));
    offer(beyond(answer));
  };
}

/** What is not said anew is not announced anew. */
function say(element, pieces) {
  const text = pieces.map((piece) => piece.textContent ?? piece).join("");
  if (element.textContent !== text) element.replaceChildren(...pieces);
}
