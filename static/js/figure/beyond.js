// Out of sight: where backward differs beyond the range that is drawn, and the range to see it in.

import { tidy } from "../number.js";

const FAR = 3; // as many times the range away, and what is drawn now no longer fits in
const LARGEST = 1e300; // that an address takes

/** {start, stop} in which the nearest difference out of sight is seen; null where no address reaches one. */
export function beyond({ start, stop, verdict, wide }) {
  if (verdict.word !== "matches here") return null;
  const span = stop - start;
  const found = (wide?.intervals ?? []).flatMap(([low, high]) => [
    ...((high ?? Infinity) > stop ? [{ at: Math.max(low ?? -Infinity, stop), side: 1 }] : []),
    ...((low ?? -Infinity) < start ? [{ at: Math.min(high ?? Infinity, start), side: -1 }] : []),
  ]);
  const ends = found.filter(({ at }) => Math.abs(at) < LARGEST);
  const away = ({ at, side }) => (side > 0 ? at - stop : start - at);
  if (ends.length === 0) return null;
  const { at, side } = ends.reduce((nearest, each) => (away(each) < away(nearest) ? each : nearest));
  const more = Math.max(span / 2, Math.abs(at) / 2);
  const far = away({ at, side }) > FAR * span;
  const seen = side > 0 ? [far ? at - more : start, at + more] : [at - more, far ? at + more : stop];
  const [low, high] = seen.map((end) => Math.max(-LARGEST, Math.min(LARGEST, end)));
  return { start: tidy(low, high - low), stop: tidy(high, high - low) };
}
