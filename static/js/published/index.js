// The index of a site that needs no server: a search shows the cards that have all of its words.

const box = document.querySelector("#search");
const cards = [...document.querySelectorAll(".card")];

function search() {
  const words = box.value.toLowerCase().split(/\s+/).filter(Boolean);
  for (const card of cards) card.hidden = !words.every((word) => card.dataset.said.includes(word));
  for (const group of document.querySelectorAll(".group")) group.hidden = !group.querySelector(".card:not([hidden])");
  const found = cards.filter((card) => !card.hidden).length;
  document.querySelector("#found").textContent = words.length > 0 ? `${found} Function${found === 1 ? "" : "s"}` : "";
}

box.addEventListener("input", search);
box.form.addEventListener("submit", (event) => {
  event.preventDefault();
  document.querySelector(".card:not([hidden]) a")?.click();
});
search(); // a browser may have kept what was typed
