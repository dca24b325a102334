// The page of one op: controls write the address, the address is asked for its numbers, the numbers are drawn.

import { joined, parse, parted } from "./address.js";
import { asker, unshown } from "./ask.js";
import { beyond } from "./beyond.js";
import { companion } from "./companion.js";
import { blame, declared, follow, listen, read, write } from "./controls.js";
import { prose, tidy } from "./number.js";
import { onPaletteChange } from "./palette.js";
import { save, saveCompanion } from "./picture.js";
import { plotter } from "./plot.js";
import { reader } from "./reading.js";
import { tracer } from "./trace.js";
import { coded, describe } from "./words.js";

const find = (selector) => document.querySelector(selector);
const form = find("#controls");
const canvas = find("#canvas");
const page = document.documentElement;
const views = [...document.querySelectorAll("[name=view]")];
const titles = Object.fromEntries(views.map(({ value, dataset }) => [value, dataset.title]));
const path = form.getAttribute("action");
const { usual: first, ranged } = declared(form);

let state = parse(first, location.search, ranged);
let asked = "";
let dragging = false;
const usual = () => ranged(first, state.wrt);

const plot = plotter(canvas, {
  zoomed: (start, stop) => travel(tidy(start, stop - start), tidy(stop, stop - start)),
  widened: () => travel(usual().start, usual().stop),
  drawn: () => {
    page.dataset.ready = "1";
    page.dataset.address = plot.state().answer.address;
    page.dataset.held = dragging ? "1" : "";
    page.dataset.drawn = String(Number(page.dataset.drawn ?? 0) + 1);
    trace.refresh();
    closer.align();
  },
});
const trace = tracer(
  { canvas, overlay: find("#overlay"), cursor: find("#cursor") },
  plot,
  reader(find("#reading"), () => plot.state().answer),
  (x) => state.view === "step" && put("at", String(x)),
);
const closer = companion(find("#companion"), {
  place: plot.state,
  steer: (value, live) => put("grad_output", String(value), live),
  drawn: () => plot.mark(closer.state().answer.at ?? null),
});
const ask = asker(answered, complain);

function travel(start, stop) {
  state = { ...state, start: String(start), stop: String(stop) };
  write(form, state, usual());
  go();
}

/** Put the state into the address and ask for it. */
function go() {
  const { section } = parted(usual(), state);
  point(section);
  asked = `${path}.json${section}`;
  ask(asked);
}

/** The address of the page and of its data, for a section written as `said`. */
function point(said) {
  const here = path + joined(said, parted(usual(), state).look);
  if (location.pathname + location.search !== here) history.replaceState(null, "", here);
  find("#csv").href = `${path}.csv${said}`;
  find("#json").href = `${path}.json${said}`;
}

/** Open the companion figure for the section that is drawn, or close it. */
function look() {
  const { section, look: closest } = parted(usual(), state);
  page.dataset.view = state.view;
  if (closest === "") {
    closer.close();
    plot.mark(null);
  } else closer.follow(state.view, `${path}.json${joined(section, closest)}`, titles[state.view], dragging);
}

function answered(answer, address) {
  complain("");
  if (address === asked) point(answer.address.slice(path.length)); // the shortest one
  tell(answer);
  describe(answer, { paragraphs: find("#summary"), table: find("#marks"), paragraph: find("#method") });
  const held = dragging ? (plot.state()?.ranges ?? null) : null;
  draw(answer, held);
  look();
}

function draw(answer, held) {
  plot.draw(answer, state.layout, held).catch((error) => complain(unshown(error)));
}

function complain(sentence, _, wrong = false) {
  const trouble = find("#trouble");
  if (trouble.textContent !== prose(sentence)) trouble.textContent = prose(sentence);
  blame(form, sentence);
  if (sentence) plot.unzoom();
  // A link to what cannot be would lose everything else it says: the address stays that of the picture.
  if (wrong && plot.state()) point(plot.state().answer.address.slice(path.length));
}

