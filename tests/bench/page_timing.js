// Put into every page before its own scripts: what a user sees happen, with the times.

(() => {
  const LINES = ".js-plotly-plot .scatterlayer .js-line";
  const LEAST = 3;
  const waiting = [];
  let shown = "";
  let key = null;
  let last = 0;
  let firstDrawn;

  const timing = (window.pageTiming = {
    redraws: [],
    first: new Promise((resolve) => (firstDrawn = resolve)),
    /** The milliseconds of redraw `n`, once it has happened. */
    redrawn: (n) => new Promise((resolve) => (n in timing.redraws ? resolve(timing.redraws[n]) : waiting.push([n, resolve]))),
    /** Settled when no line has changed for `pause` milliseconds. */
    async calm(pause) {
      while (performance.now() - last < pause) {
        await new Promise((resolve) => setTimeout(resolve, pause - (performance.now() - last)));
      }
    },
    shift: 0,
    largest: null,
    blocks: [],
  });

  function look() {
    const lines = [...document.querySelectorAll(LINES)].map((line) => line.getAttribute("d")).filter(Boolean);
    const now = lines.join();
    if (lines.length < LEAST || now === shown) return;
    shown = now;
    last = performance.now();
    requestAnimationFrame(() => {
      firstDrawn(performance.now());
      if (key === null) return;
      timing.redraws.push(performance.now() - key);
      key = null;
      for (const [n, resolve] of waiting.splice(0)) timing.redrawn(n).then(resolve);
    });
  }

  addEventListener("keydown", (event) => (key = event.timeStamp), true);
  const changes = { subtree: true, childList: true, attributes: true, attributeFilter: ["d"] };
  new MutationObserver(look).observe(document, changes);

  const watch = (type, report) =>
    new PerformanceObserver((list) => list.getEntries().forEach(report)).observe({ type, buffered: true });
  watch("layout-shift", ({ value, hadRecentInput }) => (timing.shift += hadRecentInput ? 0 : value));
  const nameOf = ({ element }) => element?.id || element?.className || element?.tagName.toLowerCase() || "";
  watch("largest-contentful-paint", (entry) => (timing.largest = [entry.startTime, nameOf(entry)]));
  watch("longtask", ({ startTime, duration }) => timing.blocks.push([startTime, duration]));
})();
