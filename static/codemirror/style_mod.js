// In the place of the package style-mod, which puts a <style> element into a document: no policy of ours admits that. As in a
// shadow root, the document adopts the sheet instead.

import { StyleModule as Base } from "./node_modules/style-mod/src/style-mod.js";

const roots = new WeakMap();

/** What `Base` takes for a shadow root: it has no head. */
function adopting(root) {
  if (!roots.has(root)) {
    roots.set(root, {
      ownerDocument: root.ownerDocument ?? root,
      get adoptedStyleSheets() {
        return root.adoptedStyleSheets;
      },
      set adoptedStyleSheets(sheets) {
        root.adoptedStyleSheets = sheets;
      },
    });
  }
  return roots.get(root);
}

export class StyleModule extends Base {
  static mount(root, modules, options) {
    Base.mount(adopting(root), modules, options);
  }
}
