"""The scripts and styles of a page as inline text, so that it needs no other file; a Content Security Policy admits
just these texts.
"""

from __future__ import annotations

import gzip
import hashlib
import re
from base64 import b64encode
from dataclasses import dataclass, replace

from markupsafe import Markup

from .assets import EMPTY_STYLE_HASH, Assets, whole_script

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


@dataclass(frozen=True)
class Bundle:
    """The contents of the script and style elements of a page, and its Content Security Policy."""

    library: Markup
    entry: Markup
    style: Markup
    policy: str


def build_bundle(assets: Assets, entry: str, library: str, style: str) -> Bundle:
    """The bundle of a module ``entry``, a script ``library`` and a style sheet ``style``, names of static files."""
    scripts = [_escaped(each.decode()) for each in (assets.read(library), whole_script(entry))]
    sheet = assets.read(style).decode()
    policy = {
        "default-src": ["'none'"],
        "script-src": list(map(csp_hash, scripts)),
        "style-src": [EMPTY_STYLE_HASH, csp_hash(sheet)],
        "img-src": ["data:", "blob:"],
        "base-uri": ["'none'"],
        "form-action": ["'none'"],
    }
    said = "; ".join(" ".join([name, *sources]) for name, sources in policy.items())
    plotly, start = map(Markup, scripts)
    return Bundle(plotly, start, Markup(sheet), said)  # noqa: S704 - our own files


def with_gzipped_library(whole: Bundle) -> Bundle:
    """The bundle with its library gzipped, a third of the size, for documents that hold many such pages."""
    if not whole.library:
        return whole
    packed = b64encode(gzip.compress(str(whole.library).encode(), mtime=0)).decode()
    script = f'{_UNPACK}\nwindow.plotlyUnpacked = unpacked("{packed}");'
    policy = whole.policy.replace(csp_hash(str(whole.library)), f"blob: {csp_hash(script)}")
    return replace(whole, library=Markup(script), policy=policy)  # noqa: S704 - letters and digits


def _escaped(script: str) -> str:
    """``script`` escaped for a script element: nothing in it ends the element or opens an HTML comment."""
    return re.sub(r"</(?=script)", r"<\\/", script, flags=re.IGNORECASE).replace("<!--", r"\x3c!--")


def csp_hash(text: str) -> str:
    """The source expression of an inline script or style in a Content Security Policy."""
    return f"'sha256-{b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
