// Plotly, as soon as it is there.

export const CONFIG = {
  displayModeBar: false,
  displaylogo: false,
  doubleClick: false,
  responsive: true,
  scrollZoom: false,
  showSendToCloud: false,
  showTips: false,
  typesetMath: false,
};

const script = document.querySelector("#plotly");
const MISSING = "the part that draws, plotly.min.js, could not be loaded; the numbers are in the CSV";

/** Settled when plotly has loaded, or failed to. */
export const loaded = new Promise((resolve, reject) => {
  const settle = () => (window.Plotly ? resolve() : reject(new Error(MISSING)));
  if (window.Plotly || document.readyState === "complete") settle();
  // The window's own event comes too when the script had failed before anybody listened.
  for (const [target, event] of [
    [script, "load"],
    [script, "error"],
    [window, "load"],
  ]) {
    target.addEventListener(event, settle, { once: true });
  }
});
