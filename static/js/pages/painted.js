// When the page has been seen, heavy work may begin.

/** Settled after the first frame; at once where there are no frames, in a tab in the background. */
export function painted() {
  if (document.hidden) return Promise.resolve();
  return new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
}
