// One of the two figures of a pair: what section.js is to a page of its own, without a form and an address.

import { nearest } from "../nearest.js";
import { plotter } from "../figure/plot.js";
import { reader } from "../figure/reading.js";
import { tracer } from "../figure/trace.js";
import { teller } from "../figure/verdict.js";

let leading = null; // the side on which a hand moves the cursor

/**
 * `load`, `zoomed` and `widened` are those of a plotter, `link(range)` is the address of another range, and `other()`
 * the other side, which shows the cursor where this one has it.
 */
export function side(root, name, { load, zoomed, widened, link, other }) {
  const find = (part) => document.querySelector(`#${name}-${part}`);
  let following = false;

  const plot = plotter(find("canvas"), { load, zoomed, widened, drawn });
  const read = reader(find("reading"), () => plot.state().answer);
  const parts = { canvas: find("canvas"), overlay: find("overlay"), cursor: find("cursor") };
  const trace = tracer(parts, plot, placed, () => {});
  const tellVerdict = teller(find("verdict"), { link, follow: ({ start, stop }) => zoomed(start, stop) });

  /** The cursor is at `row`, null for nowhere; what is said of it is said of the other side as well. */
  function placed(row, first) {
    const words = read(row, first);
    if (following && (leading !== null || row === null)) return words;
    leading = row === null ? null : { name, x: plot.state().answer.columns.x[row] };
    const beside = other().follow();
    return words && beside ? `${words}. ${other().title}: ${beside}` : words;
  }

  /** Take the cursor to where the other side has it; returns the words for it. */
  function follow() {
    if (!plot.state()?.answer.columns.x.length) return "";
    following = true;
    const words = trace.follow(leading === null ? null : nearest(plot.state().answer.columns.x, leading.x));
    following = false;
    return words ?? "";
  }

  function drawn() {
    following = leading?.name !== name;
    trace.refresh();
    following = false;
    if (leading !== null && leading.name !== name) follow();
  }

  function tell(answer) {
    tellVerdict(answer);
    find("own").textContent = answer.own;
    find("found").querySelector("use").setAttribute("href", `#mark-${answer.verdict.word.replaceAll(" ", "-")}`);
    find("found").querySelector("span").textContent = answer.verdict.word;
    find("alone").href = answer.address;
    for (const line of document.querySelectorAll(`[id^=${name}-L].failed`)) line.classList.remove("failed");
    if (answer.failure?.line) document.querySelector(`#${name}-L${answer.failure.line}`)?.classList.add("failed");
  }

  const owns = (word) => root.dataset.words.split(" ").includes(word);
  const title = root.querySelector("h2").firstChild.textContent.trim();
  return { name, title, plot, lower: find("head-lower"), tell, follow, owns };
}
