// The field with the code: a plain text area that indents, until the editor, where there is one, takes its place.

/**
 * The code in the text area of `room`; `changed()` hears of each change. {text(), write(text), mark(problems), undo(),
 * focus(line), enrich()}; `enrich()` fetches the editor from `address`, and once is enough.
 */
export function codeField(room, address, changed) {
  const area = room.querySelector("textarea");
  let field = plainField(area, changed);
  let marked = [];
  let coming = null;

  async function fetchEditor() {
    const { codeEditor } = await import(address);
    const focused = document.activeElement === area;
    const { value: text, selectionStart: caret } = area;
    area.remove();
    field = codeEditor(room, { text, caret, label: area.ariaLabel, hint: area.getAttribute("aria-describedby"), changed });
    field.mark(marked);
    if (focused) field.focus();
  }

  function enrich() {
    if (address) coming ??= fetchEditor().catch(() => {}); // the text area goes on
  }

  area.addEventListener("focus", enrich);
  return {
    enrich,
    text: () => field.text(),
    write: (text) => field.write(text),
    mark: (problems) => field.mark((marked = problems)),
    undo: () => field.undo(),
    focus: (line) => field.focus(line),
  };
}

function plainField(area, changed) {
  area.addEventListener("input", changed);
  area.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.isComposing) return;
    event.preventDefault();
    const before = area.value.slice(0, area.selectionStart).split("\n").at(-1);
    insert(`\n${before.match(/^ */)[0]}${/:\s*(#.*)?$/.test(before) ? "    " : ""}`);
  });
  // The command that is out of date is the one that can be undone.
  const insert = (text) => document.execCommand("insertText", false, text);

  return {
    text: () => area.value,
    write(text) {
      area.focus({ preventScroll: true });
      area.select();
      insert(text);
    },
    mark: (problems) => area.toggleAttribute("aria-invalid", problems.length > 0),
    undo() {
      area.focus();
      document.execCommand("undo");
    },
    focus(line) {
      area.focus();
      const end = area.value.split("\n").slice(0, line).join("\n").length;
      if (line) area.setSelectionRange(end, end);
    },
  };
}
