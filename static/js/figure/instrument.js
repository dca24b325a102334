// Plays a score on the audio clock: a tone for a curve, hiss under it below zero, a tick at every mark.

import { SECONDS } from "./score.js";

const [TONE, HISS, TICK] = [0.22, 0.5, 0.25];
const NARROW = 6; // of the band that the hiss keeps around the pitch
const FADE = 0.008; // seconds, so that a note neither begins nor ends with a click
const [CLICK, KNOCK] = [0.03, 1900];

/** Let `context` play `part` from the time `begin` on, from the left ear to the right one. */
export function perform(context, { beats, ticks }, begin) {
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
