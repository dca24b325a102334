// Building the page: elements, tables, names of code in sentences, style sheets that are asked for later.

import { typesetPowers, typesetSentence } from "./number.js";

const SVG = "http://www.w3.org/2000/svg";
const CODE =
  /(\.backward\(\)|@\w+|\b(?:torch|ctx)(?:\.\w+)+|(?<![Dd]ouble )\b(?:forward|backward|grad_\w+(?:\[[\d,]+\])?|None)(?!\w))/;

/** An HTML element. An attribute that is true has no value, one that is false or null is left out. */
export const h = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);

/** An SVG element, likewise. */
export const svg = (tag, attributes, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);

function fill(element, attributes, children) {
  setAttributes(element, attributes ?? {});
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

export function setAttributes(element, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, value);
  }
}

/** The font size of the page, in pixels. */
export const rem = () => parseFloat(getComputedStyle(document.documentElement).fontSize);

/** Does the reader want no motion? Its changes can be heard. */
export const calm = matchMedia("(prefers-reduced-motion: reduce)");

/** Does this click ask the browser to open or store what a link leads to, somewhere else than here? */
export const opensElsewhere = ({ altKey, ctrlKey, metaKey, shiftKey }) => altKey || ctrlKey || metaKey || shiftKey;

/** `text` as nodes, the names of code set as code. */
export function withCode(text) {
  const pieces = typesetPowers(typesetSentence(text)).split(CODE);
  return pieces.map((piece, i) => (i % 2 ? h("code", {}, piece) : piece));
}

/** `text` as nodes, what stands between backticks set as code, so that a minus in it stays one that can be typed. */
export const marked = (text) => text.split(/`([^`]+)`/).map((piece, i) => (i % 2 ? h("code", {}, piece) : piece));

/** What this HTML of the server's has in it. */
export function contentOf(html) {
  const frame = h("template", {});
  frame.innerHTML = html;
  return frame.content;
}

/** Fill `element` with these nodes and texts, unless it says the same already: a screen reader would read it again. */
export function replaceWords(element, pieces) {
  const text = pieces.map((piece) => piece.textContent ?? piece).join("");
  if (element.textContent !== text) element.replaceChildren(...pieces);
}

/** The scale of colours between two numbers: of sizes, where it is `plain`, else of both signs. */
export const ramp = (plain = false) => h("i", { class: plain ? "ramp plain" : "ramp" });

/** A table; the first cell of a row is its heading, an empty one heads nothing. A cell is a text or a node. */
export function grid(caption, { head, rows }) {
  const heading = (content, scope) => (content === "" ? h("td", {}, "") : h("th", { scope }, content));
  const line = ([first, ...others]) => h("tr", {}, heading(first, "row"), ...others.map((cell) => h("td", {}, cell)));
  const top = h("tr", {}, ...head.map((name) => heading(name, "col")));
  return h("table", {}, h("caption", {}, caption), h("thead", {}, top), h("tbody", {}, ...rows.map(line)));
}

/** Let the keyboard reach and scroll those of `boxes` whose content is too wide for them. */
export function makeScrollable(boxes) {
  const observer = new ResizeObserver((entries) => {
    for (const { target } of entries) target.tabIndex = target.scrollWidth > target.clientWidth ? 0 : -1;
  });
  for (const box of boxes) observer.observe(box);
}

const sheets = new Map();

/** Settled when the style sheet at `href` applies; it is asked for once, and again only if it did not come. */
export function styleSheet(href) {
  const there = document.querySelector(`link[rel="stylesheet"][href="${href}"]`)?.sheet; // it may have come with the page
  if (!sheets.has(href)) sheets.set(href, there ? Promise.resolve() : load(href));
  return sheets.get(href);
}

function load(href) {
  return new Promise((resolve, reject) => {
    const fail = () => {
      sheets.delete(href);
      reject(new Error(`the style sheet ${href.split("/").at(-1)} could not be loaded`));
    };
    const link = h("link", { rel: "stylesheet", href });
    document.head.append(Object.assign(link, { onload: resolve, onerror: fail }));
  });
}
