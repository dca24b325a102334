"""One Function of a site: its figure, the pictures of its views, and its page; or why there is none."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from ..documents.json_document import exact_document
from ..figure.sheet_svg import figure_svg
from ..figure.thumbnail_path import sparkline
from ..html.pages import Pages, SectionPage
from ..protocol.errors import BadQuestion, EngineFault, Unsolved
from ..protocol.views import DRAWN_VIEWS, VIEWS
from ..schema.op import DeviceSummary, OpDescription, OpStub, ParameterDescription
from ..supervisor.engine import Engine
from ..url.address import Address, canonical_address, default_address, without_display_options
from ..url.parse import read_address
from ..url.representations import pictured_address
from .figure import Figure, measured_figure, proof_line
from .files import SITE_POLICY, figure_files
from .sliders import SliderAxis, section_count, slider_axes, usual_sliders

_VIEWS = tuple(name for name in DRAWN_VIEWS if name != "curves")
Done = Callable[[], None]


@dataclass(frozen=True)
class Planned:
    """A Function that is to be published as ``file``: its figure at ``address``, or ``why`` it cannot be called."""

    stub: OpStub
    file: str
    op: OpDescription | None = None
    address: Address | None = None
    axes: tuple[SliderAxis, ...] = ()
    why: str = ""

    @property
    def parameters(self) -> list[ParameterDescription]:
        """What is passed beside the tensors."""
        return self.op["parameters"] if self.op else []

    @property
    def questions(self) -> int:
        """How many answers it takes."""
        return 0 if self.op is None else section_count(self.axes) + len(_VIEWS)


@dataclass(frozen=True)
class Entry:
    """What a site shows of a Function: the word of its verdict, its two curves as paths, and its files."""

    stub: OpStub
    file: str
    word: str
    curves: tuple[str, str]
    files: dict[str, bytes]
    why: str = ""


@dataclass(frozen=True)
class _Picture:
    file: str
    heading: str
    sentence: str


def site_page(template: str, up: str, taught: bool, view: SectionPage | None = None, **context: Any) -> bytes:
    """A page of a site, to whose top ``up`` leads, and which has lessons where it is ``taught``."""
    return Pages.shared().published(template, view, up=up, policy=SITE_POLICY, taught=taught, **context)


async def planned(engine: Engine, device: DeviceSummary, stub: OpStub, file: str, sliders: str) -> Planned:
    """How a Function is to be published, with the ``sliders`` of an address as far as it has them, or with the usual.

    Raises ``BadQuery`` where these reach too many sections.
    """
    try:
        op = await engine.op(stub["name"])
    except Unsolved as unsolved:
        return Planned(stub, file, why=unsolved.told["sentence"])
    except EngineFault as fault:
        return Planned(stub, file, why=str(fault))
    address = default_address(op)
    known = {"grad_output", *(each["name"] for each in op["parameters"])} - {address.question.wrt.name}
    chosen = ",".join(each for each in sliders.split(",") if each.partition(":")[0] in known)
    if not sliders:
        address = usual_sliders(op, address)
    elif chosen:
        address = read_address(op, device, {"sliders": chosen})
    return Planned(stub, file, op, address, slider_axes(op, address))


async def published(engine: Engine, device: DeviceSummary, plan: Planned, taught: bool, done: Done) -> Entry:
    """The entry of a Function; the site has lessons where it is ``taught``. ``done`` is called after each question."""
    if plan.op is None or plan.address is None:
        return _uncalled(plan, plan.why, taught)
    try:
        first = await engine.answer(plan.address.question)
        axes = () if first.header["failure"] else plan.axes  # a Function that fails has one section to show
        figure = await measured_figure(engine.answer, plan.op, device, plan.address, axes, done)
        pictures, files = await _pictures(engine, figure, plan.file, done)
        proof = await proof_line(engine.answer, plan.op, plan.address)
    except (BadQuestion, EngineFault) as problem:
        return _uncalled(plan, str(problem), taught)
    return await asyncio.to_thread(_entry, plan, figure, pictures, files, taught, proof)


async def _pictures(
    engine: Engine, figure: Figure, file: str, done: Done
) -> tuple[tuple[_Picture, ...], dict[str, bytes]]:
    """The picture of each view that has something to show, and its file."""
    pictures, files = list[_Picture](), dict[str, bytes]()
    for view in () if figure.answer.header["failure"] else _VIEWS:
        plain = without_display_options(figure.address)
        address = pictured_address(replace(plain, question=replace(plain.question, view=view)))
        answer = await engine.answer(address.question)
        header = answer.header
        if answer.columns and not header["failure"] and header["view"] != "curves":
            pictures.append(_Picture(f"{view}.svg", VIEWS[view].heading, header["sentence"]))
            files[f"{file}/{view}.svg"] = await asyncio.to_thread(figure_svg, answer, address)
        done()
    return tuple(pictures), files


def _entry(
    plan: Planned,
    figure: Figure,
    pictures: tuple[_Picture, ...],
    files: dict[str, bytes],
    taught: bool,
    proof: str,
) -> Entry:
    address = canonical_address(figure.op, without_display_options(figure.address))
    view = SectionPage(figure.op, figure.device, replace(figure.address, sliders=()), address, figure.answer, "")
    shown: dict[str, Any] = {"file": plan.file, "pictures": pictures, "axes": figure.axes, "proof": proof}
    page = site_page("function", "../", taught, view, **shown)
    columns = exact_document(figure.answer, address)["columns"]
    drawn = {name: columns[name] or [] for name in ("x", "forward", "analytical")}
    curves = sparkline(drawn, "forward"), sparkline(drawn, "analytical")
    files = {**figure_files(figure, plan.file, page=True), **files, f"{plan.file}/index.html": page}
    return Entry(plan.stub, plan.file, figure.answer.header["verdict"]["word"], curves, files)


def _uncalled(plan: Planned, why: str, taught: bool) -> Entry:
    page = site_page("uncalled", "../", taught, op=plan.stub, why=why)
    return Entry(plan.stub, plan.file, "not called yet", ("", ""), {f"{plan.file}/index.html": page}, why)
