// Beside the verdict on what is drawn: where the contract has found a wrong gradient in another input, or another call.

import { h, opensElsewhere, withCode } from "../dom.js";

/**
 * Returns `tell(contract, answer)`, which writes into `box`, or nowhere if there is none; `contract` is null while it
 * is not known. `link(wrt)` is the address of the Jacobian by that element, `follow(wrt)` goes there, `open()` opens the contract.
 */
export function otherInputs(box, { link, follow, open }) {
  if (!box) return () => {};
  const usual = [...box.childNodes];
  let said = "";
  box.addEventListener("click", (event) => {
    const wrt = event.target.closest("a")?.dataset.wrt;
    if (!event.target.closest("a:not([data-call])") || opensElsewhere(event)) return;
    event.preventDefault();
    if (wrt) follow(wrt);
    else open();
  });

  return (contract, { wrt, verdict }) => {
    const wrong = contract?.wrong;
    const known = verdict.word === "differs" && wrong && inputOf(wrong.element) === inputOf(wrt);
    const next = wrong && !known ? wrong.recipe || wrong.element : "";
    if (next === said) return;
    said = next;
    box.replaceChildren(...(!next ? usual : wrong.recipe ? wrongCall(wrong) : wrongInput(next, link(next))));
  };
}

const inputOf = (wrt) => wrt.split("[")[0];

function wrongInput(wrt, href) {
  const onward = h("a", { href, "data-wrt": wrt }, `Look at ${wrt}`);
  return [...withCode(`In ${inputOf(wrt)} backward differs from the derivative of forward. `), onward];
}

function wrongCall({ recipe, element }) {
  const href = `?${new URLSearchParams({ recipe, wrt: element, view: "jacobian" })}`;
  const onward = h("a", { href, "data-call": "" }, "Look at ", h("code", {}, recipe));
  return [...withCode("Called in another way, backward differs from the derivative of forward. "), onward];
}
