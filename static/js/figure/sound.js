// Listening to the curves: forward, then analytical, then numerical, with the cursor at the place that sounds.

import { calm } from "../dom.js";
import { nearest } from "../number.js";
import { without } from "./traces.js";

const [LEAD, PAUSE] = [0.1, 0.7]; // seconds before the first curve, and between two
const JUMP = 0.5; // seconds between two places of the cursor for those who want no motion

/**
 * The button of the page starts and stops, so does the key h on the cursor, and Escape stops. `plot.state()` is what is
 * drawn, null before that; `trace.follow(row)` takes the cursor along, null lets it go. Returns {stop}, which does
 * nothing on a page without the button.
 */
export function soundButton({ plot, trace }) {
  const [button, cursor, status] = ["#listen", "#cursor", "#heard"].map((name) => document.querySelector(name));
  if (!button) return { stop() {} };
  let playing = null;

  function play() {
    const { answer, ranges } = plot.state() ?? {};
    const parts = answer && ranges ? score(answer, ranges) : [];
    if (parts.length === 0) return say("There is nothing to hear.");
    const context = new AudioContext();
    const begins = parts.map((_, i) => context.currentTime + LEAD + i * (SECONDS + PAUSE));
    parts.forEach((part, i) => playPart(context, part, begins[i]));
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
    if (at >= 0 && now - playing.moved >= (calm.matches ? JUMP : 0)) {
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

const SECONDS = 3; // for one curve
const BEATS = 300; // of one curve
const [LOWEST, OCTAVES] = [220, 3];
const OUTSIDE = 0.01; // of the panel, so that a curve along its edge is heard
const PARTS = [
  ["forward", "upper"],
  ["analytical", "lower"],
  ["numerical", "lower"],
];

/** The pitch in hertz of `value` in a panel from `low` to `high`, null for what is not drawn there. */
export function pitch(value, [low, high]) {
  const share = (value - low) / (high - low);
  if (value === null || !(share >= -OUTSIDE && share <= 1 + OUTSIDE)) return null;
  return LOWEST * 2 ** (OCTAVES * share);
}

/**
 * What is heard of `answer`, drawn in the panels `ranges`: a part for each curve, {name, beats, ticks}. A beat is
 * {row, hertz, negative}, with hertz null where there is silence; a tick is the share of the part at which a mark stands.
 */
export function score({ columns, scene, marks, start, stop }, ranges) {
  const rows = Array.from({ length: BEATS }, (_, i) => nearest(columns.x, start + (i / (BEATS - 1)) * (stop - start)));
  const ticks = marks.map(({ x }) => (x - start) / (stop - start));
  const beat = (column, panel) => (row) => {
    const value = column[row];
    return { row, hertz: pitch(value, ranges[panel]), negative: value !== null && value < 0 };
  };
  return PARTS.filter(([name]) => columns[name]?.some((value) => value !== null)).map(([name, panel]) => ({
    name: name === "forward" ? scene.nouns.forward : name,
    beats: rows.map(beat(without(columns[name], scene.gaps), panel)),
    ticks,
  }));
}

const [TONE, HISS, TICK] = [0.22, 0.5, 0.25];
const NARROW = 6; // of the band that the hiss keeps around the pitch
const FADE = 0.008; // seconds, so that a note neither begins nor ends with a click
const [CLICK, KNOCK] = [0.03, 1900];

/** Let `context` play `part` from the time `begin` on, from the left ear to the right one. */
export function playPart(context, { beats, ticks }, begin) {
  const out = context.createStereoPanner();
  out.connect(context.destination);
  out.pan.setValueCurveAtTime(new Float32Array([-1, 1]), begin, SECONDS);
  const hertz = filled(beats.map((beat) => beat.hertz));
  const tone = new OscillatorNode(context, { type: "triangle" });
  const hiss = new AudioBufferSourceNode(context, { buffer: noise(context), loop: true });
  const band = new BiquadFilterNode(context, { type: "bandpass", Q: NARROW });
  for (const { frequency } of [tone, band]) frequency.setValueCurveAtTime(Float32Array.from(hertz), begin, SECONDS);
  tone.connect(loudness(context, beats, begin, ({ negative }) => (negative ? TONE / 3 : TONE))).connect(out);
  hiss.connect(band);
  band.connect(loudness(context, beats, begin, ({ negative }) => (negative ? HISS : 0))).connect(out);
  for (const source of [tone, hiss]) {
    source.start(begin);
    source.stop(begin + SECONDS);
  }
  for (const share of ticks) knock(context, begin + share * SECONDS, 2 * share - 1);
}

/** A gain that follows the beats: `level(beat)` while something sounds, silence where nothing is drawn. */
function loudness(context, beats, begin, level) {
  const node = new GainNode(context, { gain: 0 });
  let now = 0;
  beats.forEach((beat, i) => {
    const next = beat.hertz === null ? 0 : level(beat);
    if (next !== now) node.gain.setTargetAtTime(next, begin + (i / beats.length) * SECONDS, FADE / 3);
    now = next;
  });
  node.gain.setTargetAtTime(0, begin + SECONDS - FADE, FADE / 3);
  return node;
}

/** Through a silence the pitch stays that of the last note, before the first one that of the first. */
function filled(hertz) {
  let last = hertz.find((each) => each !== null);
  return hertz.map((each) => (last = each ?? last));
}

function noise(context) {
  const buffer = context.createBuffer(1, context.sampleRate, context.sampleRate);
  const samples = buffer.getChannelData(0);
  samples.forEach((_, i) => (samples[i] = 2 * Math.random() - 1));
  return buffer;
}

function knock(context, at, pan) {
  const tone = new OscillatorNode(context, { type: "square", frequency: KNOCK });
  const gain = new GainNode(context, { gain: 0 });
  gain.gain.setValueAtTime(TICK, at);
  gain.gain.setTargetAtTime(0, at, CLICK / 4);
  tone
    .connect(gain)
    .connect(new StereoPannerNode(context, { pan: Math.max(-1, Math.min(1, pan)) }))
    .connect(context.destination);
  tone.start(at);
  tone.stop(at + CLICK);
}
