// A live section in the frame of another page: drawn when it is seen, as high as it is, in touch with that page.

import { isSaid } from "../state/address.js";
import { messenger } from "./messages.js";
import { painted } from "./painted.js";
import { library } from "../figure/plotly.js";
import { section } from "../state/session.js";
import { listener } from "../figure/sound.js";
import { fetching } from "../state/source.js";
import { tabulate } from "../figure/values.js";
import { seen } from "./visible.js";

const THEMES = ["auto", "light", "dark"];
const find = (selector) => document.querySelector(selector);
const page = document.documentElement;
const source = fetching();
let hurry = () => {};
const hurried = new Promise((resolve) => (hurry = resolve));
const due = Promise.race([seen(find("#canvas")), hurried]);
let told = "";

const figure = section({
  source(address, signal) {
    if (told !== "") hurry(); // what stands there is no longer what is asked for
    return source(address, signal);
  },
  load: () => due.then(() => library("curves")),
  search: location.search,
  pointed(said, here) {
    find("#whole").href = figure.path + said;
    try {
      history.replaceState(null, "", location.pathname + here + location.hash);
    } catch {
      // A frame may be without an address of its own.
    }
  },
  answered(answer) {
    if (find("#values")) tabulate(find("#values"), answer);
    sound.stop(); // what is heard is no longer what is seen
    if (told !== "") around.tell("change", news(answer));
    told = answer.address;
  },
  drawn({ answer }) {
    if (page.dataset.drawn === "1") around.tell("ready", news(answer));
  },
});

const sound = listener(figure);

const around = messenger({
  moved(state) {
    const known = Object.entries(state ?? {}).filter(([name]) => name in figure.state() && isSaid(name));
    figure.move(Object.fromEntries(known.map(([name, value]) => [name, String(value)])));
  },
  themed(theme) {
    if (THEMES.includes(theme)) page.dataset.theme = theme;
  },
});

function news({ address, verdict: { word, sentence } }) {
  const said = Object.entries(figure.saidBy(address)).filter(([name]) => isSaid(name));
  return { address, state: Object.fromEntries(said), verdict: { word, sentence } };
}

/** A page that was given no height tells the one it has. */
function measure() {
  const { height } = document.body.getBoundingClientRect();
  if (height > 0) around.resized(Math.ceil(height));
}

if (!page.dataset.high) new ResizeObserver(measure).observe(document.body);
figure.start();
