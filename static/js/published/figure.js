// The frame of a figure that needs no server, as high as it is, in touch with the page around it. It is a picture that is
// read until it is touched; then its sections come, and what draws them.

import { writeValues } from "../figure/reading.js";
import { soleFigure } from "../figure/live_figure.js";
import { loadPlotly } from "../figure/plot.js";
import { soundButton } from "../figure/sound.js";
import { framedFigure } from "../share/framed_figure.js";
import { isOfSection, joinQueries } from "../state/address.js";
import { askKernel } from "../state/ask_kernel.js";
import { Session } from "../state/session.js";
import { storedSections } from "../state/stored.js";

const PARTS = ["title", "verdict", "legend", "controls", "source", "reading", "numerical", "implied", "shading", "open", "hint", "proof", "zoom"];
const find = (selector) => document.querySelector(selector);
const page = document.documentElement;
const kernel = "kernel" in page.dataset; // which answers what is not here
const hidden = `${page.dataset.hide ?? ""} ${find(".embed").dataset.hide}`.split(" ").filter(Boolean);
const wrong = hidden.find((part) => !PARTS.includes(part));
const still = page.dataset.plotlyCurves === ""; // one file, without what draws
const controls = [...find("#controls").querySelectorAll("[data-control]")].map(({ dataset }) => dataset.control);
const said = [...new URLSearchParams(location.search)].filter(([name]) => controls.includes(name));
let live = !page.dataset.sections; // is everything here, or on its way?
const asked = said.length > 0 ? `?${new URLSearchParams(said)}` : "";
let first = !asked; // is the first section wanted, which is here?
let source = stored(JSON.parse(find("#sections").textContent));

page.dataset.hide = hidden.join(" ");
const session = new Session(ask, joinQueries(find("#controls").dataset.search, asked));
session.home = () => {
  if (kernel) return session.usual;
  const { start, stop } = session.state; // which are those of the whole before there is an answer
  const whole = session.answer?.whole ?? [start, stop];
  return { start: String(whole[0]), stop: String(whole[1]) };
};
const figure = soleFigure(session, {
  load: () => (live ? loadPlotly("curves") : Promise.resolve(null)),
  drawn: (answer) => frame.tellReady(answer),
  ranges: JSON.parse(find("#controls").dataset.ranges ?? "null"),
});
if (hidden.includes("reading")) find("#listen").remove(); // its key, too
const sound = soundButton(figure);
const frame = framedFigure(session, (name) => name === "layout" || controls.includes(name) || (kernel && isOfSection(name)));

session.on("words", (answer) => {
  sound.stop(); // what is heard is no longer what is seen
  writeValues(find("#rows"), answer);
  if (wrong) session.complain(`hide=${wrong} names no part of the figure; it can hide ${PARTS.join(", ")}.`);
});
for (const event of ["pointerover", "focusin", "touchstart"]) addEventListener(event, wake, { once: true, passive: true });
if (still) for (const button of document.querySelectorAll(".legend button")) button.disabled = true;
session.start();

async function ask(address, signal) {
  const here = first;
  first = false;
  if (!here) wake();
  return kernel && !here ? askKernel(address, signal) : (await source)(address);
}

/** From now on everything that is asked for can be answered. */
function wake() {
  if (live) return;
  live = true;
  source = script(page.dataset.sections).then(() => stored(globalThis.gradloupeSections), () => missing);
  figure.plot.redraw();
}

async function missing() {
  const detail = "The numbers for the sliders could not be loaded; reload the page.";
  return { ok: false, status: 503, body: { detail }, retryAfter: 0 };
}

function stored(sections) {
  return storedSections(sections, hidden, still);
}

function script(src) {
  return new Promise((onload, onerror) => document.head.append(Object.assign(document.createElement("script"), { src, onload, onerror })));
}
