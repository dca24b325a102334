// Plotly, when it is wanted: the page says where it is, and that may be elsewhere for maps than for curves.

export const CONFIG = {
  displayModeBar: false,
  displaylogo: false,
  doubleClick: false,
  responsive: false, // who draws sees to it: see roomy
  scrollZoom: false,
  showSendToCloud: false,
  showTips: false,
  typesetMath: false,
};

const LEAST = 24; // pixels between the margins

/** Is there room within the margins? A window may be a pixel wide for a moment, and plotly places titles nowhere then. */
export const roomy = ({ l, r, t, b }, { width, height }) => width - l - r >= LEAST && height - t - b >= LEAST;

const PLACES = { curves: "plotlyCurves", maps: "plotlyMaps" };
const loading = new Map();

/** The Plotly that draws "curves" or "maps", loaded once; one that is in the page, or packed into it, serves for both. */
export function library(kind) {
  const address = document.documentElement.dataset[PLACES[kind]];
  if (!address) return Promise.resolve(window.plotlyUnpacked ?? window.Plotly);
  if (!loading.has(address)) loading.set(address, load(address));
  return loading.get(address);
}

function load(address) {
  return new Promise((resolve, reject) => {
    const fail = () => {
      loading.delete(address); // the next drawing tries again
      const name = address.split("/").at(-1);
      reject(new Error(`the part that draws, ${name}, could not be loaded; the numbers are in the CSV`));
    };
    const script = Object.assign(document.createElement("script"), { src: address, onerror: fail });
    // The next library takes the same name: at this moment it is ours.
    script.onload = () => (window.Plotly ? resolve(window.Plotly) : fail());
    document.head.append(script);
  });
}
