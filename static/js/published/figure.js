// The frame of a figure that needs no server: a session whose answers came with it, as high as it is, in touch with the
// page around it.

import { whenVisible } from "../figure/in_sight.js";
import { soleFigure } from "../figure/live_figure.js";
import { loadPlotly } from "../figure/plot.js";
import { writeValues } from "../figure/reading.js";
import { soundButton } from "../figure/sound.js";
import { framedFigure } from "../share/framed_figure.js";
import { isOfSection, joinQueries } from "../state/address.js";
import { askKernel } from "../state/ask_kernel.js";
import { Session } from "../state/session.js";
import { storedSections } from "../state/stored.js";

const PARTS = ["title", "verdict", "legend", "controls", "source", "reading", "numerical", "implied", "shading", "open", "hint", "zoom"];
const find = (selector) => document.querySelector(selector);
const page = document.documentElement;
const kernel = "kernel" in page.dataset;
const stored = kernel ? { axes: [] } : (globalThis.gradloupeSections ?? JSON.parse(find("#sections").textContent));
const hidden = `${page.dataset.hide ?? ""} ${find(".embed").dataset.hide}`.split(" ").filter(Boolean);
page.dataset.hide = hidden.join(" ");

const { source, span } = kernel ? { source: askKernel, span: () => null } : storedSections(stored, hidden);
const session = new Session(source, joinQueries(find("#controls").dataset.search, asked()));
session.home = () => span() ?? session.usual;
const figure = soleFigure(session, { load: () => whenVisible(find("#canvas")).then(() => loadPlotly("curves")), drawn: (answer) => frame.tellReady(answer) });
if (hidden.includes("reading")) find("#listen").remove(); // its key, too
const sound = soundButton(figure);
const frame = framedFigure(session, (name) => name === "layout" || (kernel && isOfSection(name)) || stored.axes.some((axis) => axis.name === name));

session.on("words", (answer) => {
  sound.stop(); // what is heard is no longer what is seen
  writeValues(find("#rows"), answer);
});
session.start();
const wrong = hidden.find((part) => !PARTS.includes(part));
if (wrong) session.complain(`hide=${wrong} names no part of the figure; it can hide ${PARTS.join(", ")}.`);

/** What the address of the frame says of the sliders. */
function asked() {
  const said = [...new URLSearchParams(location.search)].filter(([name]) => stored.axes.some((axis) => axis.name === name));
  return said.length > 0 ? `?${new URLSearchParams(said)}` : "";
}
