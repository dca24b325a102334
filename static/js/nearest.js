// Where in a list a value belongs.

/** The row whose x is closest to `value`; x is increasing. */
export function nearest(xs, value) {
  let [low, high] = [0, xs.length - 1];
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (xs[middle] <= value) low = middle;
    else high = middle;
  }
  return value - xs[low] <= xs[high] - value ? low : high;
}

/** The place in `values`, in any order, of the one closest to `value`. */
export function closest(values, value) {
  const away = values.map((each) => Math.abs(each - value));
  return away.indexOf(Math.min(...away));
}
