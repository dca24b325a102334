"""Static files under addresses with a content hash: our own, those of packages, the style sheet of each page."""

from __future__ import annotations

import hashlib
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from importlib.util import find_spec
from pathlib import Path
from posixpath import dirname, join, normpath

from ..paths import STATIC
from .op_markup import highlight_style_sheet

_OURS = Path(STATIC)
_COMMON = ("base", "contrast", "print")
_FIGURE = ("result", "figure", "controls")
# The files of each kind of page, in order: of two rules of equal specificity the later one holds.
STYLE_SHEETS = {
    "page": _COMMON,
    "gallery": (*_COMMON, "gallery"),
    "op": (*_COMMON, *_FIGURE, "views/companion", "op", "highlight", "no_script"),
    "embed": (*_COMMON, *_FIGURE, "embed", "highlight", "no_script"),
    "compare": (*_COMMON, *_FIGURE, "compare", "highlight", "no_script"),
    "compare_choose": (*_COMMON, "compare"),
    "own_file": (*_COMMON, "op", "own"),
    "own_function": (*_COMMON, "result", "op", "own", "highlight", "no_script"),
    "framed": (*_COMMON, "embed"),
    "export": ("base", "contrast", *_FIGURE, "op", "highlight", "export", "print"),
    "report": ("base", "contrast", "result", "views/contract", "report", "highlight", "print"),
}


def style_sheet(page: str) -> bytes:
    """The style sheet of a kind of page."""
    return b"".join(
        highlight_style_sheet() if name == "highlight" else (_OURS / "css" / f"{name}.css").read_bytes()
        for name in STYLE_SHEETS[page]
    )


# Static and dynamic imports of relative paths; a parenthesis before the name is that of a dynamic one.
_IMPORT = re.compile(r"""(\b(?:from|import)\s*)(\(?)(\s*["'])(\.{1,2}/[\w./-]+)(?=["'])""")


def imported_modules(assets: Assets, entry: str) -> list[str]:
    """The paths of all modules that ``entry`` imports, directly or not, without those imported dynamically."""
    found: list[str] = []
    wanted = [entry]
    while wanted:
        module = wanted.pop()
        for _, later, _, name in _IMPORT.findall(assets.read(module).decode()):
            path = _resolved(module, name)
            if not later and path not in found:
                found.append(path)
                wanted.append(path)
    return sorted(found)


def with_bare_imports(source: str, module: str) -> str:
    """The source of a module with bare specifiers in its imports, ``js/x.js`` for ``../x.js``."""
    return _IMPORT.sub(lambda found: "".join(found.group(1, 2, 3)) + _resolved(module, found[4]), source)


def _resolved(module: str, name: str) -> str:
    """The path to which a relative specifier in a module resolves."""
    return normpath(join(dirname(module), name))


_PACKAGE_FILES = {
    "plotly.min.js": ("plotly", "package_data/plotly.min.js"),
    "swagger-ui-bundle.js": ("fastapi_swagger", "resources/swagger-ui-bundle.js"),
    "swagger-ui.css": ("fastapi_swagger", "resources/swagger-ui.css"),
}
# Smaller bundles of plotly.js, where they are installed.
PLOTLY_BUNDLES_FOLDER = Path(sys.prefix, "share", "gradloupe", "plotly")
PLOTLY_BUNDLES = {"curves": "plotly-basic.min.js", "maps": "plotly-cartesian.min.js"}  # by what they can draw
_FULL_PLOTLY = "plotly.min.js"
_MEDIA_TYPES = {  # not from `mimetypes`, whose answers depend on the system
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".woff2": "font/woff2",
}


@dataclass(frozen=True)
class Asset:
    """One file: its media type, how to read it, and the path of its brotli version, if there is one beside it."""

    media_type: str
    read: Callable[[], bytes]
    ready: Path | None = None


class Assets:
    """Every static file by its path, and one digest of all, which is part of their addresses."""

    @classmethod
    @cache
    def shared(cls) -> Assets:
        """Those of this process, read and compressed once however many apps it serves."""
        return cls()

    def __init__(self) -> None:
        files = {path.relative_to(_OURS).as_posix(): path for path in _OURS.rglob("*") if path.suffix in _MEDIA_TYPES}
        files |= {name: _inside(*place) for name, place in _PACKAGE_FILES.items()}
        bundles = {name: PLOTLY_BUNDLES_FOLDER / name for name in PLOTLY_BUNDLES.values()}
        files |= {name: path for name, path in bundles.items() if path.is_file()}
        digest = hashlib.blake2b(digest_size=6)
        for page in STYLE_SHEETS:
            digest.update(style_sheet(page))
        for name, path in sorted(files.items()):
            with path.open("rb") as file:
                digest.update(name.encode() + hashlib.file_digest(file, "blake2b").digest())
        self.digest = digest.hexdigest()
        self._assets = {name: _asset(path) for name, path in files.items()}
        for page in STYLE_SHEETS:
            self._assets[f"pages/{page}.css"] = Asset(_MEDIA_TYPES[".css"], partial(style_sheet, page))

    def address(self, name: str) -> str:
        """The path at which a file is served; raises ``KeyError`` for one that does not exist."""
        if name not in self._assets:
            raise KeyError(f"there is no static file {name}")
        return f"/static/{self.digest}/{name}"

    def find(self, name: str) -> Asset | None:
        """The file of this name, None when there is none."""
        return self._assets.get(name)

    def read(self, name: str) -> bytes:
        return self._assets[name].read()

    def media_type(self, name: str) -> str:
        return self._assets[name].media_type

    def plotly(self, kind: str) -> str:
        """The address of a plotly.js that draws "curves" or "maps": a partial bundle if installed, else all of it."""
        return self.address(PLOTLY_BUNDLES[kind] if PLOTLY_BUNDLES[kind] in self._assets else _FULL_PLOTLY)


def _asset(path: Path) -> Asset:
    ready = path.with_name(f"{path.name}.br")
    return Asset(_MEDIA_TYPES[path.suffix], path.read_bytes, ready if ready.is_file() else None)


def _inside(package: str, path: str) -> Path:
    """A file of an installed package, without importing it."""
    spec = find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise FileNotFoundError(f"the package {package} is not installed; pip install {package.replace('_', '-')}")
    return Path(spec.submodule_search_locations[0]) / path


EMPTY_STYLE_HASH = "'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='"  # plotly.js fills it through the CSSOM
