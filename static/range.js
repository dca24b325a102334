// The interval a panel shows: every finite value, air above and below, and never a zoom into rounding noise.

const AIR = 0.11;
const NOISE = 1e-9;
const [LEAST, MOST] = [1e-290, 1e304]; // plotly takes no longer range than 1.8e304

function extent(columns) {
  let low = Infinity;
  let high = -Infinity;
  for (const value of columns.flatMap((column) => column ?? [])) {
    if (value === null || !Number.isFinite(value)) continue;
    low = Math.min(low, value);
    high = Math.max(high, value);
  }
  return low <= high ? [low, high] : null;
}

/**
 * The range for `columns`. `zero` keeps 0 in sight; `natural` is the size below a billionth of which values count
 * as 0; `held` is a range that must stay visible, so that an axis does not breathe while a slider is dragged.
 */
export function range(columns, { zero = false, natural = 1, held = null } = {}) {
  const unit = Math.max(natural, LEAST);
  let [low, high] = (extent(columns) ?? [-unit, unit]).map((end) => Math.max(-MOST, Math.min(MOST, end)));
  if (Math.max(Math.abs(low), Math.abs(high)) <= NOISE * unit) [low, high] = [-unit, unit];
  if (zero) [low, high] = [Math.min(low, 0), Math.max(high, 0)];
  const size = Math.max(Math.abs(low), Math.abs(high));
  if (high - low <= NOISE * size) [low, high] = [low - size / 2, high + size / 2];
  const air = (high - low) * AIR;
  [low, high] = [low - air, high + air];
  return held ? [Math.min(low, held[0]), Math.max(high, held[1])] : [low, high];
}
