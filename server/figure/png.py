"""The figure in pixels."""

from __future__ import annotations

from ..png.process import pixels
from ..protocol.frames import Frame
from ..url.address import Address
from .sheet_svg import written

SIZE = (1200, 630)  # what the preview of a link is


def png(answer: Frame, address: Address) -> bytes:
    """The picture of ``answer``, light if the theme is "auto"; meanwhile, nothing else runs in this process."""
    return pixels(preview(answer, address))


def preview(answer: Frame, address: Address) -> str:
    """The SVG that ``png`` is made of."""
    theme = "dark" if address.theme == "dark" else "light"
    return written(answer, address, SIZE, theme).encode("utf-8", "replace").decode()
