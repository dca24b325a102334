// A Jacobian as cells: what each is called, which numbers it has, and which colour.

/** What the element at a flat `place` of a tensor is called. */
export function label({ name, shape }, place) {
  if (shape.reduce((product, size) => product * size, 1) === 1) return name;
  const index = [];
  for (const size of shape.toReversed()) {
    index.unshift(place % size);
    place = Math.floor(place / size);
  }
  return `${name}[${index.join(",")}]`;
}

/** The flat place of an element, by what it is called. */
export function placeOf({ shape }, called) {
  const index = called.match(/\[(.*)\]/)?.[1].split(",").map(Number) ?? [];
  return index.reduce((place, i, axis) => place * shape[axis] + i, 0);
}

export const total = ({ shape }) => shape.reduce((product, size) => product * size, 1);

const RIGHT = ["agrees", "subgradient"];

/**
 * {rows, columns, at(row, column), most, apart, returned, alike}: the cells of an answer, how far its two scales of
 * colour go, whether anything was returned, and whether nothing of it differs.
 */
export function cells({ rows, across, columns, statuses }) {
  const number = (name, i) => columns[name]?.[i] ?? null;
  const size = columns.status.length;
  const words = columns.status.map((code) => statuses[code]);
  let [most, apart] = [0, 0];
  for (let i = 0; i < size; i++) {
    for (const name of ["numerical", "returned"]) most = Math.max(most, Math.abs(number(name, i) ?? 0));
    if (words[i] === "differs") apart = Math.max(apart, Math.abs(number("difference", i) ?? 0));
  }
  /** What is marked and not coloured, on any of the maps: "kink", "jump", "cross". */
  function marked() {
    const kinds = words.flatMap((word, i) => {
      const bent = number("left", i) !== null && number("right", i) !== null;
      const mark = word === "jump" ? "jump" : bent ? "kink" : "cross";
      const forward = number("numerical", i) === null ? [mark] : [];
      return columns.returned !== null && number("returned", i) === null ? [...forward, "cross"] : forward;
    });
    return new Set(kinds);
  }
  return {
    marked,
    rows: Array.from({ length: rows.count }, (_, i) => label(rows, rows.first + i)),
    columns: Array.from({ length: across.count }, (_, i) => label(across, across.first + i)),
    most,
    apart,
    returned: columns.returned !== null,
    alike: words.every((word) => RIGHT.includes(word)),
    at(row, column) {
      const i = row * across.count + column;
      const [numerical, returned, difference] = ["numerical", "returned", "difference"].map((name) => number(name, i));
      return {
        ...{ numerical, returned, difference, status: words[i], right: RIGHT.includes(words[i]) },
        ...{ error: number("error", i), left: number("left", i), after: number("right", i) },
      };
    },
  };
}

/** The colour of `share`, from −1 to 1, between those of a palette. */
export function mixer({ negative, neutral, positive }) {
  const parts = (color) => color.match(/[\d.]+/g).slice(0, 3).map(Number);
  const [low, middle, high] = [negative, neutral, positive].map(parts);
  return (share) => {
    const end = share < 0 ? low : high;
    const part = Math.min(1, Math.abs(share));
    return `rgb(${middle.map((value, i) => Math.round(value + part * (end[i] - value))).join(" ")})`;
  };
}
