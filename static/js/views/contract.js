// The contract X-ray: what was checked of a Function, what was found, and what torch made of what backward returned.

import { ledger } from "../ledger.js";
import { pointing } from "./pointing.js";
import { element } from "../table.js";
import { coded } from "../figure/words.js";

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

export function panel(place, { wear }) {
  const dressed = Promise.all([wear("ledger.css"), wear("contract_panel.css")]);
  const source = pointing();
  const unfolded = new Map(); // by its name whether somebody has opened or closed a part

  function part(name, open, summary, ...content) {
    const box = document.createElement("details");
    const head = document.createElement("summary");
    box.className = name;
    box.open = unfolded.get(name) ?? open;
    head.append(...summary);
    head.addEventListener("click", () => unfolded.set(name, !box.open));
    box.append(head, ...content);
    return box;
  }

  function finding(check) {
    const box = made("article", "finding");
    box.dataset.level = check.level;
    const told = made("dl");
    for (const [name, text] of [
      ["seen", check.seen],
      ["what torch made of it", check.torch],
      ["advice", check.advice],
    ]) {
      if (text) told.append(made("div", name.split(" ")[0], element("dt", name), made("dd", "", ...coded(text))));
    }
    const title = made("h3", "", ...sign(check.level, check.level), " ", ...coded(check.title));
    box.append(title, told, made("p", "refer", ...references(check)));
    return box;
  }

  function references({ id, line, document: page }) {
    const said = [made("code", "", id)];
    if (line !== null) said.push(source.link(line));
    if (page) said.push(element("span", `torch’s documentation: ${page}`));
    return said;
  }

  function badges(given) {
    const row = given.map(({ name, state }) => {
      const badge = made("span", "badge", ...sign(state, ""), `${name} `, element("i", WORDS[state]));
      Object.assign(badge.dataset, { name, state });
      return badge;
    });
    const told = given.map(({ name, state, sentence }) =>
      made("div", "", element("dt", `${name}: ${WORDS[state]}`), made("dd", "", ...coded(sentence))),
    );
    return part("badges", false, row, made("dl", "", ...told));
  }

  function notes(checks) {
    const summary = checks.length === 1 ? "1 note" : `${checks.length} notes`;
    return part("noted", false, [summary], ...checks.map(finding));
  }

  function fine(checks, open) {
    const families = Map.groupBy(checks, ({ family }) => family);
    const said = ({ title, seen }) => made("dd", "", ...coded(seen || title));
    const list = [...families].map(([family, rows]) => made("div", "", element("dt", family), ...rows.map(said)));
    const summary = checks.length === 1 ? "1 check found right" : `${checks.length} checks found right`;
    return part("fine", open, [summary], made("dl", "", ...list));
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
    const focused = place.contains(document.activeElement) ? place_of(document.activeElement) : null;
    place.replaceChildren(
      ...(given.length ? [badges(given)] : []),
      ...bad.map(finding),
      ...(noted.length ? [notes(noted)] : []),
      ...(good.length ? [fine(good, bad.length === 0)] : []),
      ...(raw.length ? [delivered(raw)] : []),
      ...(raw.length && tried ? [made("p", "tried", tried)] : []),
    );
    if (focused) place.querySelector(focused)?.focus({ preventScroll: true });
  }

  return { show, redraw() {}, close };
}

/** Where somebody was, as a selector that finds it again in the next answer. */
const place_of = (active) => (active.matches("summary") ? `.${active.parentElement.className} > summary` : null);

/** What backward returned for every input, and what arrived there. */
function delivered(raw) {
  const head = ["argument", "shape", "backward returned", "torch delivered"];
  const rows = raw.map((row) => {
    const [out, came] = [said(row.returned, row.returned_dtype), said(row.delivered, row.delivered_dtype)];
    const kept = out === came || (out === NONE && came === NOTHING);
    return [row.input, row.shape || NOTHING, out, kept ? came : [came, made("i", "changed", " changed")]];
  });
  return ledger("What backward returned, and what torch made of it", head, rows);
}

const said = (shape, dtype) => (dtype ? `${dtype} ${shape}` : shape || NONE);

/** A mark, and the word that it stands for. */
function sign(kind, word) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  const path = svg.appendChild(document.createElementNS(svg.namespaceURI, "path"));
  for (const [name, value] of Object.entries({ viewBox: "0 0 16 16", class: `sign ${kind}`, "aria-hidden": "true" })) {
    svg.setAttribute(name, value);
  }
  path.setAttribute("d", MARKS[kind]);
  return word ? [svg, made("span", "level", word)] : [svg];
}

function made(tag, name = "", ...content) {
  const box = document.createElement(tag);
  if (name) box.className = name;
  box.append(...content);
  return box;
}
