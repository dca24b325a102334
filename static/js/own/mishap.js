// Why the file could not be loaded: a sentence, the lines around the fault, and the way there.

const element = (name, className, ...children) => {
  const made = Object.assign(document.createElement(name), { className });
  made.append(...children);
  return made;
};

/** The elements that say so; `stays` says that there are curves of an earlier save. As templates/following.html has them. */
export function mishap({ sentence, excerpt, line, traceback }, stays) {
  const said = sentence.split(/`([^`]+)`/).map((piece, i) => (i % 2 ? element("code", "", piece) : piece));
  const told = [element("p", "why", ...said)];
  if (excerpt.length > 0) told.push(lines(excerpt, line));
  if (traceback) told.push(element("details", "", element("summary", "", "Traceback"), preformatted("traceback", traceback)));
  if (stays) told.push(staying());
  return told;
}

/** What is said of the curves that stay. */
export const staying = () => element("p", "stays", "The curves are those of the last good save.");

function lines(excerpt, line) {
  const rows = excerpt.map(([number, text]) => {
    const row = element(number === line ? "mark" : "span", "line", text);
    row.dataset.line = String(number);
    return row;
  });
  return preformatted("excerpt", ...rows.flatMap((row, i) => (i ? ["\n", row] : [row])));
}

function preformatted(className, ...children) {
  const made = element("pre", className, element("code", "", ...children));
  made.tabIndex = 0;
  return made;
}
