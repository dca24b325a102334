// The interval a panel shows: every finite value, air above and below, and never a zoom into rounding noise.

const AIR = 0.11;
const BEYOND = 0.5;
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
 * as 0; `held` is a range that must stay visible, so that an axis does not breathe while a slider is dragged. Of what
 * the columns hold beyond those that are `calm`, no more is shown than half as much again.
 */
export function range(columns, { zero = false, natural = 1, held = null, calm = columns } = {}) {
  const unit = Math.min(Math.max(natural, LEAST), MOST);
  const all = extent(columns) ?? [-unit, unit];
  let [low, high] = within(all, extent(calm), zero).map((end) => Math.max(-MOST, Math.min(MOST, end)));
  if (Math.max(Math.abs(low), Math.abs(high)) <= NOISE * unit) [low, high] = [-unit, unit];
  if (zero) [low, high] = [Math.min(low, 0), Math.max(high, 0)];
  const size = Math.max(Math.abs(low), Math.abs(high));
  if (high - low <= NOISE * size) [low, high] = [low - size / 2, high + size / 2];
  const air = (high - low) * AIR;
  [low, high] = [low - air, high + air];
  return held ? [Math.min(low, held[0]), Math.max(high, held[1])] : [low, high];
}

/** `all`, but not far out of `calm`; 0 belongs to what is calm if the axis shows it. */
function within(all, calm, zero) {
  if (calm === null) return all;
  const [low, high] = zero ? [Math.min(calm[0], 0), Math.max(calm[1], 0)] : calm;
  const more = BEYOND * (high - low);
  const seen = [Math.max(all[0], low - more), Math.min(all[1], high + more)];
  return seen[0] <= seen[1] ? seen : all;
}
