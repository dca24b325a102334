// Copying text: a button puts it on the clipboard, or selects it where that is closed. The op as a test, to be copied.

import { h, opensElsewhere } from "../dom.js";
import { fetchText } from "../state/question.js";

const PYTHON = { headers: { Accept: "text/x-python, application/problem+json" } };

/** Puts what stands in `area` on the clipboard and tells `output` how that went. */
export async function copyArea(area, output) {
  area.focus({ preventScroll: true });
  area.select();
  const copied = await copyText(area.value);
  if (copied) area.setSelectionRange(0, 0);
  output.textContent = copied ? "Copied" : "Selected: press Ctrl+C, or ⌘C";
}

/** Whether the text is on the clipboard now, by the newer way or the older one. */
async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return document.execCommand("copy");
  }
}

/** `button` copies the address that `found()` gives, "" for none, and says for a moment how that went. */
export function copiesLink(button, found) {
  button.addEventListener("click", async () => {
    const address = await found();
    if (!address) return;
    const area = h("textarea", { readonly: true, class: "unseen" }, address); // where the clipboard is closed this is copied
    button.after(area);
    area.select();
    const copied = await copyText(address);
    area.remove();
    button.textContent = copied ? "Copied" : "Copy it from the address bar";
    setTimeout(() => (button.textContent = "Copy link"), 1500);
  });
}

document.addEventListener("click", ({ target }) => {
  const id = target.closest?.("[data-copy]")?.dataset.copy;
  if (id) copyArea(document.getElementById(id), document.querySelector(`output[for="${id}"]`));
});

/**
 * `link` leads to the test as a file; with a script it opens `dialog` instead. `fetched()` has the test as {text, trouble},
 * and `href`, where it can be downloaded.
 */
export function testDialog(link, dialog, fetched = () => fetchText(link.href, PYTHON)) {
  const [area, output, download] = ["textarea", "output", "a"].map((each) => dialog.querySelector(each));

  async function show() {
    output.textContent = "Generating…";
    download.href = link.href;
    const { text, trouble, href } = await fetched();
    if (href) download.href = href;
    area.value = text;
    output.textContent = trouble;
    if (text && dialog.matches(":popover-open")) await copyArea(area, output);
  }

  link.setAttribute("role", "button");
  link.addEventListener("click", (event) => {
    if (opensElsewhere(event)) return;
    event.preventDefault();
    dialog.showPopover();
    area.focus();
    show();
  });
  link.addEventListener("keydown", (event) => {
    if (event.key !== " ") return; // which opens a button, and no link
    event.preventDefault();
    link.click();
  });
  // By then a click in the dialog has shut the menu that holds the link.
  const way = () => link.closest("details:not([open])")?.querySelector("summary") ?? link;
  dialog.addEventListener("toggle", ({ newState }) => newState === "closed" && way().focus());
}
