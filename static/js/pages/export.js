// The page that is a file of its own: a live section whose answers came with it. Its sliders step through their values.

import { makeScrollable } from "../dom.js";
import { loadPlotly } from "../figure/plot.js";
import { soundButton } from "../figure/sound.js";
import { writeValues, writeWords } from "../figure/words.js";
import { closestIndex } from "../number.js";
import { liveSection } from "../state/live_section.js";

const find = (selector) => document.querySelector(selector);

const section = liveSection({
  source: stored(JSON.parse(find("#answers").textContent)),
  load: () => loadPlotly("curves"),
  search: find("#controls").dataset.search,
  addressChanged() {}, // a file keeps its address
  answered(answer) {
    if (find("#values")) writeValues(find("#values"), answer);
    sound.stop(); // what is heard is no longer what is seen
    writeWords(answer, { paragraphs: find("#summary"), table: find("#marks"), paragraph: find("#method") });
  },
  drawn() {},
});
const sound = soundButton(section);
makeScrollable(document.querySelectorAll(".formulas dd, .scroll"));
section.start();

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
