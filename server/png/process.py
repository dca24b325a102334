"""The rasterizer process: reads SVG on stdin, writes PNG or PDF on stdout, length-prefixed, until stdin is closed."""

from __future__ import annotations

import os
import signal
import struct
import sys
import traceback
from collections.abc import Iterator
from contextlib import suppress
from typing import IO

from ..paths import FONTS
from .pdf_document import render_pdf

PNG, PDF = b"n", b"d"  # what is made of the SVG behind it
LENGTH_PREFIX = struct.Struct("!I")  # how many bytes follow
_MAX_SECONDS = 15  # seconds for a picture, after which the process ends itself, should its parent be gone
_NICENESS = 5
FACE_FILES = [os.path.join(FONTS, face) for face in ("DejaVuSans.ttf", "DejaVuSans-Bold.ttf", "DejaVuSansMono.ttf")]


def main() -> None:
    """Answer each SVG with its picture; with an empty one where it could not be drawn."""
    os.nice(_NICENESS)  # a lower priority than that of the server
    with suppress(BrokenPipeError), os.fdopen(os.dup(1), "wb", 0) as outgoing:
        os.dup2(2, 1)
        for order in _orders(sys.stdin.buffer):
            signal.alarm(_MAX_SECONDS)
            picture = _drawn(order)
            signal.alarm(0)
            _send(outgoing, LENGTH_PREFIX.pack(len(picture)) + picture)


def render_png(svg: str) -> bytes:
    """The PNG of a picture, the same on every machine."""
    from resvg_py import svg_to_bytes  # takes as long to load as a page to be served

    return bytes(
        svg_to_bytes(
            svg_string=svg,
            skip_system_fonts=True,
            font_files=FACE_FILES,
            font_family="DejaVu Sans",
            sans_serif_family="DejaVu Sans",
            monospace_family="DejaVu Sans Mono",
        )
    )


def _orders(incoming: IO[bytes]) -> Iterator[bytes]:
    """What is to be drawn, from ``incoming`` until it is closed; an incomplete order is dropped."""
    while len(prefix := incoming.read(LENGTH_PREFIX.size)) == LENGTH_PREFIX.size:
        (length,) = LENGTH_PREFIX.unpack(prefix)
        if len(order := incoming.read(length)) < length:
            return
        yield order


def _drawn(order: bytes) -> bytes:
    kind, svg = order[:1], order[1:].decode()
    try:
        return render_pdf(svg, FACE_FILES) if kind == PDF else render_png(svg)
    except Exception:  # noqa: BLE001 - a bad picture must not end the process
        traceback.print_exc()
        return b""


def _send(outgoing: IO[bytes], message: bytes) -> None:
    rest = memoryview(message)
    while rest:
        rest = rest[outgoing.write(rest) :]


if __name__ == "__main__":
    main()
