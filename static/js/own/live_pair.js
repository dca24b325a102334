// The page of a pair follows the visitor's file: the curves of the last save that could be shown stay until the next.

import { anew } from "./anew.js";
import { absent, fails, follow } from "./follow.js";
import { mishap } from "./mishap.js";

const drawn = JSON.parse(document.querySelector("#following").dataset.digests);
const names = Object.keys(drawn);
let asked = JSON.stringify(drawn);

follow((state) => {
  if (absent(state, names, "; the last curves stay") || names.some((name) => !(name in state.digests))) return;
  const now = JSON.stringify(Object.fromEntries(names.map((name) => [name, state.digests[name]])));
  if (now === asked) return;
  asked = now;
  anew(`/compare.json${location.search}`, (sentence) =>
    fails(mishap({ sentence, excerpt: [], line: null, traceback: "" }, true)),
  );
});
