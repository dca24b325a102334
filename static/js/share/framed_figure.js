// A live figure in the frame of another page: what it tells that page, and what it takes from it.

import { isOfSection } from "../state/address.js";
import { messenger } from "./parent_page.js";

const THEMES = ["auto", "light", "dark"];

/**
 * The figure of `session`, which takes the values of what is `known(name)`. Returns `tellReady(answer)`, which the page around
 * hears once, as soon as there are curves.
 */
export function framedFigure(session, known) {
  const page = document.documentElement;
  let answered = false;
  let ready = false;

  const parentPage = messenger({
    moved(state) {
      const values = Object.entries(state ?? {}).filter(([name]) => name in session.state && known(name));
      session.move(Object.fromEntries(values.map(([name, value]) => [name, String(value)])));
    },
    themed(theme) {
      if (THEMES.includes(theme)) page.dataset.theme = theme;
    },
  });

  function report({ address, verdict: { word, sentence } }) {
    const said = Object.entries(session.stateOf(address)).filter(([name]) => isOfSection(name));
    return { address, state: Object.fromEntries(said), verdict: { word, sentence } };
  }

  /** A page that was given no height tells the one it has. */
  function measure() {
    const { height } = document.body.getBoundingClientRect();
    if (height > 0) parentPage.resized(Math.ceil(height));
  }

  session.on("words", (answer) => {
    if (answered) parentPage.tell("change", report(answer));
    answered = true;
  });
  if (!page.dataset.high) new ResizeObserver(measure).observe(document.body);
  return {
    tellReady(answer) {
      if (!ready) parentPage.tell("ready", report(answer));
      ready = true;
    },
  };
}
