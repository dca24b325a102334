// Tables that a narrow window shows as lists: every cell knows the name of its column.

import { element } from "./table.js";

/** A table of rows of nodes or texts; the first of a row is its heading. `caption` is seen above it. */
export function ledger(caption, head, rows) {
  const table = document.createElement("table");
  table.className = "ledger";
  table.append(element("caption", caption));
  const names = table.createTHead().insertRow();
  names.append(...head.map((name) => Object.assign(element("th", name), { scope: "col" })));
  table.createTBody().append(...rows.map((cells) => line(cells, head)));
  return table;
}

function line(cells, head) {
  const row = document.createElement("tr");
  row.append(
    ...cells.map((content, i) => {
      const cell = document.createElement(i === 0 ? "th" : "td");
      if (i === 0) cell.scope = "row";
      else cell.dataset.name = head[i];
      const inside = cell.appendChild(document.createElement("span"));
      inside.append(...[content].flat());
      return cell;
    }),
  );
  return row;
}
