// The page that is a file of its own: a live section whose answers came with it. Its sliders step through their values.

import { stored } from "./offline.js";
import { library } from "../figure/plotly.js";
import { scrollable } from "./scroll.js";
import { section } from "../state/session.js";
import { listener } from "../figure/sound.js";
import { tabulate } from "../figure/values.js";
import { describe } from "../figure/words.js";

const find = (selector) => document.querySelector(selector);

const figure = section({
  source: stored(JSON.parse(find("#answers").textContent)),
  load: () => library("curves"),
  search: find("#controls").dataset.search,
  pointed() {}, // a file keeps its address
  answered(answer) {
    if (find("#values")) tabulate(find("#values"), answer);
    sound.stop(); // what is heard is no longer what is seen
    describe(answer, { paragraphs: find("#summary"), table: find("#marks"), paragraph: find("#method") });
  },
  drawn() {},
});
const sound = listener(figure);
scrollable(document.querySelectorAll(".formulas dd, .scroll"));
figure.start();
