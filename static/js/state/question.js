// Asking: one question at a time, and why there is no answer.

import { ROOT } from "../root.js";

const PATIENCE = 600;

/**
 * One question at a time: while one is under way only the newest is remembered, so answers never pile up or cross.
 * Returns `ask(address, stale)`. `source` answers addresses, as `askServer` does. `answered(answer, address)` gets what was
 * computed, `refused(sentence, address, wrong, errors)` why it was not, or why the answer could not be shown; `wrong` says
 * that the question itself was at fault, and `errors` which parameters are, if any. A question that takes longer than
 * PATIENCE ms is given up as soon as there is a newer one; at once where its answer would be `stale`.
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
      settle = ok ? () => answered(body, address) : () => refused(sentence(body, status), address, wrong, body.errors);
    } catch {
      if (!signal.aborted) settle = () => refused(SILENCE, address);
    }
    if (signal.aborted) return 0;
    try {
      settle();
    } catch (error) {
      refused(displayError(error), address);
    }
    return seconds;
  }

  return (address, stale = false) => {
    next = address;
    if (running === null) run();
    else if (stale || performance.now() - running.since > PATIENCE) running.controller.abort();
  };
}

/** Why an answer that came cannot be seen. */
export const displayError = ({ message }) =>
  `The answer came, but this page failed to show it (${message}). Reload the page.`;

const SILENCE = "The server does not answer. Is it still running?";
const sentence = (problem, status) => problem.detail ?? `The server answered ${status}.`;

/** What the server says to one request: {text, trouble}, of which the one that there is not is "". `more` is for fetch. */
export async function fetchText(address, more) {
  try {
    const response = await fetch(address, more);
    if (response.ok) return { text: await response.text(), trouble: "" };
    return { text: "", trouble: sentence(await response.json(), response.status) };
  } catch {
    return { text: "", trouble: SILENCE };
  }
}

/**
 * The server answers an address with {ok, status, body, retryAfter}, in seconds; throws when it says nothing of sense.
 * `more` is what else to give to fetch.
 */
export async function askServer(address, signal, more = {}) {
  const accepting = { Accept: "application/json", ...more.headers };
  const response = await fetch(ROOT + address, { signal, ...more, headers: accepting });
  const { ok, status, headers } = response;
  return { ok, status, body: await response.json(), retryAfter: secondsOf(headers.get("Retry-After") ?? "0") };
}

/** The same for a page that leaves out parts: of the curves it gets none of them. */
export function askForPage(address, signal) {
  const { hide } = document.documentElement.dataset;
  return askServer(hide ? `${address}${address.includes("?") ? "&" : "?"}hide=${hide}` : address, signal);
}

/** Retry-After has seconds, or a date where a proxy writes it; 0 for anything else, and for a date that is over. */
const secondsOf = (text) => Math.max(0, Number.isFinite(Number(text)) ? Number(text) : (Date.parse(text) - Date.now()) / 1000 || 0);
