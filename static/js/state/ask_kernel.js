// Asking a kernel: the page around passes a question on, and what was answered back.

const PATIENCE = 20_000; // ms, for a kernel runs one cell after the other
const SILENCE = { ok: false, status: 503, body: { detail: "The kernel does not answer: it runs another cell, or is gone. Move again." }, retryAfter: 0 };

/** Answers addresses as `askServer` does. */
export function askKernel(address, signal) {
  const id = Math.random().toString(36).slice(2); // several views may show one model
  const listening = new AbortController();
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, PATIENCE, SILENCE);
    listening.signal.addEventListener("abort", () => clearTimeout(timer));
    signal.addEventListener("abort", reject, { signal: listening.signal });
    const hear = ({ source, data }) => source === parent && data?.type === "gradloupe:answer" && data.id === id && resolve(data.reply);
    addEventListener("message", hear, { signal: listening.signal });
    parent.postMessage({ type: "gradloupe:ask", id, address }, "*");
  }).finally(() => listening.abort());
}
