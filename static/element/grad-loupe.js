// <grad-loupe op="clamp_with_grad" min="-1" theme="dark">: a live figure in the page of somebody else.
// <grad-loupe src="site/leaky.html">: the same from a folder that gradloupe --publish has made.
// Its attributes are the words of the address. What stands inside is shown until the figure is there.
// <grad-loupe edit goal="matches"><pre>class ...</pre></grad-loupe>: its code, or that in code="", to be edited and graded.

const TAG = "grad-loupe";
// This and HTML stand in snippets.js as well: nothing is imported here, for the element stands alone.
const SANDBOX = "allow-scripts allow-same-origin allow-downloads allow-popups allow-popups-to-escape-sandbox";
const [LOWEST, HIGHEST, USUAL] = [120, 4000, 480]; // pixels
// What HTML itself says with an attribute is no word of the address; one of such a name goes into data-query.
const HTML = /^(allow|class|dir|hidden|id|inert|lang|nonce|op|part|role|slot|style|tabindex|title|translate|on[a-z]{3,})$/;
const DRESS = ["hide", "width", "height"]; // these take another frame, and
const EDITED = ["src", "edit", "code", "exercise"]; // these are no words of an address
const OTHERS = ["op", "goal", ...EDITED, "data-query", "data-origin"]; // these another figure
const isWord = (name) => /^[a-z_]\w*$/.test(name) && !HTML.test(name) && !EDITED.includes(name);
const FREE = "play/edit"; // where code that is given is edited
const clamped = (height) => Math.min(HIGHEST, Math.max(LOWEST, Math.ceil(height)));
const sheet = new CSSStyleSheet();
sheet.replaceSync(`:host { display: grid; grid-template-columns: minmax(0, 1fr) }
  :host([hidden]), slot[hidden] { display: none }
  slot, iframe { grid-area: 1 / 1; display: block; width: 100%; border: 0; color-scheme: inherit }
  slot:not([hidden]) + iframe { opacity: 0; pointer-events: none }`); // what is invisible is never drawn

/** The height that a message asks for, in any of the four notations there are: ours, LTI's, WordPress's, Embedly's. */
function heightIn(data) {
  if (typeof data === "string" && /^{.*"iframe\.resize".*}$/.test(data)) return heightIn(JSON.parse(data));
  const { type, subject, message, context, height, value } = Object(data);
  const asked = type === "gradloupe:resize" || subject === "lti.frameResize" || context === "iframe.resize";
  return Number(asked ? height : message === "height" ? value : NaN);
}

/** `text` as it stands in the fragment of an address, as static/js/play/link.js has it. */
async function packed(text) {
  const deflated = new Blob([text]).stream().pipeThrough(new CompressionStream("deflate-raw"));
  const bytes = new Uint8Array(await new Response(deflated).arrayBuffer());
  const signs = btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
  return signs.replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");
}

class GradLoupe extends HTMLElement {
  #slot = document.createElement("slot");
  #room = Object.assign(this.attachShadow({ mode: "open" }), { adoptedStyleSheets: [sheet] });
  #watch = new MutationObserver((changes) => this.#changed(new Set(changes.map((each) => each.attributeName))));
  #frame = null;
  #speaks = false;
  #state = null;
  #owed = null; // what the frame is told as soon as it listens
  #page = ""; // its HTML, where it comes from no server

  connectedCallback() {
    addEventListener("message", this);
    this.#watch.observe(this, { attributes: true });
    this.#slot.hidden = !this.firstElementChild && !this.textContent.trim();
    this.#open();
  }
  connectedMoveCallback() {} // moved in one piece, the frame stays as it is
  disconnectedCallback() {
    removeEventListener("message", this);
    this.#watch.disconnect();
    this.#owed = { ...this.#state, ...this.#owed }; // it comes back as it went
  }

