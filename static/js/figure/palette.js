// The figure's colours, as the stylesheet has them at this moment: light or dark, printed or forced.

const NAMES = [
  ...["ink", "muted", "rule", "grid", "paper", "analytical", "numerical", "surrogate", "disagreement"],
  ...["negative", "neutral", "positive", "float32", "bfloat16", "float16"],
];

export function palette() {
  const probe = document.body.appendChild(document.createElement("i"));
  probe.style.forcedColorAdjust = "none"; // else a system with colours of its own has one for all curves
  const colors = NAMES.map((name) => {
    probe.style.color = `var(--${name})`;
    return [name, getComputedStyle(probe).color];
  });
  const { fontFamily, fontSize } = getComputedStyle(document.querySelector(".plot"));
  probe.remove();
  return { ...Object.fromEntries(colors), family: fontFamily, size: parseFloat(fontSize) };
}

/** Calls `changed` whenever the colours may have become others. */
export function onPaletteChange(changed) {
  for (const query of ["(prefers-color-scheme: dark)", "(forced-colors: active)", "(prefers-contrast: more)", "print"]) {
    matchMedia(query).addEventListener("change", changed);
  }
  new MutationObserver(changed).observe(document.documentElement, { attributeFilter: ["data-theme"] });
  for (const [event, printing] of [
    ["beforeprint", true],
    ["afterprint", false],
  ]) {
    addEventListener(event, () => {
      document.documentElement.classList.toggle("printing", printing);
      changed();
    });
  }
}
