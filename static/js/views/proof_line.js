// What is proved of the section that is drawn, in a line beside the verdict: asked for once that is settled.

import { joinQueries } from "../state/address.js";
import { askServer, latestOnly } from "../state/question.js";
import { contentOf } from "../dom.js";

const PAUSE = 300; // ms that somebody rests between two steps before what holds there is asked: a proof costs as much as curves
const REST = 1500; // ms that somebody stays before more boxes are looked at
const MOST = 8000; // boxes, as server/protocol/question.py has it

/**
 * Fills `place` after each settled answer of `session`; `figure` shows where nothing is proved. Returns {expire}, for when
 * the same address has another answer by now.
 */
export function proofLine(place, session, figure) {
  let asked = "";
  let timer = 0;
  let visited = false; // is this not the first section that is seen?
  let held = null; // what is said holds for each grad_output from `low` to `high`, of the address without it
  const ask = latestOnly(askServer, show, clear);

  function address(options = "") {
    return `${session.path}.page.json${joinQueries(session.parts().section, `?view=proof${options}`)}`;
  }

  function withoutGradOutput() {
    const [path, query] = address().split("?");
    const others = new URLSearchParams(query);
    others.delete("grad_output");
    return `${path}?${others}`;
  }

  function stillHolds() {
    const given = Number(session.state.grad_output);
    return held !== null && held.low <= given && given <= held.high && held.address === withoutGradOutput();
  }

  function tell() {
    const wanted = address();
    if (session.dragging || wanted === asked) return;
    if (stillHolds()) {
      asked = wanted;
      return;
    }
    clear();
    if (session.state.order !== "1") return; // it is about the first derivative
    asked = wanted;
    if (visited) timer = setTimeout(ask, PAUSE, wanted);
    else ask(wanted);
    visited = true;
  }

  /** What stands there holds no longer; its room is kept. */
  function clear() {
    asked = "";
    held = null;
    clearTimeout(timer);
    if (!place.firstElementChild) return;
    place.style.minHeight = `${place.getBoundingClientRect().height}px`;
    place.dataset.open = place.querySelector("details")?.open ?? false;
    place.replaceChildren();
    delete place.dataset.of;
    figure.plot.leaveOpen([]);
  }

  function show({ line, undecided, holds }, of) {
    const more = address(`&boxes=${MOST}`);
    if (!line || asked !== address() || (of !== asked && of !== more)) return;
    const open = place.querySelector("details")?.open ?? place.dataset.open === "true";
    place.replaceChildren(contentOf(line));
    place.querySelector("details").open = open;
    place.style.minHeight = "";
    place.dataset.of = of;
    held = holds && undecided.length === 0 ? { low: holds[0], high: holds[1], address: withoutGradOutput() } : null;
    figure.plot.leaveOpen(undecided);
    if (of !== more && undecided.length > 0) timer = setTimeout(() => document.hidden || ask(more), REST);
  }

  session.on("answer", () => address() === asked || stillHolds() || clear());
  session.on("words", tell);
  return { expire: clear };
}
