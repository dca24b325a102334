// Numbers: as people read them, as they type them, and the one of a list that is nearest to another.

const RAISED = Object.fromEntries([..."-0123456789"].map((sign, i) => [sign, "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"[i]]));

export const typographic = (text) => String(text).replaceAll("-", "−");

/** The text a person typed, as a program reads it: ASCII minus, no spaces, numbers without needless digits. */
export function asciiNumber(text) {
  const ascii = text.trim().replaceAll("−", "-");
  return ascii !== "" && Number.isFinite(Number(ascii)) ? String(Number(ascii)) : ascii;
}

/** A list of numbers, rows of them apart by semicolons or lines, each as a program reads it. */
export const asciiNumbers = (text) => text.split(/[,;\n]/).map(asciiNumber);

export function format(value, digits = 4) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  if (!Number.isFinite(value)) return value > 0 ? "+∞" : "−∞";
  const size = Math.abs(value);
  if (size === 0) return "0";
  if (size >= 1e-3 && size < 1e6) return typographic(Number(value.toPrecision(digits)));
  const [mantissa, exponent] = value.toExponential(digits - 1).split("e");
  return `${typographic(Number(mantissa))}·${power(Number(exponent))}`.replace(/^(−?)1·/, "$1");
}

/** Ten to the `exponent`, as it is set. */
export const power = (exponent) => `10${[...String(exponent)].map((sign) => RAISED[sign]).join("")}`;

/** `value`, an end of a range as long as `span`, with the digits that tell it from the other end. */
function formatRangeEnd(value, span) {
  const digits = 3 + Math.ceil(Math.log10(Math.abs(value) / span));
  return format(value, Number.isFinite(digits) ? Math.min(17, Math.max(4, digits)) : 4);
}

/** `value` with as many decimals as neighbours `step` apart need to be told from each other. */
export function fixed(value, step) {
  const least = Math.ceil(-Math.log10(step) - 1e-9);
  const whole = step * 10 ** least;
  const decimals = Math.abs(whole - Math.round(whole)) < 1e-6 ? least : least + 1; // 0.015 has three
  if (decimals > 6 || Math.abs(value) >= 1e6) return formatRangeEnd(value, step);
  const places = Math.max(0, decimals);
  return typographic(Number(value.toFixed(places)).toFixed(places)); // a number, so that −0 becomes 0
}

/** `value` rounded where a thousandth of `span` can no longer be seen. */
export function roundForSpan(value, span) {
  const unit = 10 ** Math.floor(Math.log10(span / 500));
  return Number((Math.round(value / unit) * unit).toPrecision(12));
}

/** `text` as `typeset` makes it, but for what stands between backticks: that is to be copied. */
const outsideCode = (typeset, text) =>
  text
    .split(/(`[^`]+`)/)
    .map((piece, i) => (i % 2 ? piece : typeset(piece)))
    .join("");

/** A sentence as it is set: true minus signs before numbers, and comparisons that do not break across lines. */
export const typesetSentence = (text) =>
  outsideCode(
    (words) => words.replace(/(^|[^\w.-])-(?=[\d.])/g, "$1−").replace(/ ([≤<>=]) /g, "\u00a0$1\u00a0"),
    text,
  );

/** Numbers in `text` that a program wrote with an exponent, as people read them: 4.6e−6 as 4.6·10⁻⁶. */
export function typesetPowers(text) {
  const raised = (sign, digits) => power(Number(`${sign && "-"}${digits}`));
  const typeset = (words) =>
    words
      .replace(/(?<![\w.])1e([-−]?)\+?(\d+)(?!\w)/g, (_, sign, digits) => raised(sign, digits))
      .replace(/(\d)e([-−]?)\+?(\d+)(?!\w)/g, (_, mantissa, sign, digits) => `${mantissa}·${raised(sign, digits)}`);
  return outsideCode(typeset, text);
}

/** The row whose x is closest to `value`; x is increasing. */
export function nearest(xs, value) {
  let [low, high] = [0, xs.length - 1];
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (xs[middle] <= value) low = middle;
    else high = middle;
  }
  return value - xs[low] <= xs[high] - value ? low : high;
}

/** The place in `values`, in any order, of the one closest to `value`. */
export function closestIndex(values, value) {
  const away = values.map((each) => Math.abs(each - value));
  return away.indexOf(Math.min(...away));
}
