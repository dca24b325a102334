// Tables of words and numbers.

/** A table; the first cell of a row is its heading, an empty one heads nothing, the last of a short row is wide. */
export function grid(caption, { head, rows }) {
  const table = document.createElement("table");
  table.append(element("caption", caption));
  const row = (cells, tag) => {
    const line = document.createElement("tr");
    line.append(...cells.map((text, i) => element(i === 0 && tag === "td" ? "th" : text === "" ? "td" : tag, text)));
    if (cells.length < head.length) line.lastChild.colSpan = head.length - cells.length + 1;
    return line;
  };
  table.createTHead().append(row(head, "th"));
  table.createTBody().append(...rows.map((cells) => row(cells, "td")));
  return table;
}

export const element = (tag, text) => Object.assign(document.createElement(tag), { textContent: text });
