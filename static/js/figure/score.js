// The curves as something to be heard: what sounds when. Pure: no sound yet.

import { nearest } from "../nearest.js";
import { nouns } from "./order.js";
import { withoutPoles } from "./poles.js";

export const SECONDS = 3; // for one curve
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
export function score(whole, ranges) {
  const { columns, start, stop } = withoutPoles(whole);
  const rows = Array.from({ length: BEATS }, (_, i) => nearest(columns.x, start + (i / (BEATS - 1)) * (stop - start)));
  const ticks = whole.marks.map(({ x }) => (x - start) / (stop - start));
  const beat = (column, panel) => (row) => {
    const value = column[row];
    return { row, hertz: pitch(value, ranges[panel]), negative: value !== null && value < 0 };
  };
  return PARTS.filter(([name]) => columns[name]?.some((value) => value !== null)).map(([name, panel]) => ({
    name: name === "forward" ? nouns(whole).forward : name,
    beats: rows.map(beat(columns[name], panel)),
    ticks,
  }));
}
