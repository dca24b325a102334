// A page about the visitor's file that is short enough to be loaded anew whenever the file has been.

import { follow, remark } from "./live.js";

const { name, digest, generation, file } = document.querySelector("#following").dataset;
let leaving = false;

follow((state) => {
  const gone = name && !(name in state.digests) && Object.keys(state.digests).length > 0;
  const others = gone ? Object.keys(state.digests).map((each) => [each, `/ops/${encodeURIComponent(each)}`]) : [];
  remark(gone ? `${name} is no longer in ${file}. There is:` : "", others);
  const old = name ? name in state.digests && state.digests[name] !== digest : String(state.generation) !== generation;
  if (old && !leaving) {
    leaving = true;
    location.reload();
  }
});
