// What is wrong with the fields of the companion figure: said above it, and beside the field that is at fault.

import { blame } from "./controls.js";
import { prose } from "../number.js";

/** `complain(sentence)`, "" where nothing is wrong any more, and `complain.again()` where others have spoken since. */
export function blamer(section, trouble) {
  const beside = Object.assign(document.createElement("p"), { className: "trouble", id: "companion-blamed" });
  let said = "";

  function complain(sentence) {
    said = sentence;
    again();
  }

  function again() {
    if (trouble.textContent !== prose(said)) trouble.textContent = prose(said);
    section.classList.toggle("refused", said !== "");
    const elements = [...section.querySelectorAll("[name][form]")];
    const culprit = blame({ elements }, said);
    for (const each of elements) each.removeAttribute("aria-describedby");
    beside.remove();
    if (!culprit || culprit.closest("[hidden]")) return;
    beside.textContent = prose(said);
    culprit.closest(".control").append(beside);
    culprit.setAttribute("aria-describedby", beside.id);
  }

  return Object.assign(complain, { again });
}
