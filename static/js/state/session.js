// A live section: its controls write an address, the address is asked for its numbers, the numbers are drawn and told.
// What of it a page leaves out is not missed; the form alone must be there, for what is said of the op in it.

import { isLook, joined, parse, parted } from "./address.js";
import { asker, unshown } from "./ask.js";
import { blame, declared, follow, listen, read, write } from "./controls.js";
import { prose, tidy } from "../number.js";
import { onPaletteChange } from "../figure/palette.js";
import { plotter } from "../figure/plot.js";
import { reader } from "../figure/reading.js";
import { tracer } from "../figure/trace.js";
import { teller } from "../figure/verdict.js";

const AFRESH = { wrt2: "", start2: "", stop2: "" }; // what another element swept has beside it

/**
 * `source` answers addresses (source.js), `load()` brings Plotly, `search` is the query that is shown first. Called
 * back are `pointed(said, here)` with the query of the section and that of the whole page, `keeps(answer)`, whether an
 * answer without curves leaves those that are drawn, `answered(answer)`, `drawn(state)`, `looked(name)` when the companion's own controls change, and `picked(x)`.
 */
export function section({ source, load, search, pointed, answered, drawn, keeps = () => false, looked = () => {}, picked = () => {} }) {
  const find = (selector) => document.querySelector(selector);
  const form = find("#controls");
  const page = document.documentElement;
  const { path } = form.dataset;
  const { usual: first, ranged } = declared(form);

  let state = parse(first, search, ranged);
  let here = search; // as it was pointed to last; the bar of the browser may still lag behind
  let asked = "";
  let waited = ""; // the address that was asked last, until there is word of it
  let dragging = false;
  const usual = () => ranged(first, state.wrt);
  const parts = (more) => parted(usual(), { ...state, ...more });
  const addressed = (more) => Object.values(parts(more)).reduce((whole, part) => joined(whole, part));
  const texts = ({ start, stop }) => ({ start: String(start), stop: String(stop) });
  const travel = (range) => move(texts(range));

  const plot = plotter(find("#canvas"), {
    load,
    zoomed: (start, stop) => travel({ start: tidy(start, stop - start), stop: tidy(stop, stop - start) }),
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
  const trace = tracer(
    { canvas: find("#canvas"), overlay: find("#overlay"), cursor: find("#cursor") },
    plot,
    reader(find("#reading"), () => plot.state().answer),
    picked,
  );
  const link = (range) => form.getAttribute("action") + addressed(texts(range));
  const tell = teller(find("#verdict"), { link, follow: travel });
  const ask = asker(source, show, complain);

  /** Take over what `values` say, as if it had come from the controls. */
  function move(values) {
    const swept = values.wrt ?? state.wrt;
    const range = swept === state.wrt ? {} : { ...texts(ranged(first, swept)), at: "", ...AFRESH };
    state = { ...state, ...range, ...values };
    write(form, state, usual());
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
  function known(live) {
    const same = live === dragging && asked === `${path}.json${parts().section}`;
    return same && find("#trouble").textContent === "";
  }

  function point(said) {
    const { dress, look } = parts();
    here = joined(said, dress, look);
    pointed(said, here);
  }

  function show(answer, address) {
    complain("", address);
    page.dataset.order = answer.order;
    if (address === asked) point(answer.address.slice(path.length)); // the shortest one
    if (plot.state() && keeps(answer)) return;
    tell(answer);
    draw(answer, dragging ? (plot.state()?.ranges ?? null) : null);
    answered(answer);
  }

  function draw(answer, held) {
    plot.draw(answer, state.layout, held).catch((error) => complain(unshown(error)));
  }

  function complain(sentence, address, wrong = false) {
    if (address === waited) waited = "";
    const trouble = find("#trouble");
    if (trouble.textContent !== prose(sentence)) trouble.textContent = prose(sentence);
    blame(form, sentence);
    if (sentence) plot.unzoom();
    // A link to what cannot be would lose everything else it says: the address stays that of the picture.
    if (wrong && plot.state()) point(plot.state().answer.address.slice(path.length));
  }

  const put = listen(form, usual, (name, live) => {
    const before = state;
    state = { ...state, ...read(form) };
    if (name === "wrt" && state.wrt !== before.wrt) {
      state = { ...state, ...texts(usual()), at: "", ...AFRESH };
      write(form, state, usual());
    }
    if (name === "wrt2") {
      state = { ...state, start2: "", stop2: "" };
      write(form, state, usual());
    }
    follow(form, state, usual());
    const again = known(live);
    dragging = live;
    if (name === "layout" && plot.state()) draw(plot.state().answer, null);
    if (!isLook(name)) return again ? undefined : go();
    point(parts().section);
    return looked(name);
  });

  /** Show what the address says, from the answer that came with the page if there is one. */
  function start() {
    const given = find("#answer")?.textContent;
    write(form, state, usual());
    if (!given) return go();
    asked = `${path}.json${parts().section}`;
    return show(JSON.parse(given), asked);
  }

  /** Show what another address says. */
  function visit(query) {
    state = parse(first, query, ranged);
    write(form, state, usual());
    go();
  }

  /** The same address has another answer by now: show `given`, unless one is awaited, or ask. */
  function again(given) {
    if (!given || waited) return go();
    asked = `${path}.json${parts().section}`;
    return show(JSON.parse(given), asked);
  }

  /** What an address says, by name. */
  const saidBy = (address) => parse(first, address.split("?")[1] ?? "", ranged);

  onPaletteChange(plot.redraw);
  return { path, saidBy, plot, trace, put, move, start, visit, again, parts, here: () => here, state: () => state, dragging: () => dragging };
}
