// A surface answer as grids: forward, and a component of the gradient as returned, by differences, and between them.

const ORDER = ["returned", "numerical", "difference"];

/** The rows of a flat column of the answer, null where there is none. */
const rows = (flat, width) =>
  flat && Array.from({ length: flat.length / width }, (_, row) => flat.slice(row * width, (row + 1) * width));

/** {x, y, forward, implied, returned, numerical, difference}: grids of `component`, "x", "y" or "length". */
export function grids(answer, component) {
  const { x, y, forward, implied } = answer.columns;
  const found = component === "length" ? lengths(answer) : parts(answer, component);
  const across = (flat) => rows(flat, x.length);
  return {
    x,
    y,
    ...Object.fromEntries(Object.entries({ forward, implied, ...found }).map(([name, flat]) => [name, across(flat)])),
  };
}

/** One component; the difference only where it counts. */
function parts({ columns, statuses }, axis) {
  const [returned, numerical, status] = ["analytical", "numerical", "status"].map((name) => columns[`${name}_${axis}`]);
  const counts = (i) => statuses[status[i]] === "differs" && numerical[i] !== null && returned[i] !== null;
  return {
    returned,
    numerical,
    difference: returned && returned.map((value, i) => (counts(i) ? value - numerical[i] : null)),
  };
}

/** The lengths of both gradients, and of what lies between them. */
function lengths(answer) {
  const [first, second] = [parts(answer, "x"), parts(answer, "y")];
  const both = (one, other) =>
    one && other && one.map((value, i) => (value === null || other[i] === null ? null : Math.hypot(value, other[i])));
  const between = (one, other) =>
    one &&
    other &&
    one.map((value, i) => (value === null && other[i] === null ? null : Math.hypot(value ?? 0, other[i] ?? 0)));
  return {
    returned: both(first.returned, second.returned),
    numerical: both(first.numerical, second.numerical),
    difference: between(first.difference, second.difference),
  };
}

const finite = (grid) => (grid ?? []).flat().filter((value) => value !== null);

/** The least and the largest number of a grid, null where it has none. */
export function gridExtent(grid) {
  const values = finite(grid);
  return values.length > 0
    ? values.reduce(([low, high], each) => [Math.min(low, each), Math.max(high, each)], [Infinity, -Infinity])
    : null;
}

/** The scale of each signed map, from −most to most: one for both gradients, without what is nearly infinite. */
export function scales(grid) {
  const [returned, numerical, difference] = ORDER.map((name) =>
    finite(grid[name])
      .map(Math.abs)
      .sort((a, b) => a - b),
  );
  const most = (sizes) => sizes[Math.floor(0.995 * (sizes.length - 1))] || sizes.at(-1) || 0;
  const both = Math.max(most(returned), most(numerical)) || 1;
  return { returned: both, numerical: both, difference: most(difference) || both };
}

/** Arrows of the returned gradient as one broken line, at about `count` places a side, steep in the units of the picture. */
export function arrows({ columns: { x, y, analytical_x: first, analytical_y: second } }, count, [width, height]) {
  if (!first || !second || x.length < 2 || y.length < 2) return { x: [], y: [] };
  const step = Math.max(1, Math.ceil(Math.max(x.length, y.length) / count));
  const start = Math.floor(((Math.max(x.length, y.length) - 1) % step) / 2);
  const [perX, perY] = [width / (x.at(-1) - x[0]), height / (y.at(-1) - y[0])];
  const found = [];
  for (let row = start; row < y.length; row += step) {
    for (let column = start; column < x.length; column += step) {
      const i = row * x.length + column;
      if (first[i] === null || second[i] === null) continue;
      found.push({ x: x[column], y: y[row], dx: first[i] / perX, dy: second[i] / perY });
    }
  }
  const sizes = found.map(({ dx, dy }) => Math.hypot(dx, dy)).sort((a, b) => a - b);
  const most = sizes[Math.floor(0.9 * (sizes.length - 1))] || sizes.at(-1);
  if (!most) return { x: [], y: [] };
  const room = 0.86 * step * Math.min(width / (x.length - 1), height / (y.length - 1));
  const line = { x: [], y: [] };
  for (const each of found) arrow(line, each, room * Math.min(1, Math.hypot(each.dx, each.dy) / most), [perX, perY]);
  return line;
}

/** One arrow, `size` pixels long, its middle at its place. */
function arrow(line, { x, y, dx, dy }, size, [perX, perY]) {
  const steep = Math.hypot(dx, dy);
  if (!(size > 1.5)) return;
  const [ux, uy] = [dx / steep, dy / steep];
  const at = (along, aside) => [x + (ux * along - uy * aside) / perX, y + (uy * along + ux * aside) / perY];
  const head = Math.min(5, size / 2.2);
  const tip = at(size / 2, 0);
  for (const [px, py] of [at(-size / 2, 0), tip, at(size / 2 - head, head / 2), tip, at(size / 2 - head, -head / 2)]) {
    line.x.push(px);
    line.y.push(py);
  }
  line.x.push(null);
  line.y.push(null);
}
