// The word that stands behind the # of the printed address: whoever has it may have the files loaded again. It is kept
// for this tab alone, and is taken out of the address, so that no link carries it on.

const KEY = "gradloupe-token";
const given = new URLSearchParams(location.hash.slice(1)).get("token");

if (given) {
  sessionStorage.setItem(KEY, given);
  history.replaceState(history.state, "", location.pathname + location.search);
}

/** The word, "" where it is not known. */
export const token = () => sessionStorage.getItem(KEY) ?? "";
