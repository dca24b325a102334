"""A figure that needs no server: every section that its sliders reach, measured beforehand."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass

import orjson

from ..html.pages import Pages
from ..protocol.answer import Answer, CurvesAnswer, curves_of
from ..protocol.question import Question
from ..schema.op import DeviceSummary, OpDescription
from ..url.address import Address, canonical_address
from ..url.numbers import BadQuery
from .section_pool import SectionPool
from .sliders import SliderAxis, section_addresses, section_count, slider_axes

_LARGEST = 32 * 2**20  # budget: bytes of sections in one figure
Ask = Callable[[Question], Awaitable[Answer]]


@dataclass(frozen=True)
class Figure:
    """One Function as it stands at ``address``, whose ``answer`` is drawn first.

    ``axes`` are its sliders, and ``sections`` the JSON of all that they reach; ``failed`` says that the Function failed
    in one of them, which may not happen again. ``beside`` is what there is to say beside the verdict, ``remark`` what
    of its sliders.
    """

    op: OpDescription
    device: DeviceSummary
    address: Address
    axes: tuple[SliderAxis, ...]
    answer: CurvesAnswer
    sections: str
    failed: bool = False
    beside: str = ""
    remark: str = ""


async def measured_figure(
    ask: Ask,
    op: OpDescription,
    device: DeviceSummary,
    address: Address,
    axes: tuple[SliderAxis, ...] | None = None,
    done: Callable[[int], None] = lambda count: None,
) -> Figure:
    """The figure with a section for each position of its sliders: ``axes``, or those that ``address`` names.

    ``ask`` answers questions, as ``Engine.answer`` does; ``done`` hears how many sections there are. Raises
    ``BadQuery`` where they are too many or too large, and what ``ask`` raises.
    """
    grid = slider_axes(op, address) if axes is None else axes
    pages, pool, failed = Pages.shared(), SectionPool(), False
    shown, present = None, _present(grid)
    for place, section in enumerate(section_addresses(op, device, address, grid)):
        answer = curves_of(await ask(section.question))
        failed |= answer.header["failure"] is not None
        shown = answer if place == present else shown
        pool.add(pages.document(answer, canonical_address(op, section)))
        if pool.size > _LARGEST:
            raise BadQuery(
                f"sliders: its {section_count(grid)} sections would hold more than {_LARGEST >> 20} MB; give fewer "
                "values, or lower count.",
                "sliders",
            )
        done(place + 1)
    assert shown is not None
    sections = f'{{"axes":{orjson.dumps([asdict(axis) for axis in grid]).decode()},{pool.json()}}}'
    return Figure(op, device, address, grid, shown, sections, failed)


def _present(axes: tuple[SliderAxis, ...]) -> int:
    """The place of the present section among all."""
    place = 0
    for axis in axes:
        place = place * len(axis.values) + axis.at
    return place
