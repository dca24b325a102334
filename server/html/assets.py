"""Static files under addresses with a content hash: our own, those of packages, the one style sheet of each page, and
each script together with all modules that it imports, minified where that has been done.

A server puts a file together when it is first asked for, and everybody can read it. Each module becomes a function that
returns what it exports; the page keeps that by its path, so a module in two files runs once.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from graphlib import TopologicalSorter
from importlib.util import find_spec
from pathlib import Path
from posixpath import dirname, join, normpath, relpath

from ..paths import STATIC
from ..protocol.views import WRITTEN_VIEWS
from ..url.address import PARAMETERS, names_of_scope
from .op_markup import highlight_style_sheet

_OURS = Path(STATIC)
_COMMON = ("base", "components", "contrast", "print")
_FIGURE = ("result", "figure", "reading", "controls")
# In no layer are those that hold over all others, and over the styles that packages bring.
_UNLAYERED = ("contrast", "print", "editor", "docs")
# The files of each kind of page, in order: of two rules of equal specificity the later one holds.
STYLE_SHEETS = {
    "page": _COMMON,
    "gallery": (*_COMMON, *_FIGURE, "cards", "gallery", "no_script"),
    "op": (*_COMMON, *_FIGURE, "views/companion", "prose", "op", "copied", "highlight", "no_script"),
    "embed": (*_COMMON, *_FIGURE, "framed", "embed", "highlight", "no_script"),
    "lesson": (*_COMMON, *_FIGURE, "framed", "lesson", "no_script"),
    "lessons": (*_COMMON, "lessons"),
    "play": (*_COMMON, *_FIGURE, "editor", "play", "copied", "share", "no_script"),
    "exercise": (*_COMMON, *_FIGURE, "editor", "play", "framed", "exercise", "highlight", "no_script"),
    "glossary": (*_COMMON, "glossary"),
    "compare": (*_COMMON, *_FIGURE, "compare", "highlight", "no_script"),
    "compare_choose": (*_COMMON, "compare"),
    "own_file": (*_COMMON, "prose", "op", "copied", "own"),
    "own_function": (*_COMMON, "result", "prose", "op", "copied", "own", "highlight", "no_script"),
    "framed": (*_COMMON, "framed", "embed"),
    "published": (*_COMMON, *_FIGURE, "framed", "embed", "highlight", "prose", "published", "no_script"),
    "published_index": ("cards",),
    "report": ("base", "components", "contrast", "result", "views/contract", "report", "highlight", "print"),
}


_STYLE_COMMENTS = re.compile(r"/\*.*?\*/", re.S)


def style_sheet(page: str) -> bytes:
    """The style sheet of a kind of page, without comments and needless spaces."""
    return b" ".join(_style(name) for name in STYLE_SHEETS[page])


def _style(name: str) -> bytes:
    """One file of a style sheet, in its layer."""
    written = highlight_style_sheet() if name == "highlight" else (_OURS / "css" / f"{name}.css").read_bytes()
    dense = " ".join(_STYLE_COMMENTS.sub("", written.decode()).split())
    return (dense if name in _UNLAYERED else f"@layer page {{ {dense} }}").encode()


SHARED_SCRIPT = "js/figure/live_figure.js"  # what all pages with a figure have in common


_PARAMETERS_SCRIPT = "js/state/parameters.js"


def parameters_script() -> str:
    """The module with the names of an address that say how a section is shown, and what is looked at more closely; the
    views that look at one place, and those that the server writes.
    """
    names: dict[str, Sequence[str]] = {"DRESS": names_of_scope("dress"), "VIEW": names_of_scope("view")}
    names |= {"PLACED": PARAMETERS["at"].views, "WRITTEN": WRITTEN_VIEWS}
    return "".join(f"export const {name} = {json.dumps(found)};\n" for name, found in names.items())


def _source(path: str) -> str:
    return parameters_script() if path == _PARAMETERS_SCRIPT else (_OURS / path).read_text("utf-8")


def bundle(path: str) -> str:
    """A script of ours with all that it imports, but for what it has in common with other pages."""
    return bundled_script(path, _source, SHARED_SCRIPT)


def classic_bundle(path: str) -> str:
    """A script of ours with all that it imports, without comments; no module, which no page on a disk may load."""
    module = bundled_script(path, _source).rpartition("export const")[0]
    return f"(() => {{\n{without_comments(module)}}})();\n"


MINIFIED_FOLDER = Path(sys.prefix, "share", "gradloupe", "scripts")  # what minified_scripts.py has written


def minified_name(script: str) -> str:
    """The name of the minified file of a script, of which it is a digest: another text has another file."""
    return f"{hashlib.blake2b(script.encode(), digest_size=12).hexdigest()}.js"


def _minified(script: str) -> str:
    """``script`` as it was minified, itself where that was another or none."""
    path = MINIFIED_FOLDER / minified_name(script)
    return path.read_text("utf-8") if path.is_file() else script


_COMMENTS = re.compile(r"^\s*(?://.*|/\*\*(?:.|\n)*?\*/)?\n|^[ ]+|(?<=[\])},;]) // .*$", re.M)  # and what is indented


def without_comments(script: str) -> str:
    """A script without comments, and not indented."""
    return _COMMENTS.sub("", script)


_PACKAGE_FILES = {
    "plotly.min.js": ("plotly", "package_data/plotly.min.js"),
    "swagger-ui-bundle.js": ("fastapi_swagger", "resources/swagger-ui-bundle.js"),
    "swagger-ui.css": ("fastapi_swagger", "resources/swagger-ui.css"),
}
# Smaller bundles of plotly.js, where they are installed.
PLOTLY_BUNDLES_FOLDER = Path(sys.prefix, "share", "gradloupe", "plotly")
PLOTLY_BUNDLES = {"curves": "plotly-basic.min.js", "maps": "plotly-cartesian.min.js"}  # by what they can draw
_FULL_PLOTLY = "plotly.min.js"
_EDITOR = Path(sys.prefix, "share", "gradloupe", "editor", "editor.min.js")  # of static/editor, where it is installed
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
        ours = [path for path in _OURS.rglob("*") if path.suffix in _MEDIA_TYPES and path.parent.name != "editor"]
        files = {path.relative_to(_OURS).as_posix(): path for path in ours}
        files |= {name: _inside(*place) for name, place in _PACKAGE_FILES.items()}
        bundles = {name: PLOTLY_BUNDLES_FOLDER / name for name in PLOTLY_BUNDLES.values()}
        bundles[_EDITOR.name] = _EDITOR
        files |= {name: path for name, path in bundles.items() if path.is_file()}
        minified = {path.name: path for path in MINIFIED_FOLDER.glob("*.js")}
        digest = hashlib.blake2b(digest_size=6)
        for page in STYLE_SHEETS:
            digest.update(style_sheet(page))
        digest.update(parameters_script().encode())
        for name, path in sorted((files | minified).items()):
            with path.open("rb") as file:
                digest.update(name.encode() + hashlib.file_digest(file, "blake2b").digest())
        self.digest = digest.hexdigest()
        self._assets = {name: _asset(path) for name, path in files.items()}
        self.scripts = [name for name in files if name.startswith("js/")]
        for name in self.scripts:
            self._assets[name] = Asset(_MEDIA_TYPES[".js"], partial(_script, name))
        for name in files:
            if name.startswith("css/"):
                style = name.removeprefix("css/").removesuffix(".css")
                self._assets[name] = Asset(_MEDIA_TYPES[".css"], partial(_style, style))
        for page in STYLE_SHEETS:
            self._assets[f"pages/{page}.css"] = Asset(_MEDIA_TYPES[".css"], partial(style_sheet, page))

    def address(self, name: str) -> str:
        """The path at which a file is served; raises ``KeyError`` for one that does not exist."""
        if name not in self._assets:
            raise KeyError(f"there is no static file {name}")
        return f"/static/{self.digest}/{name}"

    @property
    def widget(self) -> str:
        """The element as a module in the form of anywidget."""
        return "".join(self.read(f"element/{name}.js").decode() for name in ("grad-loupe", "widget"))

    def classic_script(self, path: str) -> str:
        """A script of ours with all that it imports; no module, which no page on a disk may load."""
        return _minified(classic_bundle(path))

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

    @property
    def editor(self) -> str:
        """The address of the code editor, a module; "" where it is not installed."""
        return self.address(_EDITOR.name) if _EDITOR.name in self._assets else ""


def _script(path: str) -> bytes:
    return _minified(bundle(path)).encode()


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


_IMPORT = re.compile(r'^import (\{[^}]*\}) from "(\.{1,2}/[\w./-]+)";$', re.M)
_EXPORT = re.compile(r"^export (?=(?:class|const|(?:async )?function) (\w+))", re.M)
_LATER = re.compile(r'\bimport\("(\.{1,2}/[\w./-]+)"\)')
_OTHER_FORM = re.compile(r"^(?:import|export)\b.*", re.M)


def bundled_script(entry: str, read: Callable[[str], str], shared: str = "") -> str:
    """The module ``entry`` with all that it imports, those imported dynamically aside; ``read`` gives a source by path.

    Where that contains the module ``shared``, the file imports the file of that one, which other pages have as well.
    Raises ``ValueError`` for a circle of imports, and for an import or export in a form that is not understood.
    """
    modules = _with_imports(entry, read)
    lines = ["const modules = (globalThis.gradloupeModules ??= {});"]
    if shared in modules and shared != entry:
        lines.insert(0, f'import "{_relative(shared, entry)}";')
        for module in _with_imports(shared, read):
            del modules[module]
    lines += [_as_function(module, source, entry) for module, source in modules.items()]
    exported = ", ".join(_EXPORT.findall(modules[entry]))
    return "\n".join([*lines, f'export const {{ {exported} }} = modules["{entry}"];', ""])


def _with_imports(entry: str, read: Callable[[str], str]) -> dict[str, str]:
    """The sources of a module and of all that it imports by path, each after those that it imports."""
    sources: dict[str, str] = {}
    graph: dict[str, list[str]] = {}
    wanted = [entry]
    while wanted:
        module = wanted.pop()
        if module not in graph:
            sources[module] = read(module)
            graph[module] = [_resolved(module, name) for _, name in _IMPORT.findall(sources[module])]
            wanted += graph[module]
    return {module: sources[module] for module in TopologicalSorter(graph).static_order()}


def _as_function(module: str, source: str, entry: str) -> str:
    """A statement that runs a module where none has; its dynamic imports are relative to ``entry``."""
    source = _LATER.sub(lambda found: f'import("{_relative(_resolved(module, found[1]), entry)}")', source)
    names = ", ".join(_EXPORT.findall(source))
    source = _EXPORT.sub("", source)
    source = _IMPORT.sub(lambda found: _destructured(found[1], _resolved(module, found[2])), source)
    if other := _OTHER_FORM.search(source):
        raise ValueError(
            f'{module}: {other[0]}: write import {{ name }} from "./module.js"; or export const, function or class'
        )
    return f'modules["{module}"] ??= (() => {{\n{source}\nreturn {{ {names} }};\n}})();'


def _destructured(names: str, module: str) -> str:
    return f'const {names.replace(" as ", ": ")} = modules["{module}"];'


def _resolved(module: str, name: str) -> str:
    """The path to which a relative specifier in a module resolves."""
    return normpath(join(dirname(module), name))


def _relative(module: str, entry: str) -> str:
    path = relpath(module, dirname(entry))
    return path if path.startswith("..") else f"./{path}"
