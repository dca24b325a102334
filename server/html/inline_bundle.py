"""Our modules and styles in one text, so that a page needs no other file: no build step, an import map instead."""

from __future__ import annotations

import gzip
import hashlib
import re
from base64 import b64encode
from dataclasses import dataclass, replace

import orjson
from markupsafe import Markup

from .assets import EMPTY_STYLE, Assets, bare, needed

UNPACK = """async function unpacked(text) {
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
    """What stands between the tags of a page without other files, and the policy that admits just that."""

    modules: Markup
    library: Markup
    entry: Markup
    style: Markup
    policy: str


def bundle(assets: Assets, entry: str, library: str, style: str) -> Bundle:
    """``entry`` is a module, ``library`` a script and ``style`` a style sheet, by the names of static files."""
    scripts = _map(assets, entry), _escaped(assets.read(library).decode()), f'import "{entry}";'
    sheet = assets.read(style).decode()
    policy = {
        "default-src": ["'none'"],
        "script-src": ["data:", *map(_hash, scripts)],
        "style-src": [EMPTY_STYLE, _hash(sheet)],
        "img-src": ["data:", "blob:"],
        "base-uri": ["'none'"],
        "form-action": ["'none'"],
    }
    said = "; ".join(" ".join([name, *sources]) for name, sources in policy.items())
    modules, plotly, start = map(Markup, scripts)
    return Bundle(modules, plotly, start, Markup(sheet), said)  # noqa: S704 - our own files


def smaller(whole: Bundle) -> Bundle:
    """The same with its library packed: a third of it, for where many such pages lie in one document."""
    if not whole.library:
        return whole
    packed = b64encode(gzip.compress(str(whole.library).encode(), mtime=0)).decode()
    script = f'{UNPACK}\nwindow.plotlyUnpacked = unpacked("{packed}");'
    policy = whole.policy.replace(_hash(str(whole.library)), f"blob: {_hash(script)}")
    return replace(whole, library=Markup(script), policy=policy)  # noqa: S704 - letters and digits


def _map(assets: Assets, entry: str) -> str:
    """The import map with every module that ``entry`` needs, each under its bare name."""
    found = {}
    for name in sorted({entry, *needed(assets, entry)}):
        source = bare(assets.read(name).decode(), name)
        found[name] = f"data:text/javascript;base64,{b64encode(source.encode()).decode()}"
    return orjson.dumps({"imports": found}).decode()


def _escaped(script: str) -> str:
    """``script`` as it may stand in a page: nothing in it ends it, or looks like a comment of HTML."""
    return re.sub(r"</(?=script)", r"<\\/", script, flags=re.IGNORECASE).replace("<!--", r"\x3c!--")


def _hash(text: str) -> str:
    return f"'sha256-{b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
