"""The picture in pixels: of the size that was asked for, the same everywhere."""

from __future__ import annotations

import struct
import subprocess
import sys
import zlib
from typing import Any

import pytest
from functions.seeds import SEEDS
from support.sampling import sampled
from support.scenes import MADE_UP, address, document, frame, made_up

from gradloupe.server.figure import DARK_PALETTE, LIGHT_PALETTE, preview_svg
from gradloupe.server.png.process import render_png


def figure_png(*arguments: Any) -> bytes:
    return render_png(preview_svg(*arguments))


def chunks(picture: bytes) -> dict[bytes, bytes]:
    """The parts of a PNG by their names, those of one name joined."""
    assert picture.startswith(b"\x89PNG\r\n\x1a\n")
    found: dict[bytes, bytes] = {}
    at = 8
    while at < len(picture):
        length, name = struct.unpack_from("!I4s", picture, at)
        found[name] = found.get(name, b"") + picture[at + 8 : at + 8 + length]
        at += length + 12
    return found


def size(picture: bytes) -> tuple[int, int]:
    width, height = struct.unpack_from("!II", chunks(picture)[b"IHDR"])
    return width, height


def corner(picture: bytes) -> str:
    """The colour of the first pixel, which no filter changes."""
    return "#" + zlib.decompress(chunks(picture)[b"IDAT"])[1:4].hex()


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ({}, (1200, 630)),
        ({"width": 600}, (600, 315)),
        ({"width": 200, "height": 150}, (200, 150)),
        ({"width": 2400, "height": 2400}, (2400, 2400)),
    ],
)
def test_it_has_the_size_that_was_asked_for(given: dict[str, int], wanted: tuple[int, int]) -> None:
    assert size(figure_png(frame(made_up()), address(**given))) == wanted


@pytest.mark.parametrize("name", sampled(SEEDS))
def test_every_op_has_a_preview(server: str, name: str) -> None:
    picture = figure_png(frame(document(server, f"/ops/{name}.json")), address())
    assert size(picture) == (1200, 630)
    assert 10_000 < len(picture) < 150_000


@pytest.mark.parametrize("name", MADE_UP)
def test_what_cannot_be_drawn_is_left_out(name: str) -> None:
    assert size(figure_png(frame(MADE_UP[name]()), address("overlaid", width=300))) == (300, 158)


@pytest.mark.parametrize(
    ("theme", "paper"), [("auto", LIGHT_PALETTE), ("light", LIGHT_PALETTE), ("dark", DARK_PALETTE)]
)
def test_a_theme_has_its_paper(theme: str, paper: Any) -> None:
    assert corner(figure_png(frame(made_up()), address(theme=theme))) == paper["paper"]


def test_it_is_the_same_every_time() -> None:
    assert figure_png(frame(made_up()), address()) == figure_png(frame(made_up()), address())


def test_words_are_set() -> None:
    written = {
        figure_png(frame(made_up(title=title)), address(width=300))
        for title in ("Exponential", "exponential", "−2 ≤ x")
    }
    assert len(written) == 3


def test_a_title_that_xml_cannot_hold_is_drawn() -> None:
    assert size(figure_png(frame(made_up(title="\x00\ud800<&>")), address())) == (1200, 630)


def test_what_makes_pixels_is_not_loaded_before_it_is_needed() -> None:
    program = "import gradloupe.server.app, gradloupe.server.png.process, sys; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    assert not {"numpy", "resvg_py"} & set(loaded)
