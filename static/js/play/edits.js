// What a page with an editor asks: its code goes to the server's sandbox, and the op that it began with is asked as ever.

import { pageToken } from "../own/events.js";
import { askServer } from "../state/question.js";

const STALE = "The curves are those of the last code that ran.";
const LOST = "Nothing is drawn before the code runs.";

/**
 * The source of a session: `asked()` says {text, name, form} of the page, and `from` is the name of the op that is drawn
 * behind the edit, "" for none; `hide` are parts of the curves to leave out. `heard(result)` is told every result of the sandbox before its curves are. Returns
 * {ask(address, signal), original()}, the answer of that op to the same question, null where it has none.
 */
export function editSource({ asked, from, drawn, heard, hide = "" }) {
  let behind = { address: "", answer: null };

  async function ask(address, signal) {
    const [, query = ""] = address.split("?");
    const body = JSON.stringify({ ...asked(), query: [query, hide && `hide=${hide}`].filter(Boolean).join("&") });
    const headers = { "Content-Type": "application/json", "X-Gradloupe-Token": pageToken() };
    const [reply] = await Promise.all([
      askServer("/play.page.json", signal, { method: "POST", body, headers }),
      lookBehind(query && `?${query}`, signal),
    ]);
    if (!reply.ok) return reply;
    const { result, document } = reply.body;
    const seen = document !== null && (result === "answered" || !drawn());
    heard(reply.body, seen);
    return seen ? { ...reply, body: document } : { ...reply, ok: false, body: { detail: drawn() ? STALE : LOST } };
  }

  /** What the op answers; a question that it does not understand, of another parameter say, leaves nothing to compare. */
  async function lookBehind(query, signal) {
    const address = `/ops/${encodeURIComponent(from)}.page.json${query}`;
    if (!from || address === behind.address) return;
    const { ok, body } = await askServer(address, signal).catch(() => ({ ok: false }));
    behind = { address, answer: ok && body.failure === null ? body : null };
  }

  return { ask, original: () => behind.answer };
}
