"""A figure that needs no server: every section that its sliders reach, measured beforehand."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass

import orjson

from ..figure.axis_range import AxisRanges, common_axis_ranges
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

    ``axes`` are its sliders, ``sections`` the JSON of all that they reach and ``first`` that of the present one;
    ``failed`` says that the Function failed in one of them, which may not happen again. On the y-axes ``held``, if
    given, all are drawn. ``beside`` is what there is to say beside the verdict, ``remark`` what of the sliders.
    """

    op: OpDescription
    device: DeviceSummary
    address: Address
    axes: tuple[SliderAxis, ...]
    answer: CurvesAnswer
    sections: str
    first: str
    failed: bool = False
    held: AxisRanges | None = None
    beside: str = ""
    remark: str = ""


async def measured_figure(
    ask: Ask,
    op: OpDescription,
    device: DeviceSummary,
    address: Address,
    axes: tuple[SliderAxis, ...] | None = None,
    done: Callable[[], None] = lambda: None,
    still: bool = False,
) -> Figure:
    """The figure with a section for each position of its sliders: ``axes``, or those that ``address`` names.

    ``ask`` answers questions, as ``Engine.answer`` does; ``done`` is called after each section. The y-axes stand
    ``still``, or are those of each section. Raises ``BadQuery`` where they are too many or too large, and what ``ask``
    raises.
    """
    grid = slider_axes(op, address) if axes is None else axes
    pages, pool, first, failed = Pages.shared(), SectionPool(), SectionPool(), False
    answers, present = list[CurvesAnswer](), _present(grid)
    for section in section_addresses(op, device, address, grid):
        answer = curves_of(await ask(section.question))
        failed |= answer.header["failure"] is not None
        answers.append(answer)
        document = pages.document(answer, canonical_address(op, section))
        pool.add(document)
        if len(answers) == present + 1:
            first.add(document)
        if pool.size > _LARGEST:
            raise BadQuery(
                f"sliders: its {section_count(grid)} sections would hold more than {_LARGEST >> 20} MB; give fewer "
                "values, or lower count.",
                "sliders",
            )
        done()
    held = common_axis_ranges(answers) if still else None
    sections = f'{{"axes":{orjson.dumps([asdict(axis) for axis in grid]).decode()},{pool.json()}}}'
    alone = f'{{"axes":[],{first.json()}}}'
    return Figure(op, device, address, grid, answers[present], sections, alone, failed, held)


def _present(axes: tuple[SliderAxis, ...]) -> int:
    """The place of the present section among all."""
    place = 0
    for axis in axes:
        place = place * len(axis.values) + axis.at
    return place
