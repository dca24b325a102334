// What is too wide for the window can be scrolled by keyboard too.

/** Keep those of `boxes` in the order of the keyboard that have something to scroll. */
export function scrollable(boxes) {
  const wide = new ResizeObserver((entries) => {
    for (const { target } of entries) target.tabIndex = target.scrollWidth > target.clientWidth ? 0 : -1;
  });
  for (const box of boxes) wide.observe(box);
}
