
// The figure as a widget, in the form of anywidget: for MyST, JupyterLab, Colab, VS Code and marimo. Its model says which
// figure it is: the words of an element, or the `page` of one whose questions are answered by who made the model.

const SAID = { op: "op", src: "src", query: "data-query", origin: "data-origin", theme: "theme", height: "height" };

function render({ model, el }) {
  const loupe = document.createElement(TAG);
  const names = [...Object.keys(SAID), "page"];
  const jupyter = el.closest?.("[data-jp-theme-light]")?.dataset.jpThemeLight;

  function show() {
    for (const [name, attribute] of Object.entries(SAID)) {
      const usual = name === "theme" && jupyter ? (jupyter === "true" ? "light" : "dark") : null;
      const said = model.get(name) || usual;
      if (said && String(said) !== loupe.getAttribute(attribute)) loupe.setAttribute(attribute, said);
      else if (!said) loupe.removeAttribute(attribute);
    }
    loupe.page = model.get("page") || "";
  }
  const hear = ({ id, ...reply }, buffers) =>
    loupe.answer({ id, reply: { ...reply, body: JSON.parse(new TextDecoder().decode(buffers[0])) } });

  loupe.addEventListener("ask", ({ detail: { id, address } }) => model.send({ id, address }));
  model.on?.("msg:custom", hear);
  for (const name of names) model.on?.(`change:${name}`, show);
  show();
  el.append(loupe);
  return () => {
    model.off?.("msg:custom", hear);
    for (const name of names) model.off?.(`change:${name}`, show);
    loupe.remove();
  };
}

export default { render };
