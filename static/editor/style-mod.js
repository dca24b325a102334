// In the place of style-mod, when the editor is bundled: its rules go into a sheet that the document adopts. It would write
// a <style> element, which the Content Security Policy of the pages refuses.

import { StyleModule as Base } from "./node_modules/style-mod/src/style-mod.js";

const ADOPTING = Symbol("adopting");

export class StyleModule extends Base {
  static mount(root, modules) {
    root[ADOPTING] ??= {
      ownerDocument: root.ownerDocument ?? root,
      get adoptedStyleSheets() {
        return root.adoptedStyleSheets;
      },
      set adoptedStyleSheets(sheets) {
        root.adoptedStyleSheets = sheets;
      },
    };
    Base.mount(root[ADOPTING], modules);
  }
}