/** The verdict in words, and whatever else the answer says about itself. */
function tell(answer) {
  const { verdict, failure, notes, numerical, tolerance } = answer;
  const box = find("#verdict");
  const words = failure ? `${failure.phase} raised ${failure.kind}: ${failure.message}` : verdict.sentence;
  box.dataset.word = verdict.word;
  box.querySelector("use").setAttribute("href", `#mark-${verdict.word.replaceAll(" ", "-")}`);
  box.querySelector(".word").textContent = verdict.word;
  if (box.dataset.said !== words) box.querySelector(".sentence").replaceChildren(...coded(words));
  box.dataset.said = words;
  const explanation = find("#explanation");
  explanation.hidden = !verdict.explanation;
  explanation.replaceChildren(...coded(verdict.explanation?.sentence ?? ""));
  for (const line of document.querySelectorAll(".source .failed")) line.classList.remove("failed");
  if (failure?.line) document.querySelector(`#L${failure.line}`)?.classList.add("failed");
  find("#notes").replaceChildren(
    ...notes.map((note) => Object.assign(document.createElement("li"), { textContent: prose(note) })),
  );
  offer(beyond(answer));
  const chosen = { step: numerical?.step, atol: tolerance?.atol, rtol: tolerance?.rtol };
  for (const [name, value] of Object.entries(chosen)) form.elements[name].placeholder = value?.toPrecision(2) ?? "";
}

/** A link to the range in which a difference is seen that is out of sight. */
function offer(range) {
  const link = find("#beyond");
  if (!range && document.activeElement === link) find("#cursor").focus({ preventScroll: true });
  link.hidden = !range;
  if (!range) return;
  const [start, stop] = [String(range.start), String(range.stop)];
  link.href = path + joined(...Object.values(parted(usual(), { ...state, start, stop })));
  link.onclick = (event) => {
    if (event.metaKey || event.ctrlKey || event.shiftKey) return;
    event.preventDefault();
    travel(range.start, range.stop);
  };
}

const put = listen(form, usual, (name, live) => {
  const before = state;
  state = { ...state, ...read(form) };
  if (name === "wrt" && state.wrt !== before.wrt) {
    state = { ...state, start: usual().start, stop: usual().stop, at: "" };
    write(form, state, usual());
  }
  follow(form, state, usual());
  dragging = live;
  if (name === "layout" && plot.state()) draw(plot.state().answer);
  if (name !== "view" && name !== "at") return go();
  point(parted(usual(), state).section);
  look();
  if (name === "view") reveal();
});

/** What was opened is brought into sight, below the curves as far as there is room. */
function reveal() {
  const behavior = matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth";
  requestAnimationFrame(() => find("#companion-plot").scrollIntoView({ block: "nearest", behavior }));
}

addEventListener("popstate", () => {
  state = parse(first, location.search, ranged);
  write(form, state, usual());
  go();
});

// What is too wide for the window can be scrolled by keyboard too.
const wide = new ResizeObserver((entries) => {
  for (const { target } of entries) target.tabIndex = target.scrollWidth > target.clientWidth ? 0 : -1;
});
for (const box of document.querySelectorAll(".formulas dd, .scroll")) wide.observe(box);
onPaletteChange(plot.redraw);
find("#save").addEventListener("click", () => plot.state() && save(plot.state().answer, state.layout));
find("#companion-save").addEventListener("click", () => {
  if (closer.state()) saveCompanion(closer.state(), titles[state.view]);
});
find("#copy").addEventListener("click", async ({ target }) => {
  await navigator.clipboard.writeText(location.href);
  target.textContent = "Copied";
  setTimeout(() => (target.textContent = "Copy link"), 1500);
});
find("#copy").hidden = !navigator.clipboard;
find("#save").hidden = false;
write(form, state, usual());
go();
