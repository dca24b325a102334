// The op as a test: asked for when it is wanted, shown, and put on the clipboard at once.

import { take } from "./clipboard.js";

/** `link` leads to the test as a file; with a script it opens `dialog` instead. */
export function testing(link, dialog) {
  const [area, output] = ["textarea", "output"].map((each) => dialog.querySelector(each));

  async function show() {
    output.textContent = "Writing it …";
    const { text, trouble } = await asked(link.href);
    area.value = text;
    output.textContent = trouble;
    if (text && dialog.matches(":popover-open")) await take(area, output);
  }

  link.setAttribute("role", "button");
  link.addEventListener("click", (event) => {
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
  dialog.addEventListener("toggle", ({ newState }) => newState === "closed" && link.focus());
}

/** The text at this address, or the sentence that says why there is none. */
async function asked(address) {
  try {
    const response = await fetch(address, { headers: { Accept: "text/x-python, application/problem+json" } });
    if (response.ok) return { text: await response.text(), trouble: "" };
    return { text: "", trouble: (await response.json()).detail };
  } catch {
    return { text: "", trouble: "The server does not answer. Is it still running?" };
  }
}
