"""The style sheet of each kind of page, concatenated from the files in static/css."""

from __future__ import annotations

from pathlib import Path

from ..paths import STATIC
from .highlight import highlight_style_sheet

_FOLDER = Path(STATIC, "css")
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
        highlight_style_sheet() if name == "highlight" else (_FOLDER / f"{name}.css").read_bytes()
        for name in STYLE_SHEETS[page]
    )
