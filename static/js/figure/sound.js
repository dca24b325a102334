// Listening to the curves: forward, then analytical, then numerical, with the cursor at the place that sounds.

import { perform } from "./instrument.js";
import { SECONDS, score } from "./score.js";

const [LEAD, PAUSE] = [0.1, 0.7]; // seconds before the first curve, and between two
const JUMP = 0.5; // seconds between two places of the cursor for those who want no motion

/**
 * The button of the page starts and stops, so does the key h on the cursor, and Escape stops. `plot.state()` is what is
 * drawn, null before that; `trace.follow(row)` takes the cursor along, null lets it go. Returns {stop}, which does
 * nothing on a page without the button.
 */
export function listener({ plot, trace }) {
  const [button, cursor, status] = ["#listen", "#cursor", "#heard"].map((name) => document.querySelector(name));
  if (!button) return { stop() {} };
  const still = matchMedia("(prefers-reduced-motion: reduce)");
  let playing = null;

  function play() {
    const { answer, ranges } = plot.state() ?? {};
    const parts = answer && ranges ? score(answer, ranges) : [];
    if (parts.length === 0) return say("There is nothing to hear.");
    const context = new AudioContext();
    const begins = parts.map((_, i) => context.currentTime + LEAD + i * (SECONDS + PAUSE));
    parts.forEach((part, i) => perform(context, part, begins[i]));
    playing = { context, parts, begins, part: -1, frame: 0, moved: -Infinity };
    button.textContent = "Stop";
    playing.frame = requestAnimationFrame(accompany);
    return context.resume();
  }

  /** Say which curve is heard and take the cursor along. */
  function accompany() {
    const { context, parts, begins } = playing;
    const now = context.currentTime;
    const at = begins.findLastIndex((begin) => begin <= now);
    if (now > begins.at(-1) + SECONDS) return stop();
    if (at !== playing.part) say(`Playing ${parts[at].name}`);
    playing.part = at;
    if (at >= 0 && now - playing.moved >= (still.matches ? JUMP : 0)) {
      const { beats } = parts[at];
      playing.moved = now;
      trace.follow(beats[Math.min(beats.length - 1, Math.floor(((now - begins[at]) / SECONDS) * beats.length))].row);
    }
    playing.frame = requestAnimationFrame(accompany);
    return undefined;
  }

  function stop() {
    if (playing === null) return;
    cancelAnimationFrame(playing.frame);
    playing.context.close();
    playing = null;
    button.textContent = "Listen";
    say("");
    trace.follow(null);
  }

  const say = (words) => (status.textContent = words);
  const toggle = () => (playing === null ? play() : stop());
  button.hidden = !window.AudioContext;
  button.addEventListener("click", toggle);
  cursor.addEventListener("keydown", ({ key, altKey, ctrlKey, metaKey }) => {
    if (key === "h" && !altKey && !ctrlKey && !metaKey && !button.hidden) toggle();
  });
  addEventListener("keydown", ({ key }) => key === "Escape" && stop());
  document.addEventListener("visibilitychange", () => document.hidden && stop());
  return { stop };
}
