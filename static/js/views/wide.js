// The view "wide", over all of the dtype: how far apart analytical and numerical are, relative to the larger of them.

import { axisStyle, axisTitle, baseLayout, baseTrace, decade, decades, verticalStripe, widest } from "../figure/axes.js";

const FLOOR = -17; // relative differences below are rounding
const MOST = 0.5; // two numbers differ by twice the larger one at most
const COARSE = -1;
const AIR = 0.8;
const RIGHT = ["agrees", "subgradient"];

const PER_SIDE = 8;
const GAP = 0.5;
const UNKNOWN = "undecided";
const SURROGATE = "matches surrogate";

/** {data, layout, words} for an answer to view=wide; `view.designed` where backward is that of a surrogate. */
export function wideFigure(answer, view, palette) {
  const { x, analytical, numerical, error, status } = answer.columns;
  const { place, span, labels } = scale(answer, view);
  const larger = x.map((_, row) => Math.max(Math.abs(analytical?.[row] ?? NaN), Math.abs(numerical?.[row] ?? NaN)));
  const apart = x.map((_, row) => relative(analytical?.[row] - numerical?.[row], larger[row]));
  const bound = x.map((_, row) => relative(error?.[row] ?? NaN, larger[row]));
  const range = [FLOOR - AIR, MOST + AIR];
  const words = "relative difference";
  const at = x.map(place);
  const kinds = at.map((_, row) =>
    apart[row] === null ? "" : kind(answer.statuses[status[row]], apart[row], bound[row], view.designed),
  );
  const dots = (name, marker) => {
    const rows = at.map((_, row) => row).filter((row) => kinds[row] === name);
    return {
      ...baseTrace(name),
      mode: "markers",
      x: rows.map((row) => at[row]),
      y: rows.map((row) => apart[row]),
      cliponaxis: false,
      marker: { size: 5, ...marker },
    };
  };
  const { tickvals, ticktext } = decades([FLOOR + 1, range[1]], Math.max(2, view.height / (4 * view.rem)));
  return {
    words,
    data: [
      {
        ...baseTrace("error bound"),
        mode: "lines",
        x: at,
        y: bound,
        line: { width: 2, color: palette.numerical, simplify: false },
      },
      dots(UNKNOWN, { color: palette.paper, line: { width: 1.2, color: palette.muted } }),
      dots(SURROGATE, { color: palette.surrogate }),
      dots("agrees", { color: palette.ink }),
      dots("differs", { color: palette.disagreement, size: 6 }),
    ],
    layout: {
      ...baseLayout(view.margin, view.titles, palette),
      xaxis: { ...axisStyle(palette), range: span, fixedrange: true, ...labels, title: axisTitle(answer.wrt, palette) },
      yaxis: {
        ...axisStyle(palette),
        zeroline: false,
        range,
        fixedrange: true,
        tickvals: [FLOOR, ...tickvals],
        ticktext: ["0", ...ticktext],
        title: axisTitle(view.titles ? words : "", palette),
      },
      shapes: [
        verticalStripe(place(answer.start), place(answer.stop), palette.muted, 0.14),
        ...answer.intervals.map(([from, to]) =>
          verticalStripe(place(from ?? -Infinity), place(to ?? Infinity), palette.disagreement, 0.15),
        ),
      ],
    },
  };
}

/** log₁₀ of `difference` in units of `size`, as far as the axis goes; null where it cannot be said. */
function relative(difference, size) {
  if (!Number.isFinite(difference) || !Number.isFinite(size) || (size === 0 && difference !== 0)) return null;
  return difference === 0 ? FLOOR : Math.max(FLOOR, Math.min(MOST, Math.log10(Math.abs(difference) / size)));
}

/** What a row says. Where differences are too coarse to contradict anything, agreement says nothing. */
function kind(status, apart, bound, designed) {
  if (status === "differs") return status;
  if (!RIGHT.includes(status) || (bound > COARSE && apart > COARSE && apart <= bound)) return UNKNOWN;
  return designed && apart > Math.max(bound, COARSE) ? SURROGATE : "agrees";
}

/** Both signs on one axis, each by its power of ten: {place, span, labels}. */
function scale({ columns: { x }, reach }, { width, left, rem }) {
  const sizes = x.filter((value) => value).map((value) => Math.log10(Math.abs(value)));
  const least = Math.floor(Math.min(0, ...sizes));
  const most = Math.max(least + 1, ...sizes);
  const place = (value) => {
    const size = Math.abs(value);
    return size === 0 ? 0 : Math.sign(value) * Math.max(0, Math.min(most, Math.log10(size)) - least);
  };
  const span = reach ? reach.map((end, i) => place(end ?? (i ? Infinity : -Infinity))) : [least - most, most - least];
  const room = (width - left) / rem / (span[1] - span[0]);
  return { place, span, labels: labelled(least, most, room) };
}

/** Labels that leave each other room, 0 and ±1 first; `room` is the length of a power of ten in rem. */
function labelled(least, most, room) {
  const powers = [0, ...decades([least + 1, most], PER_SIDE).tickvals.filter((each) => each !== 0)];
  const wanted = [
    { at: 0, text: "0" },
    ...powers.flatMap((each) => [
      { at: each - least, text: decade(each) },
      { at: least - each, text: `−${decade(each)}` },
    ]),
  ];
  const kept = [];
  for (const { at, text } of wanted) {
    const free = kept.every(
      (other) => Math.abs(other.at - at) * room > (widest([text]) + widest([other.text])) / 2 + GAP,
    );
    if (free) kept.push({ at, text });
  }
  kept.sort((a, b) => a.at - b.at);
  return { tickvals: kept.map(({ at }) => at), ticktext: kept.map(({ text }) => text), tickangle: 0 };
}
