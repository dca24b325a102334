// The controls of the Function in a text, which change with it.

/** The form in `html` takes the place of what the `form` of the page has; its fields stand as `address` says. */
export function declareControls(session, form, html, address) {
  const fresh = new DOMParser().parseFromString(html, "text/html").querySelector("form");
  for (const { name, value } of fresh.attributes) form.setAttribute(name, value);
  form.replaceChildren(...fresh.childNodes);
  session.declare(address.includes("?") ? address.slice(address.indexOf("?")) : "");
}
