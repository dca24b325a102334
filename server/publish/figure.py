"""A figure that needs no server: every section that its sliders reach, measured beforehand."""

from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass, replace

import orjson

from ..figure.axes import AxisRanges, common_axis_ranges
from ..html.pages import Pages
from ..protocol.answer import Answer, CurvesAnswer, curves_of
from ..protocol.question import Question
from ..schema.op import DeviceSummary, OpDescription
from ..url.address import Address, canonical_address
from ..url.numbers import BadQuery
from .section_pool import SectionPool
from .sliders import SliderAxis, section_addresses, section_count, slider_axes

IN_FILE = ("verdict", "proof", "summary", "marks", "method")  # the words in a figure that has no page around it
_LARGEST = 32 * 2**20  # budget: bytes of sections in one figure
Ask = Callable[[Question], Awaitable[Answer]]


@dataclass(frozen=True)
class Figure:
    """One Function as it stands at ``address``, whose ``answer`` is drawn first.

    ``axes`` are its sliders, ``sections`` the JSON of all that they reach and ``first`` that of the present one;
    ``failed`` says that the Function failed in one of them, which may not happen again. On the y-axes ``held``, if
    given, all are drawn. ``proof`` is the line of what is proved, as HTML, ``beside`` what else there is to say beside
    the verdict, ``remark`` what of the sliders.
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
    proof: str = ""
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
    alone: bool = False,
) -> Figure:
    """The figure with a section for each position of its sliders: ``axes``, or those that ``address`` names.

    ``ask`` answers questions, as ``Engine.answer`` does; ``done`` is called after each section. The y-axes stand
    ``still``, or are those of each section. A figure that stands ``alone``, without a page around it, says in words
    what it shows, and what is proved. Raises ``BadQuery`` where they are too many or too large, and what ``ask``
    raises.
    """
    grid = slider_axes(op, address) if axes is None else axes
    words = IN_FILE if alone else ("verdict",)
    pages, pool, first, failed = Pages.shared(), SectionPool(words), SectionPool(words), False
    answers, present, proved = list[CurvesAnswer](), _present(grid), ""
    for section in section_addresses(op, device, address, grid):
        answer = curves_of(await ask(section.question))
        failed |= answer.header["failure"] is not None
        answers.append(answer)
        document = pages.document(answer, canonical_address(op, section))
        document["words"]["proof"] = await proof_line(ask, op, section) if alone else ""
        pool.add(document)
        if len(answers) == present + 1:
            first.add(document)
            proved = document["words"]["proof"]
        if pool.size > _LARGEST:
            raise BadQuery(
                f"sliders: its {section_count(grid)} sections would hold more than {_LARGEST >> 20} MB; give fewer "
                "values, or lower count.",
                "sliders",
            )
        done()
    held = common_axis_ranges(answers) if still else None
    sections = f'{{"axes":{orjson.dumps([asdict(axis) for axis in grid]).decode()},{pool.json()}}}'
    here = f'{{"axes":[],{first.json()}}}'
    return Figure(op, device, address, grid, answers[present], sections, here, failed, held, proved)


async def proof_line(ask: Ask, op: OpDescription, section: Address) -> str:
    """What is proved of a section in a line, as HTML; "" where nothing can be."""
    if section.question.order == 2:
        return ""  # a proof is about the first derivative
    proof = await ask(replace(section.question, view="proof"))
    if proof.header["failure"]:
        return ""
    return Pages.shared().panel_document(proof, op, canonical_address(op, section))["line"]


def _present(axes: tuple[SliderAxis, ...]) -> int:
    """The place of the present section among all."""
    place = 0
    for axis in axes:
        place = place * len(axis.values) + axis.at
    return place
