// What a page shows: its controls are the state, its address says the state, and the server answers the address. The same
// for one section, for a pair, in a frame and in a file. It draws nothing: see figure/live_figure.js.

import { afterFirstPaint } from "../figure/plot.js";
import { typesetSentence } from "../number.js";
import { isOfView, joinQueries, parseAddress, splitQuery } from "./address.js";
import { errorMarks, formDefaults, listenToForm, readForm, updateWidgets, writeForm } from "./controls.js";
import { displayError, latestOnly } from "./question.js";

const UNSET_SECOND = { wrt2: "", start2: "", stop2: "" }; // what another element swept has beside it
const text = (values) => Object.fromEntries(Object.entries(values).map(([name, value]) => [name, String(value)]));

/**
 * The state of the form #controls, and the answer to it. What happens is heard with `on(event, hear)`:
 *
 * - "address" (query of the section, deed): the page has another address, which is `query`; Back undoes a deed;
 * - "answer" (answer): there is one, and nothing to complain of;
 * - "words" (answer): what is read may be written, a little later, for it comes after what is seen;
 * - "control" (name): somebody has moved one;
 * - "complaint": a question was refused.
 */
export class Session {
  #form = document.querySelector("#controls");
  #trouble = document.querySelector("#trouble");
  #heard = { address: [], answer: [], words: [], control: [], complaint: [] };
  #asked = ""; // the address that was asked last
  #waiting = false; // for word of it
  #written = Promise.resolve(); // settled when the words of the newest answer are on the page
  #first; // the defaults of the element that is swept first
  #ranged;
  #mark = errorMarks(() => [...this.#form.elements].filter((each) => !each.closest("#companion"))); // it has its own
  #ask;
  #ending;

  path = this.#form.dataset.path;
  dragging = false; // is a slider held?
  answer = null; // the one that is shown
  keeps = () => false; // does an answer without curves leave those that are drawn?
  home = () => this.usual; // the range that a zoom is left for, among others