  /** What the figure shows, by the names of the address. What is set is shown, and the rest stays. */
  get state() {
    return { ...(this.#state ?? Object.fromEntries(this.#words())), ...this.#owed };
  }
  set state(values) {
    this.#owed = { ...this.#owed, ...Object.fromEntries(new URLSearchParams(values)) };
    this.#settle();
  }

  /** The HTML of a figure whose questions are heard as `ask` and told by `answer({ id, reply })`; "" for one of a server. */
  get page() {
    return this.#page;
  }
  set page(html) {
    if (html === this.#page) return;
    this.#page = html;
    if (this.isConnected) this.#open();
  }
  answer(said) {
    this.#tell({ type: "gradloupe:answer", ...said });
  }

  #words() {
    const said = [...this.attributes].filter(({ name }) => isWord(name)).map(({ name, value }) => [name, value]);
    return new URLSearchParams([...new URLSearchParams(this.dataset.query), ...said]);
  }

  /** The server is that of the last script before this element, since two servers may serve one page. */
  #origin() {
    const scripts = [...document.querySelectorAll(`script[src$="/${TAG}.js"]`)];
    const before = scripts.filter((each) => each.compareDocumentPosition(this) & Node.DOCUMENT_POSITION_FOLLOWING);
    const { origin } = this.dataset;
    return new URL(".", origin ? `${origin}/` : (before.at(-1)?.src ?? import.meta.url));
  }

  #open() {
    const [op, width, height] = ["op", "width", "height"].map((name) => this.getAttribute(name));
    this.#frame = Object.assign(document.createElement("iframe"), { loading: "lazy", title: this.title || op || "Code to edit" });
    this.#frame.setAttribute("sandbox", SANDBOX);
    if (this.hasAttribute("allow")) this.#frame.allow = this.getAttribute("allow");
    this.#frame.style.height = `${clamped(Number(height) || USUAL)}px`;
    this.#frame.style.colorScheme = this.#onLight() ? "light" : "";
    this.#frame.style.maxWidth = Number(width) ? `${Number(width)}px` : "";
    this.#speaks = false;
    this.#room.replaceChildren(this.#slot);
    if (this.#page) {
      this.#frame.setAttribute("sandbox", "allow-scripts"); // of no origin, which would be that of the page around
      this.#frame.srcdoc = this.#page;
      return this.#room.append(this.#frame);
    }
    const place = this.#place(op);
    const path = place.split("/").map(encodeURIComponent).join("/"); // that of a lesson is lessons/backward
    const file = this.getAttribute("src");
    const src = file ? new URL(file, document.baseURI) : new URL(`embed/${path}`, this.#origin());
    if (file && src.origin === location.origin) this.#frame.removeAttribute("sandbox"); // it would be none
    src.search = new URLSearchParams([...src.searchParams, ...this.#words()]);
    if (place === FREE) this.#showWithCode(this.#frame, src);
    else if (place || file) this.#show(this.#frame, src);
  }

  /** Whether the page is light here though the reader's system may be dark: one that names no colour scheme. */
  #onLight() {
    if (getComputedStyle(this).colorScheme !== "normal") return false;
    for (let each = this; each; each = each.parentElement ?? each.getRootNode().host) {
      const [red, green, blue, alpha = 1] = getComputedStyle(each).backgroundColor.match(/[\d.]+/g).map(Number);
      if (alpha > 0.5) return red + green + blue > 382;
    }
    return true; // so is the canvas below all of it
  }

  #place(op) {
    if (!this.hasAttribute("edit")) return op ?? "";
    const exercise = this.getAttribute("exercise");
    return exercise ? `exercises/${exercise}` : FREE;
  }
  #show(frame, src) {
    frame.src = src;
    this.#room.append(frame);
  }
  async #showWithCode(frame, src) {
    const code = await packed((this.getAttribute("code") ?? this.textContent).trim());
    if (frame === this.#frame) this.#show(frame, `${src}#c=${code}`);
  }

  #changed(names) {
    if (names.has("title")) this.#frame.title = this.title;
    if (names.has("theme") && !this.#speaks) this.#open(); // whoever does not listen yet would not hear of it
    else if (names.has("theme")) this.#tell({ type: "gradloupe:theme", theme: this.getAttribute("theme") ?? "auto" });
    const said = [...names].filter((name) => OTHERS.includes(name) || (name !== "theme" && isWord(name)));
    const moved = said.filter((name) => !DRESS.includes(name)).map((name) => [name, this.getAttribute(name)]);
    if (moved.some(([name, text]) => OTHERS.includes(name) || text === null)) {
      this.#state = this.#owed = null;
      this.#open();
    } else if (said.length > moved.length) {
      this.#owed = { ...this.#state, ...this.#owed, ...Object.fromEntries(moved) };
      this.#open();
    } else if (moved.length > 0) this.state = moved;
  }
  handleEvent({ source, data }) {
    if (!source || source !== this.#frame.contentWindow) return;
    const height = heightIn(data);
    if (height > 0) this.#frame.style.height = `${clamped(height)}px`;
    if (data?.type === "gradloupe:ask") return this.dispatchEvent(new CustomEvent("ask", { detail: data }));
    const said = /^gradloupe:(ready|change|resize|tried)$/.exec(data?.type)?.[1];
    if (!said) return;
    if (said === "tried") return this.#tried(data);
    if (this.#page && !this.#speaks && this.hasAttribute("theme")) this.#tell({ type: "gradloupe:theme", theme: this.getAttribute("theme") });
    this.#slot.hidden = this.#speaks = true;
    this.#state = data.state ?? this.#state;
    const detail = { address: data.address, state: this.state, verdict: data.verdict };
    if (said !== "resize") this.dispatchEvent(new CustomEvent(said, { detail }));
    this.#settle();
  }

  /** Code was graded: the answer note says what is wrong with it, and is "solved" where nothing is. */
  #tried({ note, solved }) {
    for (const said of solved ? ["tried", "solved"] : ["tried"]) {
      this.dispatchEvent(new CustomEvent(said, { detail: { note, solved } }));
    }
  }

  #settle() {
    if (!this.#speaks || !this.#owed) return;
    this.#tell({ type: "gradloupe:state", state: this.#owed });
    this.#owed = null;
  }
  #tell(message) {
    this.#frame.contentWindow?.postMessage(message, "*"); // a sandboxed frame has no origin to name
  }
}

if (!customElements.get(TAG)) customElements.define(TAG, GradLoupe);
