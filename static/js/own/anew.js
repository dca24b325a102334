// A page that follows the visitor's file by being opened anew, as soon as what it shows can be shown again.

const LATER = 1500; // ms until it is asked again where the server is busy, or gone; then twice as long, and so on
let latest = 0;

/** Open this page anew once `address`, where its numbers are, has any; `refused(detail)` hears why it has none. */
export async function anew(address, refused, later = LATER) {
  const mine = (latest += 1);
  const response = await fetch(address, { cache: "no-cache" }).catch(() => null);
  if (mine !== latest) return;
  if (response?.ok) location.reload();
  else if (response !== null && response.status < 500) refused((await response.json()).detail);
  else setTimeout(() => mine === latest && anew(address, refused, 2 * later), later);
}
