// A live figure in the frame of another page: what it tells that page, and what it takes from it.

import { isOfSection } from "../state/address.js";
import { messenger } from "./parent_page.js";

/**
 * The figure of `session`, which takes the values of what is `known(name)`. Returns `tellReady(answer)`, which the page around
 * hears once, as soon as there are curves.
 */
export function framedFigure(session, known) {
  let answered = false;
  let ready = false;

  const tell = messenger((state) => {
    const values = Object.entries(state ?? {}).filter(([name]) => name in session.state && known(name));
    session.move(Object.fromEntries(values.map(([name, value]) => [name, String(value)])));
  });

  function report({ address, verdict: { word, sentence } }) {
    const said = Object.entries(session.stateOf(address)).filter(([name]) => isOfSection(name));
    return { address, state: Object.fromEntries(said), verdict: { word, sentence } };
  }

  session.on("words", (answer) => {
    if (answered) tell("change", report(answer));
    answered = true;
  });
  return {
    tellReady(answer) {
      if (!ready) tell("ready", report(answer));
      ready = true;
    },
  };
}
