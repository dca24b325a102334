// Text that is there to be taken along: a button puts it on the clipboard, or selects it where that is closed.

/** Puts what stands in `area` on the clipboard and tells `output` how that went. */
export async function take(area, output) {
  area.focus({ preventScroll: true });
  area.select();
  const copied = await taken(area.value);
  if (copied) area.setSelectionRange(0, 0);
  output.textContent = copied ? "Copied" : "Selected: press Ctrl+C, or ⌘C";
}

/** Whether the text is on the clipboard now, by the newer way or the older one. */
export async function taken(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return document.execCommand("copy");
  }
}

/** Listens to every button that copies. */
export function copying() {
  document.addEventListener("click", ({ target }) => {
    const id = target.closest?.("[data-copy]")?.dataset.copy;
    if (id) take(document.getElementById(id), document.querySelector(`output[for="${id}"]`));
  });
}
