// The figure as a file: with axis titles, a legend and the verdict, which the page has beside it.

import { figure } from "./figure.js";
import { format, prose } from "./number.js";
import { palette } from "./palette.js";

const SIZE = { width: 1200, height: 900, rem: 20, gap: 40 };
const LETTERS = 100;
const ORDER = ["forward", "implied", "surrogate", "analytical", "numerical", "surrogate slope"];
const NAMES = { implied: "implied by backward" };

/** Downloads the picture of `answer` as a PNG. */
export async function save(answer, layout) {
  const view = { layout, ...SIZE, held: null, zoomable: false, titles: true };
  const { data, layout: frame } = figure(answer, view, { ...palette(), size: SIZE.rem });
  const { word, sentence } = answer.verdict;
  const said = `${word[0].toUpperCase()}${word.slice(1)}. ${sentence}`;
  await download(data.map(listed), frame, answer.title, said, answer.op);
}

/** Downloads the picture of the companion figure, under `title`. */
export async function saveCompanion({ answer, figure: builder, ...judged }, title) {
  const rem = SIZE.rem;
  const margin = { l: 3.6 * rem, r: 0.9 * rem, t: 0.5 * rem, b: 3 * rem };
  const view = { ...SIZE, left: margin.l, margin, titles: true, grad_output: answer.grad_output, ...judged };
  const { data, layout, most } = builder(answer, view, { ...palette(), size: rem });
  const seen = data.map((trace) => ({ ...trace, showlegend: trace.type === "scatter" && trace.yaxis === "y" }));
  const colours = most
    ? ` Colours: grad_input / grad_output, from ${format(-most, 3)} (brown) to ${format(most, 3)} (blue).`
    : "";
  await download(seen, layout, `${answer.title}: ${title}`, answer.sentence + colours, `${answer.op}_${answer.view}`);
}

async function download(data, frame, title, said, filename) {
  const lines = wrapped(prose(said));
  const top = 95 + lines.length * 26;
  const picture = {
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
  await window.Plotly.downloadImage(picture, { ...SIZE, format: "png", scale: 2, filename });
}

/** The trace with its place in the legend, and dashes for the beads that only the page's stylesheet makes round. */
function listed(trace) {
  const place = ORDER.indexOf(trace.name);
  const beads = trace.line?.dash?.startsWith("0.1px");
  return {
    ...trace,
    name: NAMES[trace.name] ?? trace.name,
    ...(beads && { line: { ...trace.line, dash: "4px,5px" } }),
    showlegend: place >= 0,
    legendrank: place,
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
