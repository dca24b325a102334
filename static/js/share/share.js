// The button that opens the dialog for sharing. Everything behind it is fetched when it is first wanted.

/** `current()` tells what is shown: {path, query, title, op}. Without JavaScript there is no button. */
export function sharer({ dialog, button, current }) {
  let fetched = null;
  const fetching = () => (fetched ??= whole(dialog.dataset.sheet).catch(forgotten));
  const forgotten = (error) => {
    fetched = null; // the next click tries again
    throw error;
  };
  let open = null;
  for (const coming of ["pointerenter", "focus"]) button.addEventListener(coming, () => fetching().catch(() => {}), { once: true });
  button.addEventListener("click", async () => {
    const [{ sharing }] = await fetching();
    open ??= sharing(dialog, current);
    open();
  });
  button.hidden = false;
}

const whole = (sheet) => Promise.all([import("./dialog.js"), styled(sheet)]);

function styled(href) {
  const sheet = Object.assign(document.createElement("link"), { rel: "stylesheet", href });
  return new Promise((resolve, reject) => {
    sheet.onload = resolve;
    sheet.onerror = () => reject(new Error(`no ${href}`));
    document.head.append(sheet);
  });
}
