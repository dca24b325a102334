// A page that follows the visitor's file by being opened anew: short pages, and that of a pair.

import { reloadWhenReady } from "./events.js";
import { followFile, showFailure, showIfMissing, showNote, troubleElements } from "./follow.js";

const { name, digest, digests, generation, course } = document.querySelector("#following").dataset;
if (digests) followPair(JSON.parse(digests));
else followPage();

/** A page that is short enough to be loaded anew whenever the file has been. */
function followPage() {
  let leaving = false;
  followFile((state) => {
    if (name) showIfMissing(state, [name]);
    const loaded = generation !== undefined && String(state.generation) !== generation;
    const old = name ? name in state.digests && state.digests[name] !== digest : loaded;
    const other = course !== undefined && state.course !== course;
    if (other && document.querySelector("#back:enabled")) showNote("The files were saved; what you typed stays until you load this page again.");
    else if ((old || other) && !leaving) {
      leaving = true;
      location.reload();
    }
  });
}

/** On the page of a pair the curves of the last save that could be shown stay until the next. */
function followPair(drawn) {
  const names = Object.keys(drawn);
  let asked = JSON.stringify(drawn);
  followFile((state) => {
    if (showIfMissing(state, names, "; the last curves stay") || names.some((each) => !(each in state.digests))) return;
    const now = JSON.stringify(Object.fromEntries(names.map((each) => [each, state.digests[each]])));
    if (now === asked) return;
    asked = now;
    reloadWhenReady(`/compare.json${location.search}`, (sentence) =>
      showFailure(troubleElements({ sentence, excerpt: [], line: null, traceback: "" }, true)),
    );
  });
}
