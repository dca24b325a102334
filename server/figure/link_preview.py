"""The figure as PNG, in the size of a link preview."""

from __future__ import annotations

from ..png.process import render_png
from ..protocol.frames import Frame
from ..url.address import Address
from .sheet_svg import sheet_text

PREVIEW_SIZE = (1200, 630)  # pixels of a link preview (Open Graph)


def figure_png(answer: Frame, address: Address) -> bytes:
    """The picture of ``answer``, light if the theme is "auto"; rasterized in this process, which it blocks."""
    return render_png(preview_svg(answer, address))


def preview_svg(answer: Frame, address: Address) -> str:
    """The SVG from which the PNG is rasterized."""
    theme = "dark" if address.theme == "dark" else "light"
    return sheet_text(answer, address, PREVIEW_SIZE, theme).encode("utf-8", "replace").decode()
