"""One page of a site, of a Function, a lesson or an exercise: its figure, and what stands around that."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from ..documents.json_document import exact_document
from ..figure.sheet_svg import figure_svg
from ..figure.svg_paths import sparkline
from ..html.pages import Pages, SectionPage
from ..protocol.errors import BadQuestion, EngineFault
from ..protocol.views import DRAWN_VIEWS, VIEWS
from ..schema.op import DeviceSummary, OpDescription
from ..url.address import Address, canonical_address, without_display_options
from ..url.representations import pictured_address
from .figure import SITE_POLICY, Ask, Figure, figure_files, measured_figure, proof_line
from .sliders import SliderAxis, section_count

_VIEWS = tuple(name for name in DRAWN_VIEWS if name != "curves")
Done = Callable[[], None]


@dataclass(frozen=True)
class Planned:
    """The page in the folder ``file``: its figure of ``op`` at ``address``, or ``why`` there is none.

    ``template`` makes it of what it is ``about``; that of a Function has the pictures of its views, too.
    """

    file: str
    template: str
    about: Mapping[str, Any]
    op: OpDescription | None = None
    address: Address | None = None
    axes: tuple[SliderAxis, ...] = ()
    why: str = ""

    @property
    def questions(self) -> int:
        """How many answers it takes."""
        return section_count(self.axes) + len(_VIEWS) * (self.template == "function") if self.op else 0


@dataclass(frozen=True)
class Published:
    """The files of a page by path, and what a list says of it: the word of its verdict, and two curves as paths."""

    plan: Planned
    files: Mapping[str, bytes]
    word: str = "not called yet"
    curves: tuple[str, str] = ("", "")


def site_page(template: str, place: str, taught: bool, view: SectionPage | None = None, **context: Any) -> bytes:
    """The page of a site at ``place``, from which it leads to the top; the site has lessons where it is ``taught``."""
    up = "../" * place.count("/")
    return Pages.shared().published(template, view, up=up, policy=SITE_POLICY, taught=taught, **context)


async def published(
    ask: Ask, device: DeviceSummary, plan: Planned, taught: bool, done: Done = lambda: None
) -> Published:
    """The page with its figure, or with the reason why there is none. ``done`` is called after each question."""
    if plan.op is None or plan.address is None:
        return undrawn(plan, taught)
    try:
        failure = (await ask(plan.address.question)).header["failure"]
        axes = () if failure else plan.axes  # a Function that fails has one section to show
        still = plan.template == "lesson"
        figure = await measured_figure(ask, plan.op, device, plan.address, axes, done, still)
        shown = await _views(ask, figure, done) if plan.template == "function" else {}
    except (BadQuestion, EngineFault) as problem:
        return undrawn(replace(plan, why=str(problem)), taught)
    return await asyncio.to_thread(_drawn, plan, figure, taught, shown)


def undrawn(plan: Planned, taught: bool) -> Published:
    """The page without its figure."""
    place, template = f"{plan.file}/index.html", "uncalled" if plan.template == "function" else plan.template
    return Published(plan, {place: site_page(template, place, taught, **plan.about, why=plan.why, drawn=False)})


async def _views(ask: Ask, figure: Figure, done: Done) -> dict[str, Any]:
    """What the page of a Function shows besides its figure: the views that have something to show, and a proof."""
    plain, pictures = without_display_options(figure.address), list[dict[str, Any]]()
    for view in () if figure.answer.header["failure"] else _VIEWS:
        address = pictured_address(replace(plain, question=replace(plain.question, view=view)))
        answer = await ask(address.question)
        header = answer.header
        if answer.columns and not header["failure"] and header["view"] != "curves":
            drawn = await asyncio.to_thread(figure_svg, answer, address)
            said = {"file": f"{view}.svg", "heading": VIEWS[view].heading, "sentence": header["sentence"]}
            pictures.append({**said, "drawn": drawn})
        done()
    return {"pictures": pictures, "proof": await proof_line(ask, figure.op, figure.address)}


def _drawn(plan: Planned, figure: Figure, taught: bool, shown: Mapping[str, Any]) -> Published:
    address = canonical_address(figure.op, without_display_options(figure.address))
    view = SectionPage(figure.op, figure.device, replace(figure.address, sliders=()), address, figure.answer, "")
    place = f"{plan.file}/index.html"
    context = {**plan.about, **shown, "file": plan.file, "axes": figure.axes, "drawn": True}
    files = figure_files(figure, plan.file, page=plan.template == "function")
    files |= {f"{plan.file}/{each['file']}": each["drawn"] for each in shown.get("pictures", ())}
    files[place] = site_page(plan.template, place, taught, view, **context)
    columns = exact_document(figure.answer, address)["columns"]
    drawn = {name: columns[name] or [] for name in ("x", "forward", "analytical")}
    curves = sparkline(drawn, "forward"), sparkline(drawn, "analytical")
    return Published(plan, files, figure.answer.header["verdict"]["word"], curves)
