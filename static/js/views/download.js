// The companion figure as a PNG: with axis titles, a legend and its sentence, which the page has beside it.

import { palette } from "../figure/plot.js";
import { format, typesetSentence } from "../number.js";

const SIZE = { width: 1200, height: 900, rem: 20, gap: 40 };
const LETTERS = 100;

/** Downloads the picture of the companion figure, under `title`. */
export async function saveCompanion({ answer, plotly, figure: builder, ...judged }, title) {
  const rem = SIZE.rem;
  const margin = { l: 3.6 * rem, r: 0.9 * rem, t: 0.5 * rem, b: 3 * rem };
  const view = { ...SIZE, left: margin.l, margin, titles: true, grad_output: answer.grad_output, ...judged };
  const { data, layout, most } = builder(answer, view, { ...palette(), size: rem });
  const seen = data.map((trace) => ({ ...trace, showlegend: trace.type === "scatter" && trace.yaxis === "y" }));
  const colours = most
    ? ` Colours: grad_input / grad_output, from ${format(-most, 3)} (brown) to ${format(most, 3)} (blue).`
    : "";
  const picture = titled(seen, layout, `${answer.title}: ${title}`, answer.sentence + colours);
  const filename = `${answer.op}_${answer.view}`;
  await plotly.downloadImage(picture, { ...SIZE, format: "png", scale: 2, filename });
}

/** The figure with everything that the page says around it. */
function titled(data, frame, title, said) {
  const lines = wrapped(typesetSentence(said));
  const top = 95 + lines.length * 26;
  return {
    data,
    layout: {
      ...frame,
      title: {
        text: title,
        font: { weight: 700 },
        subtitle: { text: lines.join("<br>") },
        x: 0.08,
        y: 0.96,
        yanchor: "top",
      },
      showlegend: true,
      legend: { orientation: "h", y: -0.11, x: 1, xanchor: "right", yanchor: "top" },
      margin: { ...frame.margin, l: Math.max(96, 1.25 * frame.margin.l + 40), t: top + frame.margin.t - 10, b: 96 },
    },
  };
}

function wrapped(text) {
  const lines = [""];
  for (const word of text.split(" ")) {
    if (lines.at(-1).length + word.length >= LETTERS) lines.push("");
    lines[lines.length - 1] += `${lines.at(-1) && " "}${word}`;
  }
  return lines;
}
