"""PNG and PDF of SVG, drawn by typst in a thread: it does not hold the interpreter meanwhile."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import Literal
from xml.etree import ElementTree

from ..paths import FONTS
from ..protocol.errors import EngineBusy

LONGEST_QUEUE = 8  # budget: pictures in the queue at most; the largest take a tenth of a second each
_SVG = "{http://www.w3.org/2000/svg}"
_PAGE = b"""#set document(title: sys.inputs.title, description: sys.inputs.description, author: "Gradloupe", date: none)
#set page(width: auto, height: auto, margin: 0pt)
#image(bytes(sys.inputs.svg), format: "svg")
"""


class Rasterizer:
    """Makes PNG and PDF of SVG, one at a time. To be used in one event loop."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, "rasterizer")
        self._pending: dict[tuple[str, str], asyncio.Future[bytes]] = {}

    async def png(self, svg: str) -> bytes:
        """The pixels of a picture, drawn once for all who ask for it at the same time.

        Raises ``EngineBusy`` when too many wait.
        """
        return await self._once("png", svg)

    async def pdf(self, svg: str) -> bytes:
        """The picture as a document of one page, whose words are text; the same holds for it as for ``png``."""
        return await self._once("pdf", svg)

    def close(self) -> None:
        """Draw no more than what is being drawn."""
        self._thread.shutdown(wait=False, cancel_futures=True)

    async def _once(self, kind: Literal["png", "pdf"], svg: str) -> bytes:
        order = kind, svg
        if (drawing := self._pending.get(order)) is None:
            if len(self._pending) >= LONGEST_QUEUE:
                raise EngineBusy
            drawing = asyncio.get_running_loop().run_in_executor(self._thread, drawn, kind, svg)
            self._pending[order] = drawing
            drawing.add_done_callback(lambda _: self._pending.pop(order))
        try:
            return await asyncio.shield(drawing)
        except asyncio.CancelledError:
            if drawing.cancelled():  # the server is ending
                raise EngineBusy from None
            raise


def drawn(kind: Literal["png", "pdf"], svg: str) -> bytes:
    """The picture, the same on every machine: 96 pixels are 72 points."""
    import typst  # takes as long to load as a page to be served

    root = ElementTree.fromstring(svg)  # noqa: S314 - it is our own: what users write is escaped in it
    said = {name: root.findtext(_SVG + tag) or "" for name, tag in (("title", "title"), ("description", "desc"))}
    fonts = typst.Fonts(include_system_fonts=False, include_embedded_fonts=False, font_paths=[FONTS])
    return typst.compile(_PAGE, format=kind, ppi=96.0, sys_inputs={"svg": svg, **said}, font_paths=fonts)
