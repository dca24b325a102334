// The error band of the numerical curve: one closed polygon per unbroken run.

/** {x, y} of the outlines of `middle` ± `error`, separated by nulls where either is missing. */
export function band(x, middle, error) {
  const outline = { x: [], y: [] };
  let run = [];
  const close = () => {
    const back = [...run].reverse();
    outline.x.push(...run.map((i) => x[i]), ...back.map((i) => x[i]), null);
    outline.y.push(...run.map((i) => middle[i] + error[i]), ...back.map((i) => middle[i] - error[i]), null);
    run = [];
  };
  for (let i = 0; i < x.length; i += 1) {
    if (Number.isFinite(middle[i] ?? NaN) && Number.isFinite(error[i] ?? NaN)) run.push(i);
    else if (run.length > 0) close();
  }
  if (run.length > 0) close();
  return outline;
}
