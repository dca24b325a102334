// The dialog for sharing: what is chosen, how that looks, and what there is to paste or to download.

import { h } from "../dom.js";
import { ROOT } from "../root.js";
import { isOfSection } from "../state/address.js";
import { copyArea } from "./clipboard.js";
import { frame, picture, placesFor, SANDBOX, whole } from "./snippets.js";

const STRICT = SANDBOX.replace(" allow-same-origin", ""); // here the frame would have the origin of the page
const USUAL = 480; // pixels, until the frame has told its height
const LESSON = 920; // pixels that a lesson needs on a phone

/** Returns `open()`, which shows the dialog for the section that `query()` says. */
export function shareDialog(dialog, query) {
  const { base, local, op, lesson, title } = dialog.dataset;
  const find = (selector) => dialog.querySelector(selector);
  const form = find("form");
  const sight = preview(find(".preview"), () => refresh());
  const places = placesFor({ lesson });
  addPlaces(find(".places"), places);

  function figure() {
    const chosen = new FormData(form);
    const asked = (part) => part.closest("[data-ways]").dataset.ways.split(" ").includes(chosen.get("way"));
    const parts = [...form.querySelectorAll("[name=show]")].filter(asked);
    const dress = {
      theme: chosen.get("theme") === "auto" ? "" : chosen.get("theme"),
      hide: parts
        .filter(({ checked }) => !checked)
        .map(({ value }) => value)
        .join(","),
      ...pixels(form),
    };
    const said = [...new URLSearchParams(query())].filter(([name]) => isOfSection(name));
    return {
      base,
      local,
      op,
      lesson,
      title,
      said,
      dress,
      height: Number(dress.height) || Math.max(sight.height(), lesson ? LESSON : 0) || USUAL,
    };
  }

  function refresh() {
    const shown = figure();
    const { way, ending, place } = Object.fromEntries(new FormData(form));
    for (const each of form.querySelectorAll("[data-ways]")) each.hidden = !each.dataset.ways.split(" ").includes(way);
    show(
      way,
      shown,
      ending,
      places.find(([name]) => name === place),
    );
  }

  function show(way, shown, ending, [, hint, write]) {
    const here = { ...shown, base: ROOT };
    find(".fetch").hidden = false;
    const pictured = dialog.dataset[ending.slice(1)].split(" ");
    const usual = { live: ["all", here.height], picture: pictured, file: ["", ""] }[way];
    for (const [place, name] of ["width", "height"].entries()) form.elements[name].placeholder = usual[place];
    if (way === "live") {
      sight.live(frame(here), shown.dress);
      say(hint, write(shown));
    } else if (way === "picture") {
      const dressed = ["theme", "width", "height"];
      sight.still(picture(here, ending.replace("pdf", "svg"), dressed), shown.title); // no browser shows a PDF as an image
      say("The address of the picture: it holds all that is seen.", picture(shown, ending, dressed));
      fetchable(picture(here, ending, dressed), `${shown.op}${ending}`);
    } else file(here);
  }

  function say(hint, text) {
    find("#sharing-hint").textContent = hint;
    const area = find("textarea");
    if (area.value === text) return;
    area.value = text;
    if (area === document.activeElement) area.select(); // it was about to be copied
  }

  function file(here) {
    const moving = form.querySelector("[value=zoom]").checked;
    for (const field of find(".live-sliders").elements) field.disabled = !moving;
    const [sliders, count] = moving ? chosenSliders(form) : ["", 1];
    const most = Number(find(".weight").dataset.most);
    const status = find(".weight [role=status]");
    status.textContent = `${count} section${count === 1 ? "" : "s"}${count > most ? `: at most ${most} are allowed, so give fewer values.` : ""}`;
    status.classList.toggle("trouble", count > most);
    fetchable(whole(sliders ? { ...here, said: [...here.said, ["sliders", sliders]] } : here), `${here.op}.html`);
    find(".fetch").hidden = count > most;
  }

  function fetchable(href, name) {
    Object.assign(find(".fetch"), { href, download: name, textContent: `Download ${name}` });
  }

  form.addEventListener("input", () => {
    refresh();
    const wrong = [...form.querySelectorAll("input.field:invalid")].find((field) => field.offsetParent !== null);
    find("output").textContent = wrong ? `${wrong.ariaLabel ?? wrong.name} is a whole number from ${wrong.min} to ${wrong.max}.` : "";
  });
  form.addEventListener("submit", (event) => event.preventDefault());
  find(".copy").addEventListener("click", () => copyArea(find("textarea"), find("output")));
  find(".shut").addEventListener("click", () => dialog.close());
  dialog.addEventListener("close", sight.clear);
  return () => {
    dialog.showModal();
    refresh();
  };
}

/** One word for each place. */
function addPlaces(row, places) {
  const words = places.map(([name], index) => {
    const input = h("input", { type: "radio", name: "place", value: name, checked: index === 0 });
    return h("label", {}, input, h("span", {}, name));
  });
  row.append(...words);
}

/** Width and height as far as they can be; what cannot is marked and left out. */
function pixels(form) {
  const fields = ["width", "height"].map((name) => form.elements[name]);
  const text = ({ value, valueAsNumber }) => (value === "" ? "" : String(valueAsNumber)); // 1e3 is a thousand
  for (const field of fields) field.ariaInvalid = field.validity.valid ? null : "true";
  return Object.fromEntries(fields.map((field) => [field.name, field.validity.valid ? text(field) : ""]));
}

/** The sliders as the address has them, `min:9,grad_output:3`, and how many sections they reach. */
function chosenSliders(form) {
  const boxes = [...form.querySelectorAll("[name=slider]:checked")].map(({ value, dataset }) => {
    const field = form.elements[`values-${value}`];
    const count = field && (field.validity.valid && field.value ? field.value : field.defaultValue);
    return [field ? `${value}:${count}` : value, Number(count ?? dataset.count)];
  });
  return [boxes.map(([text]) => text).join(","), boxes.reduce((sum, [, count]) => sum * count, 1)];
}

/** What is shown beside the choices: the frame as others will see it, or the picture. */
function preview(place, resized) {
  let [shown, height] = [null, 0];
  addEventListener("message", ({ source, data }) => {
    if (!source || source !== shown?.contentWindow || data?.type !== "gradloupe:resize") return;
    height = Math.ceil(data.height);
    shown.style.height = `${height}px`;
    resized();
  });
  /** Another one takes the place of what is shown as soon as it is there: no flicker, and nothing to go back to. */
  function put(tag, attributes) {
    if (shown?.isConnected && shown.getAttribute("src") === attributes.src) return;
    const [before, next] = [shown, h(tag, attributes)];
    next.inert = true; // it is there to be looked at; what is shared is what the page shows
    next.style.height = tag === "iframe" && height > 0 ? `${height}px` : "";
    next.className = before?.isConnected ? "coming" : "";
    next.onload = next.onerror = () => {
      for (const each of [...place.children]) if (each !== shown) each.remove();
      if (next === shown) next.className = "";
    };
    shown = next;
    place.append(next);
  }
  return {
    height: () => height,
    clear: () => place.replaceChildren(),
    live(address, { width, height: high }) {
      put("iframe", { src: address, title: "Preview", sandbox: STRICT });
      shown.style.width = width ? `${width}px` : "";
      if (high) shown.style.height = `${high}px`;
    },
    still: (address, title) => put("img", { src: address, alt: title }),
  };
}
