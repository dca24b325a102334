// The call of what is shown, where the page tells how the Function is called: the recipe, with what the controls say.

/** A value of the address as a recipe writes it; as `_literal` in server/documents/shown_call.py. */
function literal(kind, text) {
  if (kind === "float") return /[.e]/.test(text) ? text : `${text}.0`;
  if (kind === "switch") return text === "true" ? "True" : "False";
  return kind === "choice" ? `'${text.replace(/['\\]/g, "\\$&")}'` : text;
}

/** Tell the call with these `values` of the parameters, and put it into the form unless something is typed there. */
export function showCall(values) {
  const pieces = [...document.querySelectorAll("#recipe .called span")];
  if (pieces.length === 0) return;
  const texts = pieces.map(({ dataset: { parameter, usual, kind, name, recipe }, textContent }) => {
    if (!parameter) return textContent.replace(/;$/, "");
    const now = values[parameter];
    const same = now === usual || (kind === "float" && Number(now) === Number(usual)); // 0.00001 and 1e-05
    return same ? recipe : `${name} = ${literal(kind, now)}`;
  });
  pieces.forEach((piece, i) => (piece.textContent = texts[i] + (i < texts.length - 1 ? ";" : "")));
  const line = document.querySelector("#docstring");
  if (line) line.defaultValue = line.defaultValue.match(/^Gradloupe: (like )?/)[0] + texts.join("; ");
  const field = document.querySelector("#call").elements.recipe;
  const typed = field.value !== field.defaultValue;
  field.defaultValue = texts.join("; ");
  if (!typed) field.value = field.defaultValue;
}
