// What the server tells of the files, as long as somebody looks at this tab: a browser has few connections for one host.

const LATER = 1500; // ms until it is tried again where the browser itself has given up

/** Calls `told(state)` with the present state and then with every other; `gone()` when nobody tells any more. */
export function stream({ told, gone }) {
  let source = null;
  let timer = 0;

  function open() {
    if (document.hidden || source !== null) return;
    source = new EventSource("/events");
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
