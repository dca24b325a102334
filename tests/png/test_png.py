"""The pictures in pixels and for print: of the size that was asked for, the same everywhere."""

import asyncio
import struct
import zlib
from io import BytesIO

import pytest
from functions.seeds import SEEDS
from pypdf import PdfReader
from support import event_loop, http
from support.event_loop import awaited
from support.sampling import sampled
from support.scenes import MADE_UP, address, frame, made_up

from gradloupe.server.figure.palette import DARK_PALETTE, LIGHT_PALETTE
from gradloupe.server.figure.sheet_svg import preview_svg, print_svg
from gradloupe.server.png.rasterizer import LONGEST_QUEUE, Rasterizer
from gradloupe.server.protocol.errors import EngineBusy


def drawn(*pictures: str, kind: str = "png") -> list[bytes]:
    """These pictures, in this order."""

    async def scene() -> list[bytes]:
        rasterizer = Rasterizer()
        try:
            return [await getattr(rasterizer, kind)(svg) for svg in pictures]
        finally:
            rasterizer.close()

    return event_loop.run(scene())


def chunk(picture: bytes, wanted: bytes) -> bytes:
    """The parts of a PNG of that name, joined."""
    assert picture.startswith(b"\x89PNG\r\n\x1a\n")
    joined, at = b"", 8
    while at < len(picture):
        length, name = struct.unpack_from("!I4s", picture, at)
        joined += picture[at + 8 : at + 8 + length] if name == wanted else b""
        at += length + 12
    return joined


def size(picture: bytes) -> tuple[int, int]:
    width, height = struct.unpack_from("!II", chunk(picture, b"IHDR"))
    return width, height


def corner(picture: bytes) -> str:
    """The colour of the first pixel, which no filter changes."""
    return "#" + zlib.decompress(chunk(picture, b"IDAT"))[1:4].hex()


SMALL = '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>'
SIZES = {"width=600": (600, 315), "width=200&height=150": (200, 150), "width=2400&height=2400": (2400, 2400)}


def test_it_has_the_size_and_the_paper_that_were_asked_for(server: str) -> None:
    for query, wanted in SIZES.items():
        assert size(http.get(f"{server}/ops/exp.png?{query}").content) == wanted
    for theme, palette in (("auto", LIGHT_PALETTE), ("light", LIGHT_PALETTE), ("dark", DARK_PALETTE)):
        assert corner(http.get(f"{server}/ops/exp.png?width=200&theme={theme}").content) == palette["paper"]


@pytest.mark.parametrize("name", sampled(SEEDS))
def test_every_op_has_a_preview(server: str, name: str) -> None:
    picture = http.get(f"{server}/ops/{name}.png").content
    assert size(picture) == (1200, 630)
    assert 10_000 < len(picture) < 150_000


def test_what_cannot_be_drawn_is_left_out() -> None:
    dressed = [(frame(make()), address("overlaid", width=300)) for make in MADE_UP.values()]
    assert {size(each) for each in drawn(*(preview_svg(*each) for each in dressed))} == {(300, 158)}
    for printed in drawn(*(print_svg(*each) for each in dressed), kind="pdf"):
        assert len(PdfReader(BytesIO(printed)).pages) == 1


def test_words_are_set_the_same_every_time_and_so_is_a_title_that_xml_cannot_hold() -> None:
    titles = ("Exponential", "exponential", "−2 ≤ x", "\x00\ud800<&>")
    pictures = [preview_svg(frame(made_up(title=title)), address(width=300)) for title in titles]
    once = drawn(*pictures)
    assert len({*once}) == len(titles)
    assert drawn(*pictures) == once


def test_the_picture_for_print_is_a_page_of_its_size_whose_words_are_text(server: str) -> None:
    answer = http.get(f"{server}/ops/clamp_with_grad.pdf?width=800&height=600")
    assert answer.headers["content-type"] == "application/pdf"
    assert len(answer.content) < 150_000
    printed = PdfReader(BytesIO(answer.content))
    assert printed.metadata is not None
    assert str(printed.metadata.title).startswith("Clamp with grad:")
    (page,) = printed.pages
    assert [float(each) for each in page.mediabox[2:]] == [600, 450]
    words = page.extract_text()
    assert all(each in words for each in ("Clamp with grad", "by design", "grad of input", "Gradloupe"))
    assert not page.images


def test_the_fonts_are_in_the_page_as_far_as_they_are_needed_the_same_every_time() -> None:
    svg = print_svg(frame(made_up()), address())
    once, again = (drawn(svg, kind="pdf") for _ in range(2))
    assert once == again
    (page,) = PdfReader(BytesIO(*once)).pages
    fonts = {str(each.get_object()["/BaseFont"]) for each in page["/Resources"]["/Font"].values()}  # type: ignore[index]
    assert {name.partition("+")[2] for name in fonts if "+" in name} == {
        *("DejaVuSans", "DejaVuSans-Bold", "DejaVuSansMono"),
    }


@awaited
async def test_one_picture_that_many_ask_for_at_once_is_drawn_once_and_too_many_are_refused() -> None:
    rasterizer = Rasterizer()
    pictures = await asyncio.gather(*(rasterizer.png(SMALL) for _ in range(4 * LONGEST_QUEUE)))
    assert len({id(each) for each in pictures}) == 1
    others = (rasterizer.png(SMALL.replace("9", f"{9 + n}")) for n in range(LONGEST_QUEUE + 3))
    refused = [each for each in await asyncio.gather(*others, return_exceptions=True) if isinstance(each, EngineBusy)]
    assert len(refused) == 3
    rasterizer.close()


def test_the_web_goes_on_while_a_picture_is_drawn() -> None:
    """The longest picture there is takes many turns of the event loop, none of which waits for it."""
    largest = preview_svg(frame(made_up()), address(width=2400, height=2400))

    async def scene() -> tuple[float, float]:
        rasterizer = Rasterizer()
        await rasterizer.png(SMALL)
        began = last = asyncio.get_running_loop().time()
        drawing, longest = asyncio.ensure_future(rasterizer.png(largest)), 0.0
        while not drawing.done():
            await asyncio.sleep(0.001)
            longest, last = max(longest, (now := asyncio.get_running_loop().time()) - last), now
        rasterizer.close()
        return longest, last - began

    longest, whole = event_loop.run(scene())
    assert longest < whole / 2
