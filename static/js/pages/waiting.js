// The waiting page: waits for the answer that the server holds back until torch is loaded, then shows the real page.

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

wait();
