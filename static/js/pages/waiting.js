// The waiting page: waits for the answer that the server holds back until torch is loaded, then shows the real page.
// Where the server was busy there is no such answer, and the page is asked for again, not by all at the same moment.

const LATER = 500;
const { address } = document.querySelector("[data-address]").dataset;

async function wait() {
  try {
    const response = await fetch(address, { headers: { Accept: "application/json" }, cache: "no-store" });
    if (response.status !== 503) return location.reload();
  } catch {
    // The server is not there yet, or no more: ask again.
  }
  return setTimeout(wait, LATER);
}

if (address) wait();
else setTimeout(() => location.reload(), LATER * (1 + 2 * Math.random()));
