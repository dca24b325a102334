// The view "contract": what was checked of a Function, what was found, and what torch made of what backward returned.

import { h, responsiveTable, svg, withCode } from "../dom.js";

const OPEN = ["error", "warning"];
const [NONE, NOTHING] = ["None", "–"];
const WORDS = { yes: "works", no: "no", wrong: "wrong", unknown: "unknown" };
const MARKS = {
  error: "M3 3 13 13M13 3 3 13",
  warning: "M8 2V9.5M8 13.4V13.5",
  note: "M8 2.6V2.7M8 6.5V14",
  yes: "M2.5 8.5 6.5 12.5 13.5 3.5",
  no: "M3 8H13",
  wrong: "M3 3 13 13M13 3 3 13",
  unknown: "M5 5.6C5 1.8 11 1.8 11 5.2 11 7.6 8 7.4 8 10M8 13.2V13.3",
};

export function panel(place, { loadSheet }) {
  const dressed = loadSheet("contract");
  const source = sourceLinks();
  const unfolded = new Map(); // by its name whether somebody has opened or closed a part

  function part(name, open, summary, ...content) {
    const head = h("summary", {}, ...summary);
    const box = h("details", { class: name, open: unfolded.get(name) ?? open }, head, ...content);
    head.addEventListener("click", () => unfolded.set(name, !box.open));
    return box;
  }

  function finding(check) {
    const box = h("article", { class: "finding", "data-level": check.level });
    const told = h("dl");
    for (const [name, text] of [
      ["seen", check.seen],
      ["what torch made of it", check.torch],
      ["advice", check.advice],
    ]) {
      if (text) told.append(h("div", { class: name.split(" ")[0] }, h("dt", {}, name), h("dd", {}, ...withCode(text))));
    }
    const title = h("h3", {}, ...sign(check.level, check.level), " ", ...withCode(check.title));
    box.append(title, told, h("p", { class: "refer" }, ...references(check)));
    return box;
  }

  function references({ id, line, document: page, recipe, element }) {
    const said = [h("code", {}, id)];
    if (recipe) said.push(h("a", { href: addressOfCall(recipe, element) }, "Open that call"));
    if (line !== null) said.push(source.link(line));
    if (page) said.push(h("span", {}, `torch’s documentation: ${page}`));
    return said;
  }

  function badges(given) {
    const row = given.map(({ name, state }) => {
      const named = { class: "badge", "data-name": name, "data-state": state };
      return h("span", named, ...sign(state, ""), `${name} `, h("i", {}, WORDS[state]));
    });
    const told = given.map(({ name, state, sentence }) =>
      h("div", {}, h("dt", {}, `${name}: ${WORDS[state]}`), h("dd", {}, ...withCode(sentence))),
    );
    return part("badges", false, row, h("dl", {}, ...told));
  }

  function notes(checks) {
    const summary = checks.length === 1 ? "1 note" : `${checks.length} notes`;
    return part("noted", false, [summary], ...checks.map(finding));
  }

  function fine(checks, open) {
    const families = Map.groupBy(checks, ({ family }) => family);
    const said = ({ title, seen }) => h("dd", {}, ...withCode(seen || title));
    const list = [...families].map(([family, rows]) => h("div", {}, h("dt", {}, family), ...rows.map(said)));
    const summary = checks.length === 1 ? "1 check found right" : `${checks.length} checks found right`;
    return part("fine", open, [summary], h("dl", {}, ...list));
  }

  /** Ticked, torch.compile takes seconds: its badge says so until the answer is there. */
  function compiling({ target }) {
    if (target.name !== "compile" || !target.checked) return;
    const badge = [...place.querySelectorAll(".badge")].find(({ dataset }) => dataset.name === "compile");
    badge?.querySelector("i").replaceChildren("compiling…");
  }
  document.addEventListener("change", compiling);

  function close() {
    document.removeEventListener("change", compiling);
    source.clear();
  }

  async function show({ checks, badges: given, raw, tried }) {
    await dressed;
    const of = (...levels) => checks.filter(({ level }) => levels.includes(level));
    const [bad, noted, good] = [of(...OPEN), of("note"), of("fine")];
    const focused = place.contains(document.activeElement) ? selectorOf(document.activeElement) : null;
    place.replaceChildren(
      ...(given.length ? [badges(given)] : []),
      ...bad.map(finding),
      ...(noted.length ? [notes(noted)] : []),
      ...(good.length ? [fine(good, bad.length === 0)] : []),
      ...(raw.length ? [returnedTable(raw)] : []),
      ...(raw.length && tried ? [h("p", { class: "tried" }, tried)] : []),
    );
    if (focused) place.querySelector(focused)?.focus({ preventScroll: true });
  }

  return { show, redraw() {}, close };
}

/** Where another call can be seen, by an element of it. */
export const addressOfCall = (recipe, wrt) => `?${new URLSearchParams({ recipe, wrt, view: "jacobian" })}`;

/** Where somebody was, as a selector that finds it again in the next answer. */
const selectorOf = (active) => (active.matches("summary") ? `.${active.parentElement.className} > summary` : null);

/** What backward returned for every input, and what arrived there. */
function returnedTable(raw) {
  const head = ["argument", "shape", "backward returned", "torch delivered"];
  const rows = raw.map((row) => {
    const [out, came] = [typeAndShape(row.returned, row.returned_dtype), typeAndShape(row.delivered, row.delivered_dtype)];
    const kept = out === came || (out === NONE && came === NOTHING);
    return [row.input, row.shape || NOTHING, out, kept ? came : [came, h("i", { class: "changed" }, " changed")]];
  });
  return responsiveTable("What backward returned, and what torch made of it", head, rows);
}

const typeAndShape = (shape, dtype) => (dtype ? `${dtype} ${shape}` : shape || NONE);

/** A mark, and the word that it stands for. */
function sign(kind, word) {
  const shape = { viewBox: "0 0 16 16", class: `sign ${kind}`, "aria-hidden": "true" };
  const picture = svg("svg", shape, svg("path", { d: MARKS[kind] }));
  return word ? [picture, h("span", { class: "level" }, word)] : [picture];
}

/** Returns `link(line)`, a link that brings the line into sight and marks it, and `clear()`, which marks none. */
function sourceLinks() {
  const clear = () => {
    for (const marked of document.querySelectorAll(".source .pointed")) marked.classList.remove("pointed");
  };

  /** The ids count from 1, the numbers that are seen from where the source begins in its file. */
  function link(number) {
    const first = Number(document.querySelector(".source")?.dataset.first ?? 1);
    const to = h("a", { href: `#L${number}` }, `line ${number + first - 1}`);
    to.addEventListener("click", (event) => {
      event.preventDefault();
      const line = document.getElementById(`L${number}`);
      if (line === null) return;
      clear();
      line.classList.add("pointed");
      const behavior = matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth";
      line.scrollIntoView({ block: "center", behavior });
      line.tabIndex = -1;
      line.focus({ preventScroll: true });
    });
    return to;
  }

  return { link, clear };
}
