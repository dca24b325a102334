// The state of the page is its address: what the controls say, defaults left out. The server has the last word on it.

/** What an address says, over the defaults. `ranged(usual, wrt)` are those with the range of another element. */
export function parse(usual, search, ranged) {
  const given = Object.fromEntries(new URLSearchParams(search));
  return { ...ranged(usual, given.wrt ?? usual.wrt), ...given };
}

/** The query of `state`, "" where everything is as by default. */
export function query(usual, state) {
  const said = Object.keys(usual)
    .filter((name) => (state[name] ?? "") !== "" && state[name] !== usual[name])
    .map((name) => `${name}=${encodeURIComponent(state[name]).replace(/%2C|%5B|%5D/g, decodeURIComponent)}`);
  return said.length > 0 ? `?${said.join("&")}` : "";
}

/** What the address says of the companion figure alone, and what it says of everything else. */
export function parted(usual, state) {
  const { view = "", at = "", ...rest } = state;
  return { section: query(usual, rest), look: view === usual.view ? "" : query(usual, { view, at }) };
}

/** One query that says what both say. */
export const joined = (...queries) => {
  const said = queries.filter(Boolean).map((each) => each.slice(1));
  return said.length > 0 ? `?${said.join("&")}` : "";
};
