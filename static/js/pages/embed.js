// The page /embed: a live figure in the frame of another page, drawn when it is seen, as high as it is, in touch with
// that page.

import { soleFigure } from "../figure/live_figure.js";
import { loadPlotly } from "../figure/plot.js";
import { soundButton } from "../figure/sound.js";
import { isOfSection } from "../state/address.js";
import { askServer } from "../state/question.js";
import { Session } from "../state/session.js";

const LATEST = 500; // milliseconds that a busy page may keep a figure waiting that is in sight
const THEMES = ["auto", "light", "dark"];
const find = (selector) => document.querySelector(selector);
const page = document.documentElement;
let hurry = () => {};
const hurried = new Promise((resolve) => (hurry = resolve));
const whenDue = Promise.race([whenVisible(find("#canvas")), hurried]);
let answered = false;
let ready = false;

const session = new Session(askWhenSeen, location.search);
const figure = soleFigure(session, { load: () => whenDue.then(() => loadPlotly("curves")), drawn: tellReady });
const sound = soundButton(figure);

session.on("address", (said) => {
  find("#whole").href = session.path + said;
  try {
    history.replaceState(null, "", location.pathname + session.query + location.hash);
  } catch {
    // A frame may be without an address of its own.
  }
});
session.on("words", (answer) => {
  sound.stop(); // what is heard is no longer what is seen
  if (answered) parentPage.tell("change", report(answer));
  answered = true;
});

const parentPage = messenger({
  moved(state) {
    const known = Object.entries(state ?? {}).filter(([name]) => name in session.state && isOfSection(name));
    session.move(Object.fromEntries(known.map(([name, value]) => [name, String(value)])));
  },
  themed(theme) {
    if (THEMES.includes(theme)) page.dataset.theme = theme;
  },
});

function askWhenSeen(address, signal) {
  if (answered) hurry(); // what stands there is no longer what is asked for
  return askServer(address, signal);
}

/** The page around hears once that there are curves. */
function tellReady(answer) {
  if (!ready) parentPage.tell("ready", report(answer));
  ready = true;
}

function report({ address, verdict: { word, sentence } }) {
  const said = Object.entries(session.stateOf(address)).filter(([name]) => isOfSection(name));
  return { address, state: Object.fromEntries(said), verdict: { word, sentence } };
}

/** A page that was given no height tells the one it has. */
function measure() {
  const { height } = document.body.getBoundingClientRect();
  if (height > 0) parentPage.resized(Math.ceil(height));
}

if (!page.dataset.high) new ResizeObserver(measure).observe(document.body);
if (page.dataset.shown) import("../own/events.js").then(({ followInFrame }) => followInFrame(page.dataset));
session.start();

/**
 * `moved(state)` and `themed(theme)` hear what the page around asks for. Returns `tell(type, more)`, and
 * `resized(height)`, which says so in the four ways that there are of saying it.
 */
function messenger({ moved, themed }) {
  const framed = parent !== window;
  const post = (message) => framed && parent.postMessage(message, "*"); // whoever it is: all of this is on their page
  const secret = new URLSearchParams(location.hash.replace(/^#\??/, "")).get("secret") ?? "";
  const heard = { "gradloupe:state": ({ state }) => moved(state), "gradloupe:theme": ({ theme }) => themed(theme) };
  let last = 0;

  addEventListener("message", ({ source, data }) => {
    if (framed && source === parent && Object.hasOwn(heard, data?.type)) heard[data.type](data);
  });

  return {
    tell: (type, more) => post({ type: `gradloupe:${type}`, ...more }),
    resized(height) {
      if (height === last) return;
      last = height;
      post({ type: "gradloupe:resize", height });
      post({ subject: "lti.frameResize", height });
      post({ message: "height", value: height, secret });
      post(JSON.stringify({ src: location.href, context: "iframe.resize", height }));
    },
  };
}

/** Settled when `element` is in sight and the page has a moment to spare. */
function whenVisible(element) {
  const idle = window.requestIdleCallback ?? setTimeout; // Safari has none
  return new Promise((resolve) => {
    let there = false;
    const observer = new IntersectionObserver((entries) => {
      there = entries.at(-1).isIntersecting;
      if (there) idle(settle, { timeout: LATEST });
    });
    function settle() {
      if (!there) return; // it has been scrolled by
      observer.disconnect();
      resolve();
    }
    observer.observe(element);
  });
}
