// What to paste where: a live figure, or its picture, in the notation of each tool. Pure functions of one figure.
//
// A figure is {base, op, title, said, dress, height}: where the site is, the op and its title, what the address says of
// the section as [name, text] pairs, how it is dressed (theme, hide, width, height; empty texts left out), and how high it
// stands in pixels. That of a lesson has the name of it as `lesson`, one of a server beside the reader is `local`.

// These two stand in grad-loupe.js as well, which is loaded alone. With its own origin a frame has a cache, which without
// one every frame would fill anew.
const HTML = /^(allow|class|dir|hidden|id|inert|lang|nonce|op|part|role|slot|style|tabindex|title|translate|on[a-z]{3,})$/;
export const SANDBOX = "allow-scripts allow-same-origin allow-downloads allow-popups allow-popups-to-escape-sandbox";

/** The text as HTML has it, between tags, and between quotes. */
const between = (text) => text.replace(/[&<>]/g, (each) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;" })[each]);
const escaped = (text) => between(text).replace(/"/g, "&quot;");

/** The text as Markdown has it, with nothing in it that Markdown would read. */
const plain = (text) => text.replace(/[\\`*_[\]<>&!|]/g, "\\$&");

/** The text as an address has it: commas as they are, and nothing in it that HTML, Markdown or Python would read. */
const quoted = (text) =>
  encodeURIComponent(text).replace(/%2C|%3B|%3A|['()*!]/g, (each) =>
    each.startsWith("%") ? decodeURIComponent(each) : `%${each.charCodeAt(0).toString(16).toUpperCase()}`,
  );

/** The address of a figure at a place of the site. */
function addressOf({ base, said, dress }, place, dressed = []) {
  const path = place.split("/").map(encodeURIComponent).join("/");
  const pairs = [...said, ...Object.entries(dress).filter(([name, text]) => dressed.includes(name) && text)];
  const query = pairs.map(([name, text]) => `${encodeURIComponent(name)}=${quoted(text)}`);
  return `${base}/${path}${query.length > 0 ? `?${query.join("&")}` : ""}`;
}

/** What a frame and the element call it. */
const embedded = ({ op, lesson }) => (lesson ? `lessons/${lesson}` : op);

const PICTURED = ["title", "verdict", "legend", "controls", "numerical", "implied", "shading"]; // the parts that a picture has, too

/** The figure without what is left out of pages alone. */
const asPicture = (figure) => {
  const hide = figure.dress.hide.split(",").filter((part) => PICTURED.includes(part));
  return { ...figure, dress: { ...figure.dress, hide: hide.join(",") } };
};

const page = (figure) => addressOf(figure, figure.lesson ? embedded(figure) : `ops/${figure.op}`);
export const frame = (figure) => addressOf(figure, `embed/${embedded(figure)}`, ["theme", "hide", "height"]);
/** The frame of a page that does not hear how high the figure is: it fills what it is given, on a phone, too. */
const filling = (figure) => frame({ ...figure, dress: { ...figure.dress, height: String(figure.height) } });
export const picture = (figure, ending, dressed = ["theme", "hide"]) =>
  addressOf(asPicture(figure), `ops/${figure.op}${ending}`, dressed);
/** The file that works offline. */
export const whole = (figure) => addressOf(figure, `ops/${figure.op}.html`, ["theme", "hide"]);
const pasted = (figure) => addressOf(figure, `ops/${figure.op}`, ["theme", "hide", "width", "height"]);
const oembed = (figure) => `${figure.base}/oembed?url=${encodeURIComponent(pasted(figure))}`;

// Browsers ask before a page of the web reaches into the machine or the network of its reader.
const allowed = ({ local }) => (local ? ' allow="local-network-access"' : "");
const name = ({ title, lesson }) => (lesson ? `${title}, a lesson with a live figure` : `${title}, a live figure`);
const wide = ({ dress }) => dress.width || "100%";
const paper = (figure) => picture(figure, ".png", ["hide"]); // light, whatever the screen has
const linked = (figure, source) => `[![${plain(figure.title)}](${source})](${page(figure)})`;
const fence = (kind, ...lines) => [`\`\`\`${kind}`, ...lines, "```"].join("\n");

function iframe(figure, source = "src", more = ` loading="lazy" sandbox="${SANDBOX}"`) {
  const size = `width="${wide(figure)}" height="${figure.height}"`;
  return `<iframe ${source}="${escaped(filling(figure))}" title="${escaped(name(figure))}" ${size}${more}${allowed(figure)} frameborder="0"></iframe>`;
}

/** The element with code to edit, or with the figure of an op, and in it what is there before it, and without it. */
export function elementOf(figure) {
  const dress = Object.entries(figure.dress).filter(([, text]) => text);
  const words = figure.said.filter(([each]) => /^[a-z_][a-z0-9_]*$/.test(each) && !HTML.test(each));
  const others = new URLSearchParams(figure.said.filter((each) => !words.includes(each))).toString();
  const edited = figure.code !== undefined;
  const attributes = [["op", !edited && embedded(figure)], ...words, ...dress, ["data-query", others]];
  const told = attributes.filter(([, text]) => text).map(([each, text]) => `${each}="${escaped(text)}"`);
  return [
    `<script type="module" src="${escaped(figure.base)}/grad-loupe.js"></script>`,
    `<grad-loupe ${[...(edited ? ["edit"] : []), ...told].join(" ")}${allowed(figure)}>`,
    edited ? `<pre>\n${between(figure.code.trim())}\n</pre>` : `  ${picturedLink(figure)}`,
    "</grad-loupe>",
  ].join("\n");
}

const picturedLink = (figure) =>
  `<a href="${escaped(page(figure))}"><img src="${escaped(picture(figure, ".svg"))}" alt="${escaped(figure.title)}" width="100%"></a>`;

function sphinx(figure) {
  return [
    ".. raw:: html",
    "",
    `   ${iframe(figure)}`,
    "",
    ".. only:: not html",
    "",
    `   .. image:: ${paper(figure)}`,
    `      :alt: ${figure.title}`,
    `      :target: ${page(figure)}`,
  ].join("\n");
}

const quarto = (figure) =>
  [
    '::: {.content-visible when-format="html"}',
    fence("{=html}", iframe(figure)),
    ":::",
    "",
    '::: {.content-visible unless-format="html"}',
    linked(figure, paper(figure)),
    ":::",
  ].join("\n");

function jupyter(figure) {
  const width = JSON.stringify(wide(figure));
  return `from IPython.display import IFrame\n\nIFrame(${JSON.stringify(filling(figure))}, width=${width}, height=${figure.height})`;
}

/** Where a figure can go, in the order of the dialog: its name, what one does there, and what one pastes. */
export const PLACES = [
  ["HTML", "Paste it into the page, where the figure should appear.", iframe],
  ["Web component", "It grows and shrinks with its figure, tells its state, and falls back to the picture.", elementOf],
  ["WordPress", "Paste the address on a line of its own; any editor that knows oEmbed makes a figure of it.", pasted],
  ["oEmbed", "What an editor asks for, and gets as JSON.", oembed],
  [
    "Markdown",
    "A picture that links to the live figure, for a README, a forum, a wiki.",
    (figure) => linked(figure, picture(figure, ".svg")),
  ],
  ["Sphinx", "For reStructuredText. The PDF gets the picture.", sphinx],
  [
    "MyST",
    "For Jupyter Book and Sphinx with MyST. The PDF gets the picture.",
    (figure) =>
      [fence("{raw} html", iframe(figure)), "", fence("{only} not html", linked(figure, paper(figure)))].join("\n"),
  ],
  ["MkDocs", "Between two empty lines of a page.", iframe],
  ["Quarto", "HTML and slides get the live figure, PDF and Word the picture.", quarto],
  [
    "reveal.js",
    "A slide of its own, loaded when it is shown.",
    (figure) => `<section>\n  ${iframe(figure, "data-src", " data-preload")}\n</section>`,
  ],
  [
    "Moodle, Canvas",
    "In the editor, switch to HTML (</>) and paste it.",
    (figure) => `<p>${iframe(figure, "src", "")}</p>`,
  ],
  ["Jupyter", "In a cell of code.", jupyter],
];

/** Those of this figure: oEmbed, which WordPress asks, does not know lessons. */
export const placesFor = ({ lesson }) => PLACES.filter(([, , write]) => !lesson || ![pasted, oembed].includes(write));
