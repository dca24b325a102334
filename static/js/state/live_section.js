// A live section: its controls write an address, the server answers it with numbers, the numbers are drawn and told.
// What of it a page leaves out is not missed; the form alone must be there, for what is said of the op in it.

import { curveCursor } from "../figure/cursor.js";
import { onPaletteChange, plotter } from "../figure/plot.js";
import { readout } from "../figure/reading.js";
import { verdictWriter } from "../figure/verdict.js";
import { typesetSentence, roundForSpan } from "../number.js";
import { isOfView, joinQueries, parseAddress, splitQuery } from "./address.js";
import { formDefaults, listenToForm, markInvalid, readForm, updateWidgets, writeForm } from "./controls.js";

const UNSET_SECOND = { wrt2: "", start2: "", stop2: "" }; // what another element swept has beside it

/**
 * `source` answers addresses (see `serverSource`), `load()` brings Plotly, `search` is the query that is shown first.
 * Called back are `addressChanged(said, here)` with the query of the section and that of the whole page;
 * `keepsCurves(answer)`, whether an answer without curves leaves those that are drawn; `answered(answer)`;
 * `drawn(state)`; `viewChanged(name)` when the companion's own controls change; and `pointPicked(x)`.
 */
export function liveSection({
  source,
  load,
  search,
  addressChanged,
  answered,
  drawn,
  keepsCurves = () => false,
  viewChanged = () => {},
  pointPicked = () => {},
}) {
  const find = (selector) => document.querySelector(selector);
  const form = find("#controls");
  const page = document.documentElement;
  const { path } = form.dataset;
  const { usual: first, ranged } = formDefaults(form);

  let state = parseAddress(first, search, ranged);
  let here = search; // as it was pointed to last; the bar of the browser may still lag behind
  let asked = "";
  let waited = ""; // the address that was asked last, until there is word of it
  let dragging = false;
  const usual = () => ranged(first, state.wrt);
  const parts = (more) => splitQuery(usual(), { ...state, ...more });
  const addressed = (more) => Object.values(parts(more)).reduce((whole, part) => joinQueries(whole, part));
  const texts = ({ start, stop }) => ({ start: String(start), stop: String(stop) });
  const travel = (range) => move(texts(range));

  const plot = plotter(find("#canvas"), {
    load,
    zoomed: (start, stop) => travel({ start: roundForSpan(start, stop - start), stop: roundForSpan(stop, stop - start) }),
    widened: () => travel(usual()),
    drawn: () => {
      page.dataset.ready = "1";
      page.dataset.address = plot.state().answer.address;
      page.dataset.held = dragging ? "1" : "";
      page.dataset.drawn = String(Number(page.dataset.drawn ?? 0) + 1);
      trace.refresh();
      drawn(plot.state());
    },
  });
  const trace = curveCursor(
    { canvas: find("#canvas"), overlay: find("#overlay"), cursor: find("#cursor") },
    plot,
    readout(find("#reading"), () => plot.state().answer),
    pointPicked,
  );
  const link = (range) => form.getAttribute("action") + addressed(texts(range));
  const tell = verdictWriter(find("#verdict"), { link, follow: travel });
  const ask = latestOnly(source, show, complain);

  /** Take over what `values` say, as if it had come from the controls. */
  function move(values) {
    const swept = values.wrt ?? state.wrt;
    const range = swept === state.wrt ? {} : { ...texts(ranged(first, swept)), at: "", ...UNSET_SECOND };
    state = { ...state, ...range, ...values };
    writeForm(form, state, usual());
    go();
  }

  /** Put the state into the address and ask for it. */
  function go() {
    const said = parts().section;
    point(said);
    asked = `${path}.json${said}`;
    waited = asked;
    ask(asked);
  }

  /** Whether this is asked already, and nothing else has changed: a key on a slider is an input and a change. */
  function askedAlready(live) {
    const same = live === dragging && asked === `${path}.json${parts().section}`;
    return same && find("#trouble").textContent === "";
  }

  function point(said) {
    const { appearance, view } = parts();
    here = joinQueries(said, appearance, view);
    addressChanged(said, here);
  }

  function show(answer, address) {
    complain("", address);
    page.dataset.order = answer.order;
    if (address === asked) point(answer.address.slice(path.length)); // the shortest one
    if (plot.state() && keepsCurves(answer)) return;
    tell(answer);
    draw(answer, dragging ? (plot.state()?.ranges ?? null) : null);
    answered(answer);
  }

  function draw(answer, held) {
    plot.draw(answer, state.layout, held).catch((error) => complain(displayError(error)));
  }

  function complain(sentence, address, wrong = false) {
    if (address === waited) waited = "";
    const trouble = find("#trouble");
    if (trouble.textContent !== typesetSentence(sentence)) trouble.textContent = typesetSentence(sentence);
    markInvalid(form, sentence);
    if (sentence) plot.unzoom();
    // A link to what cannot be would lose everything else it says: the address stays that of the picture.
    if (wrong && plot.state()) point(plot.state().answer.address.slice(path.length));
  }

  const put = listenToForm(form, usual, (name, live) => {
    const before = state;
    state = { ...state, ...readForm(form) };
    if (name === "wrt" && state.wrt !== before.wrt) {
      state = { ...state, ...texts(usual()), at: "", ...UNSET_SECOND };
      writeForm(form, state, usual());
    }
    if (name === "wrt2") {
      state = { ...state, start2: "", stop2: "" };
      writeForm(form, state, usual());
    }
    updateWidgets(form, state, usual());
    const again = askedAlready(live);
    dragging = live;
    if (name === "layout" && plot.state()) draw(plot.state().answer, null);
    if (!isOfView(name)) return again ? undefined : go();
    point(parts().section);
    return viewChanged(name);
  });

  /** Show what the address says, from the answer that came with the page if there is one. */
  function start() {
    const given = find("#answer")?.textContent;
    writeForm(form, state, usual());
    if (!given) return go();
    asked = `${path}.json${parts().section}`;
    return show(JSON.parse(given), asked);
  }

  /** Show what another address says. */
  function visit(query) {
    state = parseAddress(first, query, ranged);
    writeForm(form, state, usual());
    go();
  }

  /** The same address has another answer by now: show `given`, unless one is awaited, or ask. */
  function refresh(given) {
    if (!given || waited) return go();
    asked = `${path}.json${parts().section}`;
    return show(JSON.parse(given), asked);
  }

  /** What an address says, by name. */
  const stateOf = (address) => parseAddress(first, address.split("?")[1] ?? "", ranged);

  onPaletteChange(plot.redraw);
  const told = { here: () => here, state: () => state, dragging: () => dragging };
  return { path, stateOf, plot, trace, put, move, start, visit, refresh, parts, ...told };
}

