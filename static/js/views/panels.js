// The views that are more than one figure: each a module of its own, brought when it is first opened.

// By view a module that exports `panel(element, tools)`, which returns {show(answer), redraw(), close()}.
const PANELS = {
  jacobian: () => import("./jacobian/panel.js"),
  surface: () => import("./surface/panel.js"),
  contract: () => import("./contract.js"),
  node: () => import("./node/panel.js"),
  descent: () => import("./descent/panel.js"),
};

export const isPanel = (view) => view in PANELS;

/** Shows answers in `element`, each in the panel of its view; `tools` are what panels may use. */
export function panels(element, tools) {
  let open = null; // {view, panel}: the one that is there, a promise

  function close() {
    const last = open;
    open = null;
    last?.panel.then((panel) => panel.close()).catch(() => {}); // one that was never there needs no end
    element.replaceChildren();
    element.hidden = true;
  }

  /** Whether the answer is shown; it is not if meanwhile another view was opened. */
  async function show(answer) {
    if (open?.view !== answer.view) {
      close();
      const panel = PANELS[answer.view]().then((module) => module.panel(element, tools));
      open = { view: answer.view, panel };
      panel.catch(() => open?.panel === panel && (open = null)); // the next answer tries again
    }
    const mine = open;
    const panel = await mine.panel;
    if (mine !== open) return false;
    element.hidden = false;
    await panel.show(answer);
    return mine === open;
  }

  const redraw = () => open?.panel.then((panel) => panel.redraw()).catch(() => {}); // `show` has told of it
  return { show, redraw, close };
}
