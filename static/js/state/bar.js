// The bar of the browser. It bears only so many changes in a short time, and a long drag makes more: one that comes too
// soon is written later, and nothing else is lost by it.

const LATER = 1000; // ms until it is tried again

let late = 0;

/** Put `address`, of a page of this host, into the bar, at once or as soon as the browser bears it. */
export function inscribe(address) {
  clearTimeout(late);
  if (stands(address)) return;
  try {
    history.replaceState(null, "", address);
  } catch {
    // Safari and Firefox say so when it is too soon; Chromium leaves everything as it is.
  }
  if (!stands(address)) late = setTimeout(inscribe, LATER, address);
}

function stands(address) {
  const { pathname, search } = new URL(address, location.href);
  return location.pathname === pathname && location.search === search;
}
