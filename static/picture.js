// The figure as a file: with axis titles, a legend and the verdict, which the page has beside it.

import { figure } from "./figure.js";
import { prose } from "./number.js";
import { palette } from "./palette.js";

const SIZE = { width: 1200, height: 900, rem: 20, gap: 40 };
const LETTERS = 100;
const ORDER = ["forward", "surrogate", "analytical", "numerical", "surrogate slope"];

/** Downloads the picture of `answer` as a PNG. */
export async function save(answer, layout) {
  const view = { layout, ...SIZE, held: null, zoomable: false, titles: true };
  const { data, layout: frame } = figure(answer, view, { ...palette(), size: SIZE.rem });
  const { word, sentence } = answer.verdict;
  const lines = wrapped(prose(`${word[0].toUpperCase()}${word.slice(1)}. ${sentence}`));
  const top = 95 + lines.length * 26;
  const picture = {
    data: data.map(listed),
    layout: {
      ...frame,
      title: {
        text: answer.title,
        font: { weight: 700 },
        subtitle: { text: lines.join("<br>") },
        x: 0.08,
        y: 0.96,
        yanchor: "top",
      },
      showlegend: true,
      legend: { orientation: "h", y: -0.11, x: 1, xanchor: "right", yanchor: "top" },
      margin: { ...frame.margin, l: Math.max(96, 1.25 * frame.margin.l + 40), t: top, b: 96 },
    },
  };
  await window.Plotly.downloadImage(picture, { ...SIZE, format: "png", scale: 2, filename: answer.op });
}

/** The trace with its place in the legend, and dashes for the beads that only the page's stylesheet makes round. */
function listed(trace) {
  const place = ORDER.indexOf(trace.name);
  const beads = trace.line?.dash?.startsWith("0.1px");
  return {
    ...trace,
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
