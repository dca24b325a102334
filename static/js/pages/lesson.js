// The page of a lesson, alone or in the frame of another page: one figure, one control, and the arrow keys turn the page.

import { showDefinitions } from "../definitions.js";
import { whenVisible } from "../figure/in_sight.js";
import { soleFigure } from "../figure/live_figure.js";
import { loadPlotly } from "../figure/plot.js";
import { ROOT } from "../root.js";
import { shareButton } from "../share/button.js";
import { messenger } from "../share/parent_page.js";
import { editAddress, joinQueries, showInAddressBar } from "../state/address.js";
import { askForPage } from "../state/question.js";
import { Session } from "../state/session.js";

const TURNS = { ArrowLeft: "prev", ArrowRight: "next" };
const NEEDS_ARROWS = "input, select, textarea, pre, [role=slider], dialog";
const find = (selector) => document.querySelector(selector);
const page = document.documentElement;
const { start: beginning, search, control, ranges } = find("#controls").dataset;

const session = new Session(askForPage, search);
session.home = () => session.stateOf(`?${beginning}`);
soleFigure(session, {
  load: () => whenVisible(find("#canvas")).then(() => loadPlotly("curves")),
  ranges: JSON.parse(ranges),
});

session.on("address", (said) => {
  if (find("#whole")) find("#whole").href = ROOT + session.path + said;
  if (find("#edit")) find("#edit").href = editAddress(session, said);
  showInAddressBar(location.pathname + queryOfPage());
});

/** Without a query a lesson is as it begins; where everything is as by default, the query says so of the control. */
function queryOfPage() {
  const { section, appearance } = session.parts();
  if (section.slice(1) === beginning) return appearance;
  return joinQueries(section || `?${control}=${encodeURIComponent(session.state[control])}`, appearance);
}

document.addEventListener("keydown", (event) => {
  const { key, target, altKey, ctrlKey, metaKey, shiftKey } = event;
  if (altKey || ctrlKey || metaKey || shiftKey || target.closest(NEEDS_ARROWS)) return;
  const link = find(`link[rel="${TURNS[key]}"]`);
  if (link) location.assign(link.href);
});

if (parent !== window) {
  messenger((state) => control in (state ?? {}) && session.move({ [control]: String(state[control]) }));
  const numbers = () => `${session.path}.json${session.parts().section}`;
  if ("course" in page.dataset) import("../own/events.js").then(({ followInFrame }) => followInFrame(page.dataset, numbers));
} else showDefinitions(); // in a frame a term opens the glossary

if (find("#share")) shareButton(find("#share"), find("#sharing"), () => session.parts().section || queryOfPage());
session.start();
