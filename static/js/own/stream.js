// A worker that all frames of one page share: it listens to the server's word on the visitor's file once, however many they
// are, for a browser has six connections for one host. A frame says whether it wants to hear, and hears the present state
// first.

const LATER = 1500; // ms until it is tried again where the browser has given up
const listeners = new Set();
let source = null;
let latest = "";

globalThis.onconnect = ({ ports: [port] }) => {
  port.onmessage = ({ data: wanted }) => (wanted ? join(port) : leave(port));
};

function join(port) {
  listeners.add(port);
  if (latest) port.postMessage(latest);
  if (!source) open();
}

function leave(port) {
  listeners.delete(port);
  if (listeners.size === 0) close();
}

function open() {
  source = new EventSource(new URL("../../../../events", import.meta.url)); // from /static/…/js/own/, under any path
  source.onmessage = ({ data }) => {
    latest = data;
    for (const port of listeners) port.postMessage(data);
  };
  source.onerror = () => {
    if (source?.readyState !== EventSource.CLOSED) return; // it tries by itself
    close();
    setTimeout(() => listeners.size > 0 && !source && open(), LATER);
  };
}

function close() {
  source?.close();
  source = null;
  latest = "";
}
