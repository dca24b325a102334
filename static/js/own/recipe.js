// The form with the recipe, how a visitor's own Function is called: a corrected one is tried before the page goes
// there, so nothing is lost.

import { marked } from "../dom.js";
import { isOfView } from "../state/address.js";
import { fetchText } from "../state/question.js";

const form = document.querySelector("#call");
const field = form.elements.recipe;
const [button, trouble] = ["button", ".trouble"].map((selector) => form.querySelector(selector));
const declared = new Set(JSON.parse(form.dataset.declared));
const APART = ["grad_output", "layout", "theme", "hide", "count", "device", "view"]; // of the recipe
const details = form.closest("details");

/** What the address says beside the recipe, first all that may still hold and then what holds whatever is called. */
function* queries() {
  const here = [...new URLSearchParams(location.search)].filter(([name]) => name !== "recipe");
  yield here.filter(([name]) => !declared.has(name));
  yield here.filter(([name]) => APART.includes(name));
}

const queryWith = (pairs, recipe) => new URLSearchParams([...pairs, ["recipe", recipe]]);

/** The sentence that says why this cannot be asked, "" if it can. */
async function whyRefused(pairs, recipe) {
  const asked = pairs.filter(([name]) => !isOfView(name) && name !== "count");
  const address = `${form.action}.json?${queryWith([...asked, ["count", "2"]], recipe)}`;
  return (await fetchText(address, { headers: { Accept: "application/json" } })).trouble;
}

async function call() {
  const recipe = field.value.trim().replace(/\s*\n\s*/g, "; ");
  let sentence = "";
  for (const pairs of queries()) {
    sentence = await whyRefused(pairs, recipe);
    if (sentence !== "") continue;
    removeEventListener("beforeunload", keep);
    return location.assign(`${form.action}?${queryWith(pairs, recipe)}`);
  }
  return complain(sentence);
}

function complain(sentence) {
  trouble.replaceChildren(...marked(sentence));
  if (sentence) field.setAttribute("aria-invalid", "true");
  else field.removeAttribute("aria-invalid");
}

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  if (button.disabled) return;
  [button.disabled, button.textContent] = [true, "Trying …"];
  try {
    await call();
  } finally {
    [button.disabled, button.textContent] = [false, "Use this call"];
  }
});
field.addEventListener("input", () => {
  complain("");
  keepTyped();
});
field.addEventListener("keydown", (event) => {
  const { key, shiftKey, isComposing } = event;
  if (key === "Enter" && !shiftKey && !isComposing) {
    event.preventDefault();
    form.requestSubmit();
  } else if (key === "Escape" && details) {
    field.value = field.defaultValue;
    complain("");
    keepTyped();
    details.open = false;
    details.querySelector("summary").focus();
  }
});
details?.addEventListener("toggle", ({ newState }) => newState === "open" && field.focus());

/** What is typed outlives that the page is loaded anew, as it is when the file has been saved. */
function keepTyped() {
  if (field.value === field.defaultValue) removeEventListener("beforeunload", keep);
  else addEventListener("beforeunload", keep);
}

function keep() {
  history.replaceState({ recipe: field.value }, "");
}

if (history.state?.recipe !== undefined) {
  field.value = history.state.recipe;
  history.replaceState(null, "");
  if (details) details.open = true;
  keepTyped();
}
