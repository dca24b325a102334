// Waiting until somebody sees it.

const LATEST = 500; // milliseconds that a busy page may keep a figure waiting that is in sight

/** Settled when `element` is in sight and the page has a moment to spare. */
export function whenVisible(element) {
  const idle = window.requestIdleCallback ?? setTimeout; // Safari has none
  return new Promise((resolve) => {
    let there = false;
    const observer = new IntersectionObserver((entries) => {
      there = entries.at(-1).isIntersecting;
      if (there) idle(settle, { timeout: LATEST });
    });
    function settle() {
      if (!there) return; // it has been scrolled by
      observer.disconnect();
      resolve();
    }
    observer.observe(element);
  });
}
