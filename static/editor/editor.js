// The code editor: CodeMirror with what Python needs. Bundled when the light plotly.js is fetched, see the Makefile.

import { defaultKeymap, history, historyKeymap, redo, undo } from "@codemirror/commands";
import { pythonLanguage } from "@codemirror/lang-python";
import { bracketMatching, indentOnInput, indentUnit, syntaxHighlighting } from "@codemirror/language";
import { lintGutter, lintKeymap, setDiagnostics } from "@codemirror/lint";
import { EditorState } from "@codemirror/state";
import { drawSelection, EditorView, keymap, lineNumbers } from "@codemirror/view";
import { classHighlighter } from "@lezer/highlight"; // classes such as tok-keyword: the colours are in play.css

// What is typed over a selection would get the style of that from the browser, which the policy of the pages refuses.
const overSelection = EditorView.domEventHandlers({
  beforeinput({ inputType, data }, view) {
    if (inputType !== "insertText" || view.state.selection.main.empty || view.composing) return false;
    view.dispatch(view.state.replaceSelection(data ?? ""), { userEvent: "input.type", scrollIntoView: true });
    return true;
  },
});

const PYTHON = [
  overSelection,
  ...[lineNumbers(), history(), drawSelection(), lintGutter()],
  ...[indentUnit.of("    "), EditorState.tabSize.of(4), indentOnInput(), bracketMatching()],
  ...[pythonLanguage, syntaxHighlighting(classHighlighter)],
  keymap.of([...defaultKeymap, ...historyKeymap, ...lintKeymap]), // Tab stays Tab, so that it leads out
];

/**
 * An editor of `text` in `parent`, with the caret at `caret`, called `label` and described by the element with the id `hint`; `changed()` hears of
 * each change. It has `text()`, `write(text)`, which can be undone, `mark(problems)`, each {line, message}, `undo()`,
 * `redo()` and `focus(line)`.
 */
export function codeEditor(parent, { text, caret, label, hint, changed }) {
  const attributes = { "aria-label": label, "aria-describedby": hint, tabindex: "0" };
  const listener = EditorView.updateListener.of((update) => update.docChanged && changed());
  const extensions = [PYTHON, EditorView.contentAttributes.of(attributes), listener];
  const selection = { anchor: caret };
  const view = new EditorView({ parent, state: EditorState.create({ doc: text, selection, extensions }) });
  const lineOf = (number) => view.state.doc.line(Math.max(1, Math.min(view.state.doc.lines, number)));
  const diagnostic = ({ line, message }) => {
    const { from, to, text: written } = lineOf(line);
    return { from: from + Math.max(0, written.search(/\S/)), to, message, severity: "error" };
  };
  return {
    text: () => view.state.doc.toString(),
    write: (insert) => view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert } }),
    mark: (problems) => view.dispatch(setDiagnostics(view.state, problems.map(diagnostic))),
    undo: () => undo(view),
    redo: () => redo(view),
    focus(line) {
      view.focus();
      if (line) view.dispatch({ selection: { anchor: lineOf(line).to }, scrollIntoView: true });
    },
  };
}
