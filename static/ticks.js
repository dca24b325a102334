// Where an axis is labelled, and how. Our own, because plotly sets powers of ten with an inline style.

import { fixed } from "./number.js";

/** {tickvals, ticktext} for about `count` labels between `low` and `high`, at multiples of 1, 2 or 5. */
export function ticks([low, high], count) {
  const rough = (high - low) / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * (rough < 1.5 * power ? 1 : rough < 3.5 * power ? 2 : rough < 7.5 * power ? 5 : 10);
  const first = Math.ceil(low / step - 1e-9);
  const last = Math.floor(high / step + 1e-9);
  const tickvals = Array.from({ length: last - first + 1 }, (_, i) => Number(((first + i) * step).toPrecision(12)));
  return { tickvals, ticktext: tickvals.map((value) => fixed(value, step)) };
}
