// The code of the editor as an element for the page of somebody else, with what its readers are to reach and to see.

import { elementOf } from "../share/snippets.js";

/** Fills `dialog` whenever it is opened, or a choice is made in it; `said()` is {code, query}, what the page holds now. */
export function embeddingDialog(dialog, said) {
  const [form, area, output] = ["form", "textarea", "output"].map((each) => dialog.querySelector(each));
  const { base, local } = dialog.dataset;

  function write() {
    const { code, query } = said();
    const hide = [...form.querySelectorAll("[name=show]:not(:checked)")].map(({ value }) => value).join(",");
    const dress = { goal: new FormData(form).get("goal"), hide };
    area.value = elementOf({ base, local, code, dress, said: [...new URLSearchParams(query)] });
    output.textContent = "";
  }

  form.addEventListener("input", write);
  dialog.addEventListener("beforetoggle", ({ newState }) => newState === "open" && write());
}
