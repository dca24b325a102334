// The editor of Python source, made of CodeMirror: `make` puts it together with that as one file, see the Makefile. It has no
// colours of its own: classes tok-… , and the style sheet of highlighted source.

import { defaultKeymap, history, historyKeymap, redo, redoDepth, undo, undoDepth } from "@codemirror/commands";
import { pythonLanguage } from "@codemirror/lang-python";
import { bracketMatching, indentOnInput, indentUnit, syntaxHighlighting } from "@codemirror/language";
import { lintGutter, lintKeymap, setDiagnostics } from "@codemirror/lint";
import { EditorState } from "@codemirror/state";
import { drawSelection, EditorView, keymap, lineNumbers } from "@codemirror/view";
import { classHighlighter } from "@lezer/highlight";

/**
 * An editor of `code` in `parent`, named `label` and described by the element `hint`; Tab leaves it. `changed()` hears of each
 * change. Returns what the plain one does: see static/js/edit/plain_editor.js.
 */
export function editor(parent, { code, label, hint, changed }) {
  const view = new EditorView({
    parent,
    state: EditorState.create({
      doc: code,
      extensions: [
        lineNumbers(),
        lintGutter(),
        history(),
        drawSelection(),
        indentUnit.of("    "),
        EditorState.tabSize.of(4),
        indentOnInput(),
        bracketMatching(),
        pythonLanguage,
        syntaxHighlighting(classHighlighter),
        EditorView.lineWrapping,
        keymap.of([...defaultKeymap, ...historyKeymap, ...lintKeymap]),
        EditorView.contentAttributes.of({ "aria-label": label, "aria-describedby": hint, tabindex: "0" }),
        EditorView.updateListener.of(({ docChanged }) => docChanged && changed()),
      ],
    }),
  });
  const text = () => view.state.doc.toString();
  const lineAt = (number) => view.state.doc.line(Math.max(1, Math.min(view.state.doc.lines, number)));

  return {
    text,
    write: (all) => view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: all } }),
    undo: () => undo(view),
    redo: () => redo(view),
    undoable: () => undoDepth(view.state) > 0,
    redoable: () => redoDepth(view.state) > 0,
    focus: () => view.contentDOM.focus({ preventScroll: true }),
    mark(errors) {
      const marks = errors.map(({ line, message }) => ({ from: lineAt(line).from, to: lineAt(line).to, message, severity: "error" }));
      view.dispatch(setDiagnostics(view.state, marks));
    },
    goTo(line) {
      view.dispatch({ selection: { anchor: lineAt(line).to }, scrollIntoView: true });
      view.focus();
    },
  };
}
