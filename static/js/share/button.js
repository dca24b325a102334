// The button that opens the dialog for sharing.

import { styleSheet } from "../dom.js";

/** `button` opens `dialog`, whose script and style are fetched when somebody comes near; `query()` says what is shown. */
export function shareButton(button, dialog, query) {
  let fetched = null;
  const fetchDialog = () =>
    (fetched ??= Promise.all([import("./dialog.js"), styleSheet(dialog.dataset.sheet)]).catch(forgotten));
  const forgotten = (error) => {
    fetched = null; // the next click tries again
    throw error;
  };
  let open = null;
  const prepare = () => fetchDialog().catch(() => {});
  for (const coming of ["pointerenter", "focus"]) button.addEventListener(coming, prepare, { once: true });
  button.addEventListener("click", async () => {
    const [{ shareDialog }] = await fetchDialog();
    open ??= shareDialog(dialog, query);
    open();
  });
}
