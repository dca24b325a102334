// Where forward breaks off because it runs off to infinity. What stands beside such a row is huge and says nothing.

const FAR = 100;

/** The rows at which forward is broken off by a pole, not by a jump. */
export function poles({ columns: { x, forward }, gaps, marks }) {
  const rows = gaps.forward?.jump ?? [];
  const beside = new Set(rows.flatMap((row) => [row - 1, row + 1]));
  const others = forward.filter((value, row) => value !== null && !beside.has(row));
  const rise = others.reduce((a, b) => Math.max(a, b), -Infinity) - others.reduce((a, b) => Math.min(a, b), Infinity);
  const leap = (row) => Math.abs((forward[row + 1] ?? Infinity) - (forward[row - 1] ?? -Infinity));
  return rows.filter((row) => !marks.some((mark) => mark.x === x[row]) || !(leap(row) <= FAR * rise));
}

/** `answer` without its poles: no mark there, and no value right beside them. */
export function withoutPoles(answer) {
  const rows = poles(answer);
  if (rows.length === 0) return answer;
  const beside = new Set(rows.flatMap((row) => [row - 1, row, row + 1]));
  const { x, status } = answer.columns;
  const cut = (column) => column && column.map((value, row) => (beside.has(row) ? null : value));
  const columns = Object.entries(answer.columns).map(([name, column]) => [name, cut(column)]);
  const places = rows.map((row) => x[row]);
  return {
    ...answer,
    columns: { ...Object.fromEntries(columns), x, status },
    marks: answer.marks.filter((mark) => !places.includes(mark.x)),
  };
}
