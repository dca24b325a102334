// The address says what the page shows: what the controls say, defaults left out. The server has the last word on it.

import { ROOT } from "../root.js";
import { DRESS, VIEW } from "./parameters.js";

const pick = (state, names) => Object.fromEntries(names.map((name) => [name, state[name]]));

/** Does this name say what is shown, and not how, nor what is looked at more closely? */
export const isOfSection = (name) => !DRESS.includes(name) && !VIEW.includes(name);

/** Does this name say what is looked at more closely? */
export const isOfView = (name) => VIEW.includes(name);

/** What an address says, over the defaults. `ranged(usual, wrt)` are those with the range of another element. */
export function parseAddress(usual, search, ranged) {
  const given = Object.fromEntries(new URLSearchParams(search));
  return { ...ranged(usual, given.wrt ?? usual.wrt), ...given };
}

/** A value as the server writes it: what need not be escaped stays readable. */
const encoded = (text) =>
  encodeURIComponent(text)
    .replace(/%2C|%3A|%3B|%5B|%5D/g, decodeURIComponent)
    .replace(/[!'()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`);

/** The query of `state`, "" where everything is as by default. */
function queryOf(usual, state) {
  const said = Object.keys(usual)
    .filter((name) => (state[name] ?? "") !== "" && state[name] !== usual[name])
    .map((name) => `${name}=${encoded(state[name])}`);
  return said.length > 0 ? `?${said.join("&")}` : "";
}

/** What the address says of the section itself, of how it is dressed, and of the companion figure alone. */
export function splitQuery(usual, state) {
  return {
    section: queryOf(usual, pick(state, Object.keys(state).filter(isOfSection))),
    appearance: queryOf(usual, pick(state, DRESS)),
    view: state.view === usual.view ? "" : queryOf(usual, pick(state, VIEW)),
  };
}

/** One query that says what both say. */
export const joinQueries = (...queries) => {
  const said = queries.filter(Boolean).map((each) => each.slice(1));
  return said.length > 0 ? `?${said.join("&")}` : "";
};

/** Where the code of the op at `path` is edited, under this query of the section. */
export const editAddress = ({ path }, said) => `${ROOT}/play?from=${path.split("/").at(-1)}${said.replace("?", "&")}`;

const LATER = 1000; // ms until it is tried again

let retry = 0;
let step = false; // is there one that the history does not have yet?
let before = ""; // what stood there before the last step, if nothing has followed it

/**
 * Put `address`, of a page of this host, into the bar of the browser; what stood there stays behind the button Back if this
 * is a `deed`, as a zoom is and a movement of a slider is not. The bar bears only so many changes in a short time, and a
 * long drag makes more: one that comes too soon is written later, and nothing else is lost by it. A deed that is `refused`
 * leaves no step behind.
 */
export function showInAddressBar(address, deed = false, refused = false) {
  clearTimeout(retry);
  if (refused && address === before) {
    before = "";
    history.back();
    return;
  }
  step = (step || deed) && !isShown(address);
  if (isShown(address)) return;
  before = step ? location.pathname + location.search : "";
  try {
    history[step ? "pushState" : "replaceState"](null, "", address);
  } catch {
    // Safari and Firefox say so when it is too soon; Chromium leaves everything as it is.
  }
  if (isShown(address)) step = false;
  else retry = setTimeout(showInAddressBar, LATER, address);
}

function isShown(address) {
  const { pathname, search } = new URL(address, location.href);
  return location.pathname === pathname && location.search === search;
}
