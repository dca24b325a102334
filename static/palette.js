// The figure's colours, as the stylesheet has them at this moment: light or dark, printed or forced.

const NAMES = [
  ...["ink", "muted", "rule", "grid", "paper", "analytical", "numerical", "surrogate", "disagreement"],
  ...["negative", "neutral", "positive", "float32", "bfloat16", "float16"],
];

export function palette() {
  const probe = document.body.appendChild(document.createElement("i"));
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
  for (const query of ["(prefers-color-scheme: dark)", "(forced-colors: active)", "(prefers-contrast: more)"]) {
    matchMedia(query).addEventListener("change", changed);
  }
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
