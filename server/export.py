"""The figure as one file that needs no server: its sliders live on answers that were computed beforehand."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import orjson

from .address import Address, canonical, defaults, texts
from .answers import Answers, Gone
from .assets import Assets
from .bundle import Bundle, bundle
from .engine import Answer, EngineBusy
from .number import BadQuery
from .packed import packed
from .pages import Pages, View
from .pool import Pool, expected
from .sliders import Axis, at, axes, number, sample, sections

LARGEST = 32 * 2**20  # bytes of answers in one file
SECONDS = 60  # for all the sections of one file
PAUSE = 0.1  # seconds until a question is asked again that there was no room for
TOGETHER = 2  # files in the making
SAMPLES = 64  # sections from which the size of a file is told
SHEETS = (
    *("style", "marks", "op", "verdict", "source", "figure", "still", "controls", "values", "narrow"),
    *("highlight", "contrast", "export"),
)


class Exports:
    """Writes the files, and tells beforehand how large they will be."""

    def __init__(self, answers: Answers, pages: Pages, assets: Assets) -> None:
        self._answers, self._pages, self._assets = answers, pages, assets
        self._bundle: Bundle | None = None
        self._making = 0

    async def size(self, op: dict[str, Any], device: dict[str, Any], address: Address, gone: Gone) -> dict[str, int]:
        """How many ``sections`` the file of ``address`` will have, and about how many ``bytes``.

        Raises ``BadQuery`` where there are too many of either, and what ``Answers.of`` raises.
        """
        asker, grid = _Asker(self._answers, op, device, gone), axes(op, address)
        found = {places: await asker.document(section) for places, section in sample(address, grid, SAMPLES).items()}
        data = expected([len(axis.values) for axis in grid], found)
        _check_size(data)
        present = at(address, {})
        view = View(op, device, address, canonical(op, present), await asker.answer(present), "")
        return {"sections": number(grid), "bytes": len(await self._page(view, grid, Pool())) + data}

    async def file(
        self, op: dict[str, Any], device: dict[str, Any], address: Address, base: str, gone: Gone
    ) -> tuple[bytes, bool]:
        """The page with all its sections in it, and whether it will be the same tomorrow: no Function failed.

        Raises what ``size`` raises, and ``BadQuery`` where it takes too long. One question
        after the other is asked, so that whoever comes in between waits for one of them at most.
        """
        await self.size(op, device, address, gone)
        grid, pool = axes(op, address), Pool()
        with self._place():
            asker, begun, failed = _Asker(self._answers, op, device, gone), time.monotonic(), False
            for done, section in enumerate(sections(address, grid)):
                if time.monotonic() - begun > SECONDS:
                    raise BadQuery(
                        f"sliders: only {done} sections could be computed in {SECONDS} s; give fewer values."
                    )
                document = await asker.document(section)
                failed |= document["failure"] is not None
                pool.add(document)
                _check_size(pool.size)
            present = at(address, {})
            view = View(op, device, address, canonical(op, present), await asker.answer(present), base)
            return await self._page(view, grid, pool), not failed

    @contextmanager
    def _place(self) -> Iterator[None]:
        if self._making >= TOGETHER:
            raise EngineBusy
        self._making += 1
        try:
            yield
        finally:
            self._making -= 1

    async def _page(self, view: View, grid: tuple[Axis, ...], pool: Pool) -> bytes:
        return await asyncio.to_thread(self._write, view, grid, pool)

    def _write(self, view: View, grid: tuple[Axis, ...], pool: Pool) -> bytes:
        if self._bundle is None:
            library = self._assets.plotly("curves").rpartition("/")[2]
            self._bundle = bundle(self._assets, "export.js", library, [f"{sheet}.css" for sheet in SHEETS])
        listed = [_described(view.op, view.address, axis) for axis in grid]
        answers = f'{{"axes":{orjson.dumps(listed).decode()},{pool.json()}}}'
        return self._pages.export(view, listed, answers.replace("<", "\\u003c"), self._bundle)


@dataclass(frozen=True)
class _Asker:
    """Asks for one section after the other, as often as it must."""

    answers: Answers
    op: dict[str, Any]
    device: dict[str, Any]
    gone: Gone

    async def answer(self, section: Address) -> Answer:
        await asyncio.sleep(0)  # an answer that was kept comes at once, and others want to be served too
        for _ in range(int(SECONDS / PAUSE)):
            if await self.gone():
                raise EngineBusy
            try:
                return await self.answers.of(self.op, self.device, section.question, self.gone)
            except EngineBusy:
                await asyncio.sleep(PAUSE)
        raise EngineBusy

    async def document(self, section: Address) -> dict[str, Any]:
        return packed(await self.answer(section), canonical(self.op, section))


def _check_size(data: int) -> None:
    if data > LARGEST:
        raise BadQuery(
            f"sliders: the file would hold about {data / 2**20:.0f} MB of answers; at most {LARGEST >> 20} MB are"
            " allowed, so give fewer values, or lower count."
        )


def _described(op: dict[str, Any], address: Address, axis: Axis) -> dict[str, Any]:
    """An axis for the page: the text of each value, as addresses have it, and of the ``usual`` one, which they omit."""
    values = [texts(at(address, {axis.name: value}))[axis.name] for value in axis.values]
    usual = defaults(op, address.question.wrt)[axis.name]
    return {"name": axis.name, "kind": axis.kind, "values": values, "at": axis.at, "usual": usual}
