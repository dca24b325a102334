// A page about the visitor's file that is short enough to be loaded anew whenever the file has been.

import { absent, follow } from "./follow.js";

const { name, digest, generation } = document.querySelector("#following").dataset;
let leaving = false;

follow((state) => {
  if (name) absent(state, [name]);
  const old = name ? name in state.digests && state.digests[name] !== digest : String(state.generation) !== generation;
  if (old && !leaving) {
    leaving = true;
    location.reload();
  }
});
