// A slider through steps, and the button that takes them one after another.

const [FASTEST, SLOWEST, WHOLE] = [60, 450, 6000]; // ms for a step at least and at most, and for all of them about
const still = matchMedia("(prefers-reduced-motion: reduce)");

/**
 * `range` is the slider, `button` plays, `stepped(step)` is called after every change. Where motion is not wanted the
 * button takes one step at a time. Returns {extend(steps), step(), close()}.
 */
export function scrubber({ range, button }, stepped) {
  let timer = 0;

  const last = () => Number(range.max);
  const step = () => Number(range.value);
  const label = () => (timer ? "Pause" : still.matches ? "Next step" : "Play");

  function go(to) {
    range.value = to;
    stepped(step());
  }

  function pause() {
    clearTimeout(timer);
    timer = 0;
    button.textContent = label();
  }

  function play() {
    const pace = Math.min(SLOWEST, Math.max(FASTEST, WHOLE / last()));
    timer = setTimeout(() => {
      go(step() + 1);
      if (step() < last()) play();
      else pause();
    }, pace);
    button.textContent = label();
  }

  function press() {
    if (timer) return pause();
    const again = step() === last();
    if (still.matches) return go(again ? 0 : step() + 1);
    if (again) go(0);
    return play();
  }

  range.addEventListener("input", () => {
    pause();
    stepped(step());
  });
  button.addEventListener("click", press);
  still.addEventListener("change", pause);

  /** From now on there are so many steps. Who is at the last stays there. */
  function extend(steps) {
    pause();
    const atEnd = step() === last();
    range.max = steps;
    range.value = atEnd ? steps : Math.min(step(), steps);
    button.disabled = steps === 0;
  }

  function close() {
    clearTimeout(timer);
    still.removeEventListener("change", pause);
  }

  return { extend, step, close };
}
