// The form beside the figure. Its fields hold the state; sliders, steppers and buttons only write into fields.

import { h } from "../dom.js";
import { closestIndex, asciiNumber, asciiNumbers, typesetSentence, roundForSpan, typographic } from "../number.js";

const fieldOf = (form, name) => [...form.elements].find((each) => each.name === name && each.matches(".field"));
const isNumber = (field) => field.matches("[data-number], [data-list]");
const shown = (field, text) =>
  "list" in field.dataset ? rows(field, text) : isNumber(field) ? typographic(text) : text;
const textOf = (field) => (isNumber(field) ? asciiNumbers(field.value).join(",") : field.value);
/** The other sign; an empty field stands for 1. */
const flipped = (value) => (Number.isNaN(value) ? "-1" : String(-value || 0));
const valueOf = (field) => (asciiNumber(field.value) === "" ? NaN : Number(asciiNumber(field.value)));

/** A flat list of numbers as rows, the way the tensor lies. */
function rows(field, text) {
  const numbers = asciiNumbers(text).map(typographic);
  const width = Number(field.dataset.list);
  const starts = numbers.map((_, i) => i).filter((i) => i % width === 0);
  return starts.map((i) => numbers.slice(i, i + width).join(", ")).join("\n");
}

/** What the address may leave out, by name, and `ranged(usual, wrt)`: the same with the range of its own that `wrt` has. */
export function formDefaults(form) {
  // Without JavaScript a list of two words stands in for a switch, and bears its name.
  for (const box of form.querySelectorAll("[data-switch]")) box.name = box.dataset.switch;
  const text = (name, said) => (isNumber(fieldOf(form, name) ?? form) ? asciiNumbers(said).join(",") : said);
  const usual = JSON.parse(form.dataset.defaults).map(([name, said]) => [name, text(name, said)]);
  const extents = JSON.parse(form.dataset.extents);
  const ranged = (texts, wrt = "") => {
    const range = extents[wrt.split("[")[0]]?.map(String);
    return range ? { ...texts, start: range[0], stop: range[1] } : texts;
  };
  return { usual: Object.fromEntries(usual), ranged };
}

export function readForm(form) {
  const state = {};
  for (const element of form.elements) {
    if (!element.name || (element.type === "radio" && !element.checked)) continue;
    state[element.name] = element.type === "checkbox" ? String(element.checked) : textOf(element);
  }
  return state;
}

/** Show `state`. What is being typed is left, unless `all` is. */
export function writeForm(form, state, all = false) {
  for (const element of form.elements) {
    if (!(element.name in state)) continue;
    if (element.type === "radio") element.checked = element.value === state[element.name];
    else if (element.type === "checkbox") element.checked = state[element.name] === "true";
    else if (all || element !== document.activeElement || !isNumber(element)) {
      if (element.matches("select")) offer(element, state[element.name]);
      element.value = shown(element, state[element.name]);
    }
  }
  updateWidgets(form, state);
}

/** An element beyond those offered can still be asked for. */
function offer(select, text) {
  if (![...select.options].some(({ value }) => value === text)) select.add(new Option(text));
}

/** Bring everything that is not state into line with it: sliders, resets, bounds that are crossed, and what is swept cannot also be held. */
export function updateWidgets(form, state) {
  for (const slider of form.querySelectorAll("[data-slider]")) {
    const field = fieldOf(form, slider.dataset.slider);
    const value = valueOf(field);
    if (!Number.isFinite(value)) continue;
    const own = listed(slider);
    slider.value = own ? closestIndex(own, value) : value;
    if (own) slider.setAttribute("aria-valuetext", field.value);
  }
  for (const note of form.querySelectorAll("[data-below]")) {
    const [field, other] = [note.dataset.numberOf, note.dataset.below].map((name) => fieldOf(form, name));
    note.hidden = !other || !(valueOf(field) > valueOf(other));
  }
  for (const button of form.querySelectorAll("[data-reset]")) {
    const [now, then] = [state[button.dataset.reset], button.value].map((text) => String(asciiNumbers(text)));
    button.disabled = now === then;
  }
  for (const control of form.querySelectorAll("[data-control]")) {
    if (control.dataset.control === state.wrt || control.hidden) control.hidden = control.dataset.control === state.wrt;
  }
}

/**
 * Returns `mark(errors)`, which marks the controls among `elements()` that the errors of a problem name, says beside each
 * of them why it is refused, and takes back what was said before.
 */
