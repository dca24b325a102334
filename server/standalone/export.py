"""The export of a figure as one HTML file: computes the answers for all positions of its sliders, within limits."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, fields
from typing import Any

import orjson

from ..cache.answer_cache import AnswerCache
from ..cache.visitor import Visitor
from ..html.assets import Assets
from ..html.glossary import unlinked
from ..html.inline_bundle import Bundle, build_bundle
from ..html.pages import Pages, SectionPage
from ..protocol.answer import CurvesAnswer, curves_of
from ..protocol.errors import EngineBusy
from ..schema.op import DeviceSummary, OpDescription
from ..schema.page import PageSectionRecord
from ..url.address import Address, canonical_address, default_query_values, query_values
from ..url.numbers import BadQuery
from .sliders import SliderAxis, address_at, sample_addresses, section_addresses, section_count, slider_axes
from .string_pool import StringPool, expected_size

_LARGEST = 32 * 2**20  # bytes of answers in one file
_SECONDS = 60.0  # for all sections of one file, or for those from which its size is estimated
_PAUSE = 0.1  # seconds before a retry when the engine is busy
_PATIENCE = 10.0  # seconds to wait for a place
CONCURRENT_FILES = 2  # files that are written at the same time
CONCURRENT_ESTIMATES = 4  # files whose size is estimated at the same time
_SAMPLES = 64  # sections from which the size of a file is estimated


class ExportWriter:
    """Writes the files, and estimates their sizes beforehand."""

    def __init__(
        self,
        answers: AnswerCache,
        pages: Pages,
        assets: Assets,
        seconds: float = _SECONDS,
        patience: float = _PATIENCE,
    ) -> None:
        self._answers, self._pages, self._assets = answers, pages, assets
        self._bundle: Bundle | None = None
        self._made = _Places(CONCURRENT_FILES, seconds, patience)
        self._weighed = _Places(CONCURRENT_ESTIMATES, seconds, patience)

    async def size(
        self, op: OpDescription, device: DeviceSummary, address: Address, visitor: Visitor
    ) -> tuple[dict[str, int], bool]:
        """The number of ``sections`` and the estimated ``bytes`` of the file, and whether that may be cached.

        Raises ``BadQuery`` where there are too many of either or they take too long, ``EngineBusy`` where too many
        sizes are asked for at once, and what ``AnswerCache.of`` raises.
        """
        async with self._weighed.one(address, visitor):
            asker, grid = _Asker(self._answers, self._pages, op, device, visitor), slider_axes(op, address)
            data = await _expected(asker, address, grid)
            present = address_at(address, {})
            view = SectionPage(op, device, address, canonical_address(op, present), await asker.answer(present), "")
            bare, fixed = await asyncio.to_thread(self._weigh, view, grid)
            return {"sections": section_count(grid), "bytes": bare + fixed + data}, not asker.failed

    async def file(
        self, op: OpDescription, device: DeviceSummary, address: Address, base: str, visitor: Visitor
    ) -> tuple[bytes, bool]:
        """The file with all its sections, and whether it may be cached, which is where no Function failed.

        Raises what ``size`` raises. Questions are asked one by one, so that another request waits for one at most.
        """
        async with self._made.one(address, visitor):
            asker, grid, pool = (
                _Asker(self._answers, self._pages, op, device, visitor),
                slider_axes(op, address),
                StringPool(),
            )
            await _expected(asker, address, grid)
            for section in section_addresses(address, grid):
                pool.add(await asker.document(section))
                _check_size(pool.size)
            present = address_at(address, {})
            view = SectionPage(op, device, address, canonical_address(op, present), await asker.answer(present), base)
            return await asyncio.to_thread(self._write, view, grid, pool), not asker.failed

    def _whole(self) -> Bundle:
        if self._bundle is None:
            self._bundle = export_bundle(self._assets)
        return self._bundle

    def _weigh(self, view: SectionPage, grid: tuple[SliderAxis, ...]) -> tuple[int, int]:
        """The bytes of the page without its answers: its own, and those of the bundle that all pages share."""
        whole = {each.name: getattr(self._whole(), each.name) for each in fields(Bundle)}
        bare = Bundle(**{name: type(text)() for name, text in whole.items()})
        fixed = sum(len(text.encode()) for text in whole.values())
        return len(self._write(view, grid, StringPool(), bare)), fixed

    def _write(
        self, view: SectionPage, grid: tuple[SliderAxis, ...], pool: StringPool, bare: Bundle | None = None
    ) -> bytes:
        return export_page(self._pages, view, grid, pool, bare or self._whole())


class _Places:
    """So many files at once in all, and one for each visitor; who finds no place waits for ``patience`` seconds.

    ``seconds`` is what each may take.
    """

    def __init__(self, number: int, seconds: float, patience: float) -> None:
        self._number, self._seconds, self._patience = number, seconds, patience
        self._taken: list[str] = []  # by the addresses of their visitors
        self._change = asyncio.Condition()

    @asynccontextmanager
    async def one(self, address: Address, visitor: Visitor) -> AsyncIterator[None]:
        """Take a place; raises ``EngineBusy`` where none is free in time, and ``BadQuery`` when the time is over."""
        await self._take(visitor.address)
        try:
            async with asyncio.timeout(self._seconds):
                yield
        except TimeoutError:
            if not address.sliders:  # without sliders there is one section: the engine is slow
                raise EngineBusy from None
            culprit = f"sliders: so many sections could not be computed in {self._seconds:g} s"
            raise BadQuery(f"{culprit}; give fewer values.", "sliders") from None
        finally:
            self._taken.remove(visitor.address)
            async with self._change:
                self._change.notify_all()

    async def _take(self, visitor: str) -> None:
        def is_free() -> bool:
            return len(self._taken) < self._number and (not visitor or visitor not in self._taken)

        try:
            async with asyncio.timeout(self._patience), self._change:
                await self._change.wait_for(is_free)
                self._taken.append(visitor)
        except TimeoutError:
            raise EngineBusy from None


@dataclass
class _Asker:
    """Asks the engine for sections, retrying while it is busy; ``failed`` is set once a Function has failed."""

    answers: AnswerCache
    pages: Pages
    op: OpDescription
    device: DeviceSummary
    visitor: Visitor
    failed: bool = False

    async def answer(self, section: Address) -> CurvesAnswer:
        await asyncio.sleep(0)  # a cached answer comes without a pause, in which other requests can be served
        while not await self.visitor.gone():
            try:
                return curves_of(await self.answers.of(self.op, self.device, section.question, self.visitor))
            except EngineBusy:
                await asyncio.sleep(_PAUSE)
        raise EngineBusy

    async def document(self, section: Address) -> PageSectionRecord:
        answer = await self.answer(section)
        self.failed |= answer.header["failure"] is not None
        document = self.pages.document(answer, canonical_address(self.op, section))
        return {**document, "words": {name: unlinked(text) for name, text in document["words"].items()}}


async def _expected(asker: _Asker, address: Address, grid: tuple[SliderAxis, ...]) -> int:
    """The estimated bytes of all answers; raises ``BadQuery`` where they are too many."""
    found = {
        places: await asker.document(section) for places, section in sample_addresses(address, grid, _SAMPLES).items()
    }
    data = await asyncio.to_thread(expected_size, [len(axis.values) for axis in grid], found)
    _check_size(data)
    return data


def _check_size(data: int) -> None:
    if data > _LARGEST:
        raise BadQuery(
            f"sliders: the file would hold about {data / 2**20:.0f} MB of answers; at most {_LARGEST >> 20} MB are"
            " allowed, so give fewer values, or lower count.",
            "sliders",
        )


_ENTRY = "js/pages/export.js"
_STYLE = "pages/export.css"


def export_bundle(assets: Assets) -> Bundle:
    """The scripts and styles that every exported file has."""
    library = assets.plotly("curves").rpartition("/")[2]
    return build_bundle(assets, _ENTRY, library, _STYLE)


def export_page(
    pages: Pages, view: SectionPage, grid: tuple[SliderAxis, ...], pool: StringPool, parts: Bundle
) -> bytes:
    """The page of ``view`` with the answers in ``pool``, one for each position of the sliders on ``grid``."""
    listed = [_described(view.op, view.address, axis) for axis in grid]
    answers = f'{{"axes":{orjson.dumps(listed).decode()},{pool.json()}}}'
    return pages.export(view, listed, answers.replace("<", "\\u003c"), parts)


def _described(op: OpDescription, address: Address, axis: SliderAxis) -> dict[str, Any]:
    """An axis as JSON for the page: the text of each value as in a query, and that of the default, ``usual``."""
    values = [query_values(address_at(address, {axis.name: value}))[axis.name] for value in axis.values]
    usual = default_query_values(op, address.question.wrt)[axis.name]
    return {"name": axis.name, "kind": axis.kind, "values": values, "at": axis.at, "usual": usual}
