"""A figure that needs no server: every section that its sliders reach, measured beforehand; and its files, beside the
scripts that all share, or as one that holds everything.
"""

import re
from collections.abc import Awaitable, Callable, Collection
from dataclasses import asdict, dataclass, replace
from functools import cache
from urllib.parse import quote

import orjson
from markupsafe import Markup

from ..documents.csv_table import csv_table
from ..documents.json_document import json_document
from ..figure.axes import AxisRanges, common_axis_ranges
from ..figure.drawn_section import without_hidden
from ..figure.sheet_svg import figure_svg
from ..html.assets import EMPTY_STYLE_HASH, Assets, style_sheet, without_comments
from ..html.inline_bundle import build_bundle
from ..html.pages import Pages, SectionPage
from ..protocol.answer import Answer, CurvesAnswer, curves_of
from ..protocol.question import Question
from ..schema.op import DeviceSummary, OpDescription
from ..url.address import Address, canonical_address, curves_only, without_display_options
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


SHARED = "gradloupe"  # the folder of what all figures share
SITE_POLICY = (
    f"default-src 'none'; script-src 'self'; style-src 'self' {EMPTY_STYLE_HASH}; img-src 'self' data: blob:; "
    "frame-src 'self'; base-uri 'none'; form-action 'none'"
)
_DRESS, _SCRIPT, _INDEX = (f"js/published/{name}.js" for name in ("dress", "figure", "index"))
_STYLE, _ELEMENT = "published", "grad-loupe.js"
_PLAIN = re.compile(r"[^\w.-]+|^\.+")


def shared_files() -> dict[str, bytes]:
    """What all figures of a folder share, by path: plotly.js, two scripts, a style sheet, the element."""
    assets = Assets.shared()
    element = without_comments(assets.read(f"element/{_ELEMENT}").decode())
    return {
        f"{SHARED}/{_library()}": assets.read(_library()),
        f"{SHARED}/dress.js": assets.classic_script(_DRESS).encode(),
        f"{SHARED}/figure.js": assets.classic_script(_SCRIPT).encode(),
        f"{SHARED}/index.js": assets.classic_script(_INDEX).encode(),
        f"{SHARED}/figure.css": style_sheet(_STYLE),
        f"{SHARED}/index.css": style_sheet(f"{_STYLE}_index"),
        # No module, which other sites may load from some hosts alone.
        _ELEMENT: f"{{\n{element.replace('import.meta.url', 'document.baseURI')}}}\n".encode(),
    }


def figure_files(figure: Figure, name: str, page: bool = False) -> dict[str, bytes]:
    """The files of one figure, by path: its frame ``NAME.html``, and in the folder ``NAME`` sections, picture, numbers.

    ``name`` may begin with folders. ``page`` says that the folder gets a page, to which the frame has a link.
    """
    up, last = "../" * name.count("/"), name.rpartition("/")[2]
    folder, page_of = quote(last), f"{quote(last)}/index.html" if page else ""
    linked = {"shared": f"{up}{SHARED}", "sections": f"{folder}/sections.js", "page": page_of, "policy": SITE_POLICY}
    linked["library"] = f"{up}{SHARED}/{_library()}"
    answer, plain = figure.answer, without_display_options(curves_only(figure.address))
    numbers = json_document(answer, canonical_address(figure.op, plain))
    return {
        f"{name}.html": _frame(figure, linked=linked),
        f"{name}/sections.js": f"globalThis.gradloupeSections = {figure.sections};\n".encode(),
        f"{name}/{last}.svg": figure_svg(answer, plain),
        f"{name}/{last}.json": numbers,
        f"{name}/{last}.csv": csv_table(answer),
    }


def one_file(figure: Figure, still: bool = False, kernel: bool = False) -> bytes:
    """The figure as one file of HTML that asks for nothing; with a ``kernel`` the page around it is asked.

    A ``still`` one is not zoomed, and has no plotly.js.
    """
    return _frame(figure, inline=_inline(still), kernel=kernel)


def file_names(names: Collection[str]) -> dict[str, str]:
    """A name for the files of each Function: without signs that a host may refuse, and no two alike but for case."""
    taken, found = {SHARED, "index", "lessons", "exercises"}, dict[str, str]()
    for name in names:
        plain = _PLAIN.sub("-", name).strip("-.") or "function"
        chosen, number = plain, 2
        while chosen.lower() in taken:
            chosen, number = f"{plain}-{number}", number + 1
        taken.add(chosen.lower())
        found[name] = chosen
    return found


def _library() -> str:
    return Assets.shared().plotly("curves").rpartition("/")[2]


def _frame(
    figure: Figure, inline: dict[str, Markup] | None = None, linked: dict[str, str] | None = None, kernel: bool = False
) -> bytes:
    address = canonical_address(figure.op, without_display_options(curves_only(figure.address)))
    answer = without_hidden(figure.answer, figure.address.hide)
    shown = (figure.op, figure.device, figure.address, address, answer, "")
    view = SectionPage(*shown, beside=figure.beside, remark=figure.remark, held=figure.held)
    sections = (figure.sections if inline and not kernel else figure.first).replace("<", "\\u003c")
    context = {"axes": figure.axes, "sections": sections, "inline": inline, "linked": linked, "kernel": kernel}
    context["proof"] = figure.proof
    return Pages.shared().published("figure", view, **context)


@cache
def _inline(still: bool) -> dict[str, Markup]:
    assets = Assets.shared()
    library = "" if still else assets.read(_library()).decode()
    dress, entry = assets.classic_script(_DRESS), assets.classic_script(_SCRIPT)
    return build_bundle(dress, library, entry, style_sheet(_STYLE).decode())
