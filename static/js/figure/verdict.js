// The verdict in words, and the link to where backward differs out of sight.

import { replaceWords, withCode } from "../dom.js";
import { roundForSpan } from "../number.js";

/**
 * Returns `tell(answer)`, which writes into `box`, or nowhere if there is none. `link(range)` is the address of the
 * section with another range, `follow(range)` goes there.
 */
export function verdictWriter(box, { link, follow }) {
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
    replaceWords(find(".word"), [word]);
    replaceWords(find(".sentence"), withCode(failure?.sentence ?? sentence));
    find(".explanation").hidden = !explanation;
    replaceWords(find(".explanation"), withCode(explanation?.sentence ?? ""));
    find(".opinion").hidden = !answer.gradgradcheck;
    replaceWords(find(".opinion"), withCode(answer.gradgradcheck?.sentence ?? ""));
    offer(rangeBeyond(answer));
  };
}

const FAR = 3; // as many times the range away, and what is drawn now no longer fits in
const LARGEST = 1e300; // that an address takes

/** {start, stop} in which the nearest difference out of sight is seen; null where no address reaches one. */
function rangeBeyond({ start, stop, verdict, wide }) {
  if (verdict.word !== "matches here") return null;
  const span = stop - start;
  const found = (wide?.intervals ?? []).flatMap(([low, high]) => [
    ...((high ?? Infinity) > stop ? [{ at: Math.max(low ?? -Infinity, stop), side: 1 }] : []),
    ...((low ?? -Infinity) < start ? [{ at: Math.min(high ?? Infinity, start), side: -1 }] : []),
  ]);
  const ends = found.filter(({ at }) => Math.abs(at) < LARGEST);
  const away = ({ at, side }) => (side > 0 ? at - stop : start - at);
  if (ends.length === 0) return null;
  const { at, side } = ends.reduce((nearest, each) => (away(each) < away(nearest) ? each : nearest));
  const more = Math.max(span / 2, Math.abs(at) / 2);
  const far = away({ at, side }) > FAR * span;
  const seen = side > 0 ? [far ? at - more : start, at + more] : [at - more, far ? at + more : stop];
  const [low, high] = seen.map((end) => Math.max(-LARGEST, Math.min(LARGEST, end)));
  return { start: roundForSpan(low, high - low), stop: roundForSpan(high, high - low) };
}
