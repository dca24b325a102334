// The page that is a file of its own: a session whose answers came with it. Its sliders step through their values.

import { makeScrollable } from "../dom.js";
import { soleFigure } from "../figure/live_figure.js";
import { loadPlotly } from "../figure/plot.js";
import { soundButton } from "../figure/sound.js";
import { closestIndex } from "../number.js";
import { Session } from "../state/session.js";

const find = (selector) => document.querySelector(selector);

const session = new Session(stored(JSON.parse(find("#answers").textContent)), find("#controls").dataset.search);
const figure = soleFigure(session, { load: () => loadPlotly("curves") });
const sound = soundButton(figure);

session.on("words", sound.stop); // what is heard is no longer what is seen
makeScrollable(document.querySelectorAll(".formulas dd, .scroll"));
session.start();

/** What stands in for the server in a file of its own: answers addresses from `stored`: with the nearest values that there are. */
function stored({ axes, parts, pool, documents }) {
  function answer(said) {
    const places = axes.map((axis) => place(axis, said.get(axis.name) ?? axis.usual));
    const at = axes.reduce((row, { values }, i) => row * values.length + places[i], 0);
    const found = { columns: {} };
    documents[at].forEach((spot, i) => {
      const [, column] = parts[i].match(/^columns\.(.*)/) ?? [];
      if (spot >= 0 && column) found.columns[column] = pool[spot];
      else if (spot >= 0) found[parts[i]] = pool[spot];
    });
    return found;
  }

  return async (address) => {
    const body = answer(new URLSearchParams(address.split("?")[1]));
    return { ok: true, status: 200, body, retryAfter: 0 };
  };
}

/** The place of the value that `text` says, or comes closest to. */
function place({ kind, values, at }, text) {
  if (kind === "float" || kind === "int") return closestIndex(values.map(Number), Number(text));
  return values.includes(text) ? values.indexOf(text) : at;
}
