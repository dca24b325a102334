"""The figure as PNG, in the size of a link preview."""

from __future__ import annotations

from ..png.process import pixels
from ..protocol.frames import Frame
from ..url.address import Address
from .sheet_svg import written

SIZE = (1200, 630)  # pixels of a link preview (Open Graph)


def png(answer: Frame, address: Address) -> bytes:
    """The picture of ``answer``, light if the theme is "auto"; rasterized in this process, which it blocks."""
    return pixels(preview(answer, address))


def preview(answer: Frame, address: Address) -> str:
    """The SVG from which the PNG is rasterized."""
    theme = "dark" if address.theme == "dark" else "light"
    return written(answer, address, SIZE, theme).encode("utf-8", "replace").decode()
