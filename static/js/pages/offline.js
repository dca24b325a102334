// Answers that came with the page: what stands in for the server in a file of its own.

import { closest } from "../nearest.js";

/** Answers addresses as source.js says, from `stored`: with the nearest values that there are. */
export function stored({ axes, parts, pool, documents }) {
  function answer(said) {
    const places = axes.map((axis) => place(axis, said.get(axis.name) ?? axis.usual));
    const at = axes.reduce((row, { values }, i) => row * values.length + places[i], 0);
    const found = { columns: {} };
    documents[at].forEach((spot, i) => {
      const [, column] = parts[i].match(/^columns\.(.*)/) ?? [];
      if (spot >= 0 && column) found.columns[column] = pool[spot];
      else if (spot >= 0) found[parts[i]] = pool[spot];
    });
    return found;
  }

  return async (address) => {
    const body = answer(new URLSearchParams(address.split("?")[1]));
    return { ok: true, status: 200, body, retryAfter: 0 };
  };
}

/** The place of the value that `text` says, or comes closest to. */
function place({ kind, values, at }, text) {
  if (kind === "float" || kind === "int") return closest(values.map(Number), Number(text));
  return values.includes(text) ? values.indexOf(text) : at;
}
