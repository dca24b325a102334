// Where this site is: what stands before each of its addresses in a link and in a request.

/** The path of the site on its host, "" where it has the host for itself. */
export const ROOT = document.documentElement.dataset.root ?? "";