export function errorMarks(elements) {
  let marked = [];

  return (errors) => {
    for (const { element, note } of marked) {
      note?.remove();
      for (const name of ["aria-invalid", "aria-describedby"]) element.removeAttribute(name);
    }
    const refused = (element) => errors.find(({ parameter }) => parameter !== "" && parameter === element.name);
    marked = elements().filter(refused).map((element) => ({ element, note: noteBeside(element, refused(element).detail) }));
    for (const { element, note } of marked) {
      element.setAttribute("aria-invalid", "true");
      if (note) element.setAttribute("aria-describedby", note.id);
    }
  };
}

/** Why the value of a control is refused, below the control or its row; null where there is no place to be seen. */
function noteBeside(element, sentence) {
  const control = element.closest(".control");
  if (!control || control.closest("[hidden]")) return null;
  const note = h("p", { class: "trouble", id: `refused-${element.name}` }, typesetSentence(sentence));
  (control.closest(".row") ?? control).append(note);
  return note;
}

/**
 * Calls `changed(name, live, deed)` after every change; `live` while a slider is held, so that more is to come, `deed` for
 * one that Back takes back: a button, or one of a few words. Returns `put(name, text, live)`, which changes a field as a
 * hand would.
 */
export function listenToForm(form, changed) {
  const put = (field, text, live = false, deed = false) => {
    field.value = shown(field, text);
    changed(field.name, live, deed);
  };
  let held = ""; // the name of what a slider in hand sets
  // Some controls belong to the form but stand with the figures.
  const hear = (event, heard) => document.addEventListener(event, (each) => each.target.form === form && heard(each));
  form.addEventListener("pointerdown", ({ target }) => (held = target.dataset.slider ?? ""));
  for (const end of ["pointerup", "pointercancel"]) {
    addEventListener(end, () => {
      const name = held;
      held = "";
      if (name) changed(name, false); // a browser reports no change where it was before
    });
  }
  form.addEventListener("submit", (event) => event.preventDefault());
  hear("input", ({ target }) => {
    if (target.matches("[data-slider]")) put(fieldOf(form, target.dataset.slider), String(onSlider(target)), held !== "");
    else if (target.matches("[data-number]") && Number.isFinite(valueOf(target))) changed(target.name, false);
  });
  hear("change", ({ target }) => {
    if (target.matches("[data-slider]")) changed(target.dataset.slider, false);
    else if (target.name) {
      if (isNumber(target) && asciiNumbers(target.value).every((text) => Number.isFinite(Number(text)))) {
        target.value = shown(target, target.value);
      }
      changed(target.name, false, target.type === "radio");
    }
  });
  form.addEventListener("click", ({ target }) => {
    const button = target.closest("button");
    const { reset, flip, set } = button?.dataset ?? {};
    if (reset) restore(form, reset, button.value, changed, put);
    if (flip) put(fieldOf(form, flip), flipped(valueOf(fieldOf(form, flip))), false, true);
    if (set) put(fieldOf(form, set), button.value, false, true);
  });
  hear("keydown", (event) => {
    const { target, key, shiftKey } = event;
    const up = { ArrowUp: 1, ArrowDown: -1 }[key];
    if (!up || !target.matches("[data-number]") || !Number.isFinite(valueOf(target))) return;
    event.preventDefault();
    put(target, String(stepped(form, target, up * (shiftKey ? 10 : 1))));
  });
  return (name, text, live) => put(fieldOf(form, name), text, live);
}

function restore(form, name, text, changed, put) {
  const box = form.querySelector(`[type=checkbox][name="${name}"]`);
  if (!box) return put(fieldOf(form, name), text, false, true);
  box.checked = text === "true";
  return changed(name, false, true);
}

/** The values of a slider that steps through a list of its own, null for one that goes everywhere. */
const listed = ({ dataset: { values } }) => values?.split(",").map(Number) ?? null;

function onSlider(slider) {
  const { value, min, max, dataset } = slider;
  const own = listed(slider);
  if (own) return own[value];
  return "whole" in dataset ? Math.round(Number(value)) : roundForSpan(Number(value), Number(max) - Number(min));
}

/** The field's value `count` steps on: a fiftieth of its slider, or the last digit that counts. */
function stepped(form, field, count) {
  const slider = form.querySelector(`[data-slider="${field.name}"]`);
  const value = valueOf(field);
  const whole = "whole" in (slider?.dataset ?? field.dataset);
  const span = slider ? slider.max - slider.min : Math.max(1, Math.abs(value)) * 5;
  const unit = whole ? 1 : 10 ** Math.floor(Math.log10(span / 50));
  return Number((value + count * unit).toPrecision(12));
}
