// Out of sight: where backward differs beyond the range that is drawn, and the range to see it in.

import { tidy } from "./number.js";

const FAR = 3; // as many times the range away, and what is drawn now no longer fits in

/** {start, stop} in which the nearest difference out of sight is seen, null where there is none. */
export function beyond({ start, stop, verdict, wide }) {
  if (verdict.word !== "matches here") return null;
  const span = stop - start;
  const ends = (wide?.intervals ?? []).flatMap(([low, high]) => [
    ...((high ?? Infinity) > stop ? [{ at: Math.max(low ?? -Infinity, stop), side: 1 }] : []),
    ...((low ?? -Infinity) < start ? [{ at: Math.min(high ?? Infinity, start), side: -1 }] : []),
  ]);
  const away = ({ at, side }) => (side > 0 ? at - stop : start - at);
  if (ends.length === 0) return null;
  const { at, side } = ends.reduce((nearest, each) => (away(each) < away(nearest) ? each : nearest));
  const more = Math.max(span / 2, Math.abs(at) / 2);
  const far = away({ at, side }) > FAR * span;
  const [low, high] = side > 0 ? [far ? at - more : start, at + more] : [at - more, far ? at + more : stop];
  return { start: tidy(low, high - low), stop: tidy(high, high - low) };
}
