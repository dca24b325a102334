"""A figure as files: beside the scripts that all share, or as one that holds everything."""

import re
from collections.abc import Collection
from functools import cache
from urllib.parse import quote

from markupsafe import Markup

from ..documents.csv_table import csv_table
from ..documents.json_document import json_document
from ..figure.drawn_section import without_hidden
from ..figure.sheet_svg import figure_svg
from ..html.assets import EMPTY_STYLE_HASH, Assets, style_sheet, without_comments
from ..html.inline_bundle import build_bundle
from ..html.pages import Pages, SectionPage
from ..url.address import canonical_address, curves_only, without_display_options
from .figure import Figure

SHARED = "gradloupe"  # the folder of what all figures share
SITE_POLICY = (
    f"default-src 'none'; script-src 'self'; style-src 'self' {EMPTY_STYLE_HASH}; img-src 'self' data: blob:; "
    "frame-src 'self'; base-uri 'none'; form-action 'none'"
)
_DRESS, _SCRIPT, _INDEX = (f"js/published/{name}.js" for name in ("dress", "figure", "index"))
_STYLE, _ELEMENT = "published", "grad-loupe.js"
_PLAIN = re.compile(r"[^\w.-]+|^\.+")


def shared_files() -> dict[str, bytes]:
    """What all figures of a folder share, by path: plotly.js, two scripts, a style sheet, the element."""
    assets = Assets.shared()
    element = without_comments(assets.read(f"element/{_ELEMENT}").decode())
    return {
        f"{SHARED}/{_library()}": assets.read(_library()),
        f"{SHARED}/dress.js": assets.classic_script(_DRESS).encode(),
        f"{SHARED}/figure.js": assets.classic_script(_SCRIPT).encode(),
        f"{SHARED}/index.js": assets.classic_script(_INDEX).encode(),
        f"{SHARED}/figure.css": style_sheet(_STYLE),
        f"{SHARED}/index.css": style_sheet(f"{_STYLE}_index"),
        # No module, which other sites may load from some hosts alone.
        _ELEMENT: f"{{\n{element.replace('import.meta.url', 'document.baseURI')}}}\n".encode(),
    }


def figure_files(figure: Figure, name: str, page: bool = False) -> dict[str, bytes]:
    """The files of one figure, by path: its frame ``NAME.html``, and in the folder ``NAME`` sections, picture, numbers.

    ``name`` may begin with folders. ``page`` says that the folder gets a page, to which the frame has a link.
    """
    up, last = "../" * name.count("/"), name.rpartition("/")[2]
    folder, page_of = quote(last), f"{quote(last)}/index.html" if page else ""
    linked = {"shared": f"{up}{SHARED}", "sections": f"{folder}/sections.js", "page": page_of, "policy": SITE_POLICY}
    linked["library"] = f"{up}{SHARED}/{_library()}"
    answer, plain = figure.answer, without_display_options(curves_only(figure.address))
    numbers = json_document(answer, canonical_address(figure.op, plain))
    return {
        f"{name}.html": _frame(figure, linked=linked),
        f"{name}/sections.js": f"globalThis.gradloupeSections = {figure.sections};\n".encode(),
        f"{name}/{last}.svg": figure_svg(answer, plain),
        f"{name}/{last}.json": numbers,
        f"{name}/{last}.csv": csv_table(answer),
    }


def one_file(figure: Figure, still: bool = False, kernel: bool = False) -> bytes:
    """The figure as one file of HTML that asks for nothing; with a ``kernel`` the page around it is asked.

    A ``still`` one is not zoomed, and has no plotly.js.
    """
    return _frame(figure, inline=_inline(still), kernel=kernel)


def file_names(names: Collection[str]) -> dict[str, str]:
    """A name for the files of each Function: without signs that a host may refuse, and no two alike but for case."""
    taken, found = {SHARED, "index", "lessons", "exercises"}, dict[str, str]()
    for name in names:
        plain = _PLAIN.sub("-", name).strip("-.") or "function"
        chosen, number = plain, 2
        while chosen.lower() in taken:
            chosen, number = f"{plain}-{number}", number + 1
        taken.add(chosen.lower())
        found[name] = chosen
    return found


def _library() -> str:
    return Assets.shared().plotly("curves").rpartition("/")[2]


def _frame(
    figure: Figure, inline: dict[str, Markup] | None = None, linked: dict[str, str] | None = None, kernel: bool = False
) -> bytes:
    address = canonical_address(figure.op, without_display_options(curves_only(figure.address)))
    answer = without_hidden(figure.answer, figure.address.hide)
    shown = (figure.op, figure.device, figure.address, address, answer, "")
    view = SectionPage(*shown, beside=figure.beside, remark=figure.remark, held=figure.held)
    sections = (figure.sections if inline and not kernel else figure.first).replace("<", "\\u003c")
    context = {"axes": figure.axes, "sections": sections, "inline": inline, "linked": linked, "kernel": kernel}
    context["proof"] = figure.proof
    return Pages.shared().published("figure", view, **context)


@cache
def _inline(still: bool) -> dict[str, Markup]:
    assets = Assets.shared()
    library = "" if still else assets.read(_library()).decode()
    dress, entry = assets.classic_script(_DRESS), assets.classic_script(_SCRIPT)
    return build_bundle(dress, library, entry, style_sheet(_STYLE).decode())
