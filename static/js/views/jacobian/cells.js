// The cells of a Jacobian: what they are called, and what stands in them.

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

/** {rows, columns, returned, at(row, column)}: the cells of an answer, and whether anything was returned. */
export function cells({ rows, across, columns, statuses }) {
  const number = (name, i) => columns[name]?.[i] ?? null;
  return {
    rows: Array.from({ length: rows.count }, (_, i) => label(rows, rows.first + i)),
    columns: Array.from({ length: across.count }, (_, i) => label(across, across.first + i)),
    returned: columns.returned !== null,
    at(row, column) {
      const i = row * across.count + column;
      const [numerical, returned, difference] = ["numerical", "returned", "difference"].map((name) => number(name, i));
      return {
        ...{ numerical, returned, difference, status: statuses[columns.status[i]] },
        ...{ error: number("error", i), left: number("left", i), after: number("right", i) },
      };
    },
  };
}
