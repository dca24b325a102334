// Before the page is seen: what its address says of how it is dressed, for nothing is to be shown that is hidden.

const page = document.documentElement;
const said = new URLSearchParams(location.search);

if (["light", "dark"].includes(said.get("theme"))) page.dataset.theme = said.get("theme");
if (Number(said.get("height")) > 0) page.dataset.high = said.get("height");
if (said.has("hide")) page.dataset.hide = said.get("hide").split(",").join(" ");
