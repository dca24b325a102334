// One question at a time: while one is under way only the newest is remembered, so answers never pile up or cross.

const PATIENCE = 600;

/**
 * Returns `ask(address)`. `answered(answer, address)` gets what the server computed, `refused(sentence, address, wrong)`
 * why it did not, or why the answer could not be shown; `wrong` says that the question itself was at fault. A question that takes longer than PATIENCE ms is given up as
 * soon as there is a newer one.
 */
export function asker(answered, refused) {
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
      const response = await fetch(address, { signal, headers: { Accept: "application/json" } });
      const body = await response.json();
      seconds = Number(response.headers.get("Retry-After") ?? 0);
      const wrong = response.status >= 400 && response.status < 500;
      settle = response.ok ? () => answered(body, address) : () => refused(sentence(body, response), address, wrong);
    } catch {
      if (!signal.aborted) settle = () => refused("The server does not answer. Is it still running?", address);
    }
    if (signal.aborted) return 0;
    try {
      settle();
    } catch (error) {
      refused(unshown(error), address);
    }
    return seconds;
  }

  return (address) => {
    next = address;
    if (running === null) run();
    else if (performance.now() - running.since > PATIENCE) running.controller.abort();
  };
}

/** Why an answer that came cannot be seen. */
export const unshown = ({ message }) =>
  `The answer came, but this page failed to show it (${message}). Reload the page.`;

const sentence = (problem, response) => problem.detail ?? `The server answered ${response.status}.`;
