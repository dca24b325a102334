"""The style sheet of each kind of page, concatenated from the files in static/css."""

from __future__ import annotations

from pathlib import Path

from ..paths import STATIC
from .highlight import colours

FOLDER = Path(STATIC, "css")
COMMON = ("base", "contrast", "print")
FIGURE = ("result", "figure", "controls")
# The files of each kind of page, in order: of two rules of equal specificity the later one holds.
SHEETS = {
    "page": COMMON,
    "gallery": (*COMMON, "gallery"),
    "op": (*COMMON, *FIGURE, "views/companion", "op", "highlight", "no_script"),
    "embed": (*COMMON, *FIGURE, "embed", "highlight", "no_script"),
    "compare": (*COMMON, *FIGURE, "compare", "highlight", "no_script"),
    "compare_choose": (*COMMON, "compare"),
    "own_file": (*COMMON, "op", "own"),
    "own_function": (*COMMON, "result", "op", "own", "highlight", "no_script"),
    "framed": (*COMMON, "embed"),
    "export": ("base", "contrast", *FIGURE, "op", "highlight", "export", "print"),
    "report": ("base", "contrast", "result", "views/contract", "report", "highlight", "print"),
}


def style_sheet(page: str) -> bytes:
    """The style sheet of a kind of page."""
    return b"".join(
        colours() if name == "highlight" else (FOLDER / f"{name}.css").read_bytes() for name in SHEETS[page]
    )
