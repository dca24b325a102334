"""The scripts and styles of a page as inline text, so that it needs no other file; a Content Security Policy admits
just these texts.
"""

import gzip
import hashlib
import re
from base64 import b64encode

from markupsafe import Markup

from .assets import EMPTY_STYLE_HASH

_UNPACK = """async function unpacked(text) {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const code = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  const blob = new Blob([await new Response(code).arrayBuffer()], { type: "text/javascript" });
  const script = Object.assign(document.createElement("script"), { src: URL.createObjectURL(blob) });
  return new Promise((resolve, reject) => {
    Object.assign(script, { onload: () => resolve(window.Plotly), onerror: reject });
    document.head.append(script);
  });
}"""


def build_bundle(dress: str, library: str, entry: str, sheet: str) -> dict[str, Markup]:
    """The contents of the script and style elements of a page by name, and its Content Security ``policy``.

    ``dress`` runs before the page is seen, ``library`` draws and may be empty, ``entry`` runs at last. The library is
    gzipped, which leaves less than half of it.
    """
    packed = b64encode(gzip.compress(library.encode(), mtime=0)).decode()
    library = f'{_UNPACK}\nwindow.plotlyUnpacked = unpacked("{packed}");' if library else ""
    scripts = {name: inline_script(each) for name, each in (("dress", dress), ("library", library), ("entry", entry))}
    admitted = " ".join(["blob:"] * bool(library) + [csp_hash(each) for each in scripts.values() if each])
    policy = (
        f"default-src 'none'; script-src {admitted}; style-src {EMPTY_STYLE_HASH} {csp_hash(sheet)}; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'"
    )
    return {**scripts, "style": Markup(sheet), "policy": Markup(policy)}  # noqa: S704 - our own files


def inline_script(script: str) -> Markup:
    """``script`` escaped for a script element: nothing in it ends the element or opens an HTML comment."""
    escaped = re.sub(r"</(?=script)", r"<\\/", script, flags=re.IGNORECASE).replace("<!--", r"\x3c!--")
    return Markup(escaped)  # noqa: S704 - our own files


def csp_hash(text: str) -> str:
    """The source expression of an inline script or style in a Content Security Policy."""
    return f"'sha256-{b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
