// Two fingers on the curves: apart and together they zoom, side by side they pan. One finger reads, and scrolls the page.

const LEAST = 24; // pixels between the fingers: closer together a tremble would be a leap

/** `plot` draws; `zoomed(start, stop)` hears where the fingers have left the axis. */
export function hearPinch(canvas, plot, zoomed) {
  let grip = null; // how the fingers took hold
  let span = null;

  const fingers = ([one, other]) => ({
    apart: Math.max(LEAST, Math.hypot(one.clientX - other.clientX, one.clientY - other.clientY)),
    middle: (one.clientX + other.clientX) / 2 - canvas.getBoundingClientRect().left,
  });
  const listen = (event, hear) => canvas.addEventListener(event, hear, { passive: false, capture: true });

  listen("touchstart", (event) => {
    if (event.touches.length !== 2 || !plot.state()?.ranges) return;
    if (event.cancelable) event.preventDefault(); // else the page would scroll
    const { apart, middle } = fingers(event.touches);
    const [start, stop] = plot.state().span;
    grip = { apart, x: plot.place().invert(middle), length: stop - start };
  });
  listen("touchmove", (event) => {
    if (grip === null || event.touches.length !== 2) return;
    if (event.cancelable) event.preventDefault();
    const { apart, middle } = fingers(event.touches);
    const { left, right } = plot.place();
    const length = (grip.length * grip.apart) / apart;
    const start = grip.x - (length * (middle - left)) / (right - left);
    span = [start, start + length];
    plot.stretch(span);
  });
  for (const end of ["touchend", "touchcancel"]) {
    listen(end, () => {
      if (span !== null) zoomed(...span);
      grip = span = null;
    });
  }
}
