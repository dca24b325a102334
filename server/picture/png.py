"""The figure in pixels."""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from pathlib import Path

from ..address import Address
from ..frames import Frame
from .svg import written

SIZE = (1200, 630)  # what previews of links are made for
FACES = ("DejaVuSans.ttf", "DejaVuSans-Bold.ttf", "DejaVuSansMono.ttf")


def png(answer: Frame, address: Address) -> bytes:
    """The picture of ``answer``, light if the theme is "auto"; the same on every machine."""
    from resvg_py import svg_to_bytes  # loads in the time of a page

    theme = "dark" if address.theme == "dark" else "light"
    return bytes(
        svg_to_bytes(
            svg_string=written(answer, address, SIZE, theme).encode("utf-8", "replace").decode(),
            skip_system_fonts=True,
            font_files=[*fonts()],
            font_family="DejaVu Sans",
            sans_serif_family="DejaVu Sans",
            monospace_family="DejaVu Sans Mono",
        )
    )


@cache
def fonts() -> tuple[str, ...]:
    """The files of the faces; raises ``FileNotFoundError`` where matplotlib, which brings them, is not installed."""
    found = find_spec("matplotlib")
    folders = found.submodule_search_locations if found else None
    if not folders:
        raise FileNotFoundError("matplotlib, whose fonts the pictures are set in, is not installed")
    return tuple(str(Path(folders[0], "mpl-data", "fonts", "ttf", face)) for face in FACES)