const PATIENCE = 600;

/**
 * One question at a time: while one is under way only the newest is remembered, so answers never pile up or cross.
 * Returns `ask(address)`. `source` answers addresses, as `serverSource` does. `answered(answer, address)` gets what was
 * computed, `refused(sentence, address, wrong)` why it was not, or why the answer could not be shown; `wrong` says that
 * the question itself was at fault. A question that takes longer than PATIENCE ms is given up as soon as there is a
 * newer one.
 */
export function latestOnly(source, answered, refused) {
  let next = null;
  let running = null;

  async function run() {
    try {
      while (next !== null) {
        const address = next;
        next = null;
        running = { controller: new AbortController(), since: performance.now() };
        const seconds = await once(address, running.controller.signal);
        if (seconds === 0) continue;
        await new Promise((resolve) => setTimeout(resolve, 1000 * seconds));
        next ??= address;
      }
    } finally {
      running = null;
    }
  }

  /** Asks, and returns after how many seconds to ask again, 0 if not at all. */
  async function once(address, signal) {
    let settle = () => {};
    let seconds = 0;
    try {
      const { ok, status, body, retryAfter } = await source(address, signal);
      seconds = retryAfter;
      const wrong = status >= 400 && status < 500;
      settle = ok ? () => answered(body, address) : () => refused(sentence(body, status), address, wrong);
    } catch {
      if (!signal.aborted) settle = () => refused("The server does not answer. Is it still running?", address);
    }
    if (signal.aborted) return 0;
    try {
      settle();
    } catch (error) {
      refused(displayError(error), address);
    }
    return seconds;
  }

  return (address) => {
    next = address;
    if (running === null) run();
    else if (performance.now() - running.since > PATIENCE) running.controller.abort();
  };
}

/** Why an answer that came cannot be seen. */
export const displayError = ({ message }) =>
  `The answer came, but this page failed to show it (${message}). Reload the page.`;

const sentence = (problem, status) => problem.detail ?? `The server answered ${status}.`;

/** Answers an address with {ok, status, body, retryAfter}, in seconds; throws when the server says nothing of sense. */
export function serverSource() {
  return async (address, signal) => {
    const response = await fetch(address, { signal, headers: { Accept: "application/json" } });
    const { ok, status, headers } = response;
    return { ok, status, body: await response.json(), retryAfter: Number(headers.get("Retry-After") ?? 0) };
  };
}
