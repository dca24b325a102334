// One question at a time: while one is under way only the newest is remembered, so answers never pile up or cross.

const PATIENCE = 600;

/**
 * Returns `ask(address)`. `answered(answer, address)` gets what the server computed, `refused(sentence, address)`
 * why it did not. A question that takes longer than PATIENCE ms is given up as soon as there is a newer one.
 */
export function asker(answered, refused) {
  let next = null;
  let running = null;

  async function run() {
    while (next !== null) {
      const address = next;
      next = null;
      running = { controller: new AbortController(), since: performance.now() };
      await once(address, running.controller.signal);
    }
    running = null;
  }

  async function once(address, signal) {
    let settle = () => {};
    try {
      const response = await fetch(address, { signal, headers: { Accept: "application/json" } });
      const body = await response.json();
      settle = response.ok ? () => answered(body, address) : () => refused(sentence(body, response), address);
    } catch (error) {
      if (!signal.aborted) settle = () => refused("The server does not answer. Is it still running?", address);
    }
    if (!signal.aborted) settle();
  }

  return (address) => {
    next = address;
    if (running === null) run();
    else if (performance.now() - running.since > PATIENCE) running.controller.abort();
  };
}

const sentence = (problem, response) => problem.detail ?? `The server answered ${response.status}.`;
