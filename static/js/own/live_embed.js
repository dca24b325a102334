// The figure in a frame follows the visitor's file, unless there are too many beside it.

import { anew, stream } from "./events.js";

const MOST = 3; // frames beside each other that listen: a browser has six connections for one host
const { shown, digest } = document.documentElement.dataset;
let asked = digest;

function told({ digests: { [shown]: now } }) {
  if (now === undefined || now === asked) return;
  asked = now;
  anew(`/ops/${encodeURIComponent(shown)}.json${location.search}`, () => {}); // what was drawn last stays
}

if (parent.length <= MOST) stream({ told, gone: () => {} });