  /**
   * `source` answers addresses, as `askServer` does, those of answers with this `ending`; `search` is the query of the page,
   * which may lag behind later.
   */
  constructor(source, search, ending = ".page.json") {
    const { usual, ranged } = formDefaults(this.#form);
    [this.#first, this.#ranged] = [usual, ranged];
    this.state = parseAddress(usual, search, ranged);
    this.query = search;
    this.#ending = ending;
    this.#ask = latestOnly(source, (answer, address) => this.#show(answer, address), (...why) => this.complain(...why));
    /** Changes a field as a hand would: `put(name, text, live)`. */
    this.put = listenToForm(this.#form, (...change) => this.#changed(...change));
  }

  on(event, hear) {
    this.#heard[event].push(hear);
  }

  /** What the address leaves out, by name. */
  get usual() {
    return this.#ranged(this.#first, this.state.wrt);
  }

  /** The query of the section, of its appearance and of the view, with `more` in the place of what is shown. */
  parts(more) {
    return splitQuery(this.usual, { ...this.state, ...more });
  }

  /** The address of this page with another range. */
  link({ start, stop }) {
    const parts = Object.values(this.parts(text({ start, stop })));
    return this.#form.getAttribute("action") + joinQueries(...parts);
  }

  /** What an address says, by name. */
  stateOf(address) {
    return parseAddress(this.#first, address.split("?")[1] ?? "", this.#ranged);
  }

  /** Show what the address says, from the answer that came with the page if there is one. */
  start() {
    setReady("figure", null);
    const given = document.querySelector("#answer")?.textContent;
    this.#write();
    if (given) this.#take(given);
    else this.#go();
  }

  /** Take over what `values` say, as if it had come from the controls; Back undoes it. */
  move(values) {
    const swept = values.wrt ?? this.state.wrt;
    const reset = swept === this.state.wrt ? {} : this.#reset(swept);
    this.state = { ...this.state, ...reset, ...text(values) };
    this.#write();
    this.#go(true);
  }

  /** The same is shown in another way. */
  dress(values) {
    this.state = { ...this.state, ...values };
    this.#point(this.parts().section);
  }

  /** Show what another address says, that of Back or of Forward. */
  visit(query) {
    if (query === this.query) return;
    this.state = parseAddress(this.#first, query, this.#ranged);
    this.#write(true);
    this.#go();
  }

  /** The form has other controls by now, for another op; they stand as this query says. */
  declare(query) {
    const { appearance } = this.parts();
    ({ usual: this.#first, ranged: this.#ranged } = formDefaults(this.#form));
    this.path = this.#form.dataset.path;
    this.state = parseAddress(this.#first, joinQueries(query, appearance), this.#ranged);
    this.#write(true);
  }

  /** Another answer is to come: until then what is shown is that of before. */
  expect() {
    this.#waiting = true;
    setReady("figure", null);
    if (this.answer && !this.dragging) setBusy(true);
  }

  /** The same address has another answer by now, and one that is under way is stale. */
  refresh() {
    this.#go(false, true);
  }

  /**
   * Say why there is no answer to `address`, "" where there is; `wrong` where the question itself was at fault, and which
   * parameters of it are, if any, as `errors`.
   */
  complain(sentence, address, wrong = false, errors = []) {
    if (address === this.#asked) this.#waiting = false;
    if (this.#trouble.textContent !== typesetSentence(sentence)) this.#trouble.textContent = typesetSentence(sentence);
    this.#mark(errors);
    if (!sentence) return;
    this.#tell("complaint");
    // A link to what cannot be would lose everything else it says: the address stays that of the picture.
    if (wrong && this.answer) this.#point(this.#query(this.answer), false, true);
    if (this.#waiting) return;
    setBusy(false);
    if (this.answer) setReady("figure", this.answer.address);
  }

  /** The figure of this answer is drawn. */
  drawn({ address }) {
    this.#written.then(() => {
      setBusy(false);
      if (this.#waiting) requestAnimationFrame(() => this.#waiting && this.expect()); // it has not taken long yet
      else if (address === this.answer.address) setReady("figure", address);
    });
  }

  #tell(event, ...said) {
    for (const hear of this.#heard[event]) hear(...said);
  }

  #write(all = false) {
    writeForm(this.#form, this.state, all);
  }

  /** Where another element is swept, its range is its own and nothing is looked at. */
  #reset(wrt) {
    return { ...this.#ranged({}, wrt), at: "", ...UNSET_SECOND };
  }

  #query({ address }) {
    return address.slice(this.path.length);
  }

  get #address() {
    return `${this.path}${this.#ending}${this.parts().section}`;
  }

  /** Put the state into the address and ask for it. */
  #go(deed = false, stale = false) {
    this.#asked = this.#address;
    this.expect();
    this.#ask(this.#asked, stale); // the browser may be long about its history
    this.#point(this.parts().section, deed);
  }

  #point(said, deed = false, refused = false) {
    const { appearance, view } = this.parts();
    this.query = joinQueries(said, appearance, view);
    this.#tell("address", said, deed, refused);
  }

  #take(given) {
    this.#asked = this.#address;
    this.#show(JSON.parse(given), this.#asked);
  }

  #show(answer, address) {
    this.complain("", address);
    if (address === this.#asked) this.#point(this.#query(answer)); // the shortest one
    if (this.answer && this.keeps(answer)) return setBusy(false);
    this.answer = answer;
    this.#tell("answer", answer);
    if (!answer.words) return this.#tell("words", answer); // those for the first one stand in the page
    this.#written = afterFirstPaint().then(() => answer === this.answer && this.#tell("words", answer));
    this.#written.catch((error) => this.complain(displayError(error)));
  }

  /** Whether this is asked already, and nothing else has changed: a key on a slider is an input and a change. */
  #askedAlready(live) {
    return live === this.dragging && this.#asked === this.#address && this.#trouble.textContent === "";
  }

  #changed(name, live, deed = false) {
    const { wrt } = this.state;
    this.state = { ...this.state, ...readForm(this.#form) };
    if (name === "wrt" && this.state.wrt !== wrt) {
      this.state = { ...this.state, ...this.#reset(this.state.wrt) };
      this.#write();
    }
    if (name === "wrt2") {
      this.state = { ...this.state, start2: "", stop2: "" };
      this.#write();
    }
    updateWidgets(this.#form, this.state);
    const again = this.#askedAlready(live);
    this.dragging = live;
    if (isOfView(name)) this.#point(this.parts().section, deed);
    else if (!again) this.#go(deed);
    this.#tell("control", name);
  }
}

/** Is what stands there the answer to an earlier question? Told at once to who listens; seen where it takes a while. */
function setBusy(busy) {
  for (const each of document.querySelectorAll(".verdict, .figure")) each.setAttribute("aria-busy", busy);
}

const parts = new Map();

/**
 * Tells on the page, in `data-ready`, the address of what is drawn, once everything is that was asked for. A `part` shows
 * `address`; null while it waits for an answer, undefined where it shows nothing.
 */
export function setReady(part, address) {
  if (address === undefined) parts.delete(part);
  else parts.set(part, address);
  const shown = [...parts.values()];
  if (shown.includes(null)) document.documentElement.removeAttribute("data-ready");
  else document.documentElement.dataset.ready = shown.at(-1);
}
