// The server's word on the visitor's file: listening to it, opening the page anew once it can be shown again, and the
// token that lets the file be loaded again.

import { ROOT } from "../root.js";

const LATER = 1500; // ms until it is tried again where nobody answers, or the browser has given up

/** Calls `told(state)` with the present state and then with every other; `gone()` when nobody tells any more. */
export function listenToServer({ told, gone }) {
  let source = null;
  let timer = 0;

  function open() {
    if (document.hidden || source !== null) return;
    source = new EventSource(`${ROOT}/events`);
    source.addEventListener("message", ({ data }) => told(JSON.parse(data)));
    source.addEventListener("error", () => {
      gone();
      if (source?.readyState !== EventSource.CLOSED) return; // it tries by itself
      close();
      timer = setTimeout(open, LATER);
    });
  }

  function close() {
    clearTimeout(timer);
    source?.close();
    source = null;
  }

  document.addEventListener("visibilitychange", () => (document.hidden ? close() : open()));
  addEventListener("pagehide", close);
  addEventListener("pageshow", open);
  open();
}

// The word that stands behind the # of the printed address: whoever has it may have the files loaded again. It is kept
// for this tab alone, and is taken out of the address, so that no link carries it on.
const KEY = "gradloupe-token";
const given = new URLSearchParams(location.hash.slice(1)).get("token");

if (given) {
  sessionStorage.setItem(KEY, given);
  history.replaceState(history.state, "", location.pathname + location.search);
}

/** The word, "" where it is not known. */
export const pageToken = () => sessionStorage.getItem(KEY) ?? "";

let latest = 0;

/**
 * Open this page anew once `address`, where its numbers are, has any; `refused(detail)` hears why it has none. A busy
 * server is asked again after LATER, then after twice as long, and so on.
 */
export async function reloadWhenReady(address, refused, later = LATER) {
  const mine = (latest += 1);
  const response = await fetch(ROOT + address, { cache: "no-cache" }).catch(() => null);
  if (mine !== latest) return;
  if (response?.ok) location.reload();
  else if (response !== null && response.status < 500) refused((await response.json()).detail);
  else setTimeout(() => mine === latest && reloadWhenReady(address, refused, 2 * later), later);
}

/** A frame follows the visitor's file and its lesson, with all others of its page; `numbers()` is their address. */
export function followInFrame({ shown, digest, course }, numbers) {
  let asked = digest;
  listenTogether(({ digests: { [shown]: now }, course: files }) => {
    if (course && files !== course) location.reload();
    if (now === undefined || now === asked) return;
    asked = now;
    reloadWhenReady(numbers(), () => {}); // what was drawn last stays
  });
}

/** As `listenToServer`, but from one connection for all frames. One without an origin, which the server refuses, has none. */
function listenTogether(told) {
  if (origin === "null" || !globalThis.SharedWorker) return;
  const { port } = new SharedWorker(new URL("stream.js", import.meta.url), { type: "module" });
  const want = () => port.postMessage(!document.hidden);
  port.onmessage = ({ data }) => told(JSON.parse(data));
  document.addEventListener("visibilitychange", want);
  addEventListener("pagehide", () => port.postMessage(false));
  addEventListener("pageshow", want);
  want();
}
