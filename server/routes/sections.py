"""Routes of a section, ``/ops/{name}…``: page, JSON, CSV, SVG, PNG, PDF, HTML export; and ``/embed/{name}``."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from functools import partial
from inspect import cleandoc
from typing import Any
from urllib.parse import quote

import orjson
from fastapi import APIRouter, Request, Response

from ..cache.answer_cache import is_lasting
from ..cache.visitor import Visitor
from ..documents.csv_table import csv_table
from ..documents.json_document import json_document
from ..documents.pytest_file import pytest_source
from ..figure.axes import common_axis_ranges
from ..figure.drawn_section import without_hidden
from ..figure.sheet_svg import figure_svg, preview_svg, print_svg
from ..html.pages import Pages, SectionPage
from ..http.openapi import (
    NAME_PARAMETER,
    QUERY_PARAMETERS,
    content_response,
    page_responses,
    problem_responses,
    view_responses,
)
from ..http.responses import uncached_reply
from ..protocol.answer import Answer, curves_of
from ..protocol.errors import Unsolved
from ..protocol.question import Question
from ..protocol.views import VIEW_NAMES, WRITTEN_VIEWS
from ..schema.op import DeviceSummary, OpDescription
from ..schema.page import PagePanelRecord, PageSectionRecord
from ..schema.section import SectionDocument
from ..schema.views import LookDocument
from ..url.address import Address, canonical_address, curves_only, without_display_options
from ..url.numbers import BadQuery, printable_excerpt
from ..url.parse import parse_query, read_address, undressed_query
from ..url.representations import EMBED, PAGE, REPRESENTATIONS, Representation, check_representation
from .context import Site, computed_once, query_string

_Write = Callable[["_Asked"], Awaitable[tuple[bytes, bool]]]
_Render = Callable[[Pages, SectionPage], bytes]
_Further = Callable[[OpDescription, DeviceSummary, Address], list[Question]]

_PARAMETERS = [NAME_PARAMETER, *QUERY_PARAMETERS]
SECTION_DOCUMENTS = view_responses(SectionDocument, LookDocument, VIEW_NAMES[1:])
_PAGE_DOCUMENTS = view_responses(PageSectionRecord, PagePanelRecord, WRITTEN_VIEWS)

# The routes take the bare request: parameters converted by FastAPI would add 10 % to the time of the first page.
router = APIRouter()


@dataclass(frozen=True)
class _Asked:
    """The section that a request asks for; ``base`` is the address of the site, ``canonical`` that of the section."""

    site: Site
    base: str
    op: OpDescription
    device: DeviceSummary
    address: Address
    canonical: str
    visitor: Visitor

    async def answer(self) -> tuple[Answer, bool]:
        """The answer of the engine, and whether it may be cached; a failure may not, as it may not happen again."""
        question = self.address.question
        answer = await self.site.answers.of(self.op, self.device, question, self.visitor)
        return answer, is_lasting(answer, question)


@dataclass(frozen=True)
class SectionPlace:
    """Where a section is: the name of its op, and the query as it was sent."""

    op: str
    query: str


def _of_path(request: Request) -> SectionPlace:
    return SectionPlace(request.path_params["name"], query_string(request))


async def _section(request: Request, place: SectionPlace, shown: Representation, kind: str, write: _Write) -> Response:
    """The reply for a section in the representation ``shown``, which refuses what it cannot show.

    ``kind`` tells it from the other replies at its place.
    """
    site, words = Site.serving(request), parse_query(place.query)
    op, device = await site.op(place.op, words.get("recipe", "")), await site.engine.device()
    base, address = site.base(request), read_address(op, device, words)
    check_representation(address, shown)
    kind = f"{kind} {base} {site.assets.digest}" if shown.of_site else kind
    canonical = canonical_address(op, address)
    asked = partial(_Asked, site, base, op, device, address, canonical)
    return await computed_once(request, kind, shown.media_type, (op,), canonical, lambda visitor: write(asked(visitor)))


def _represented(ending: str, summary: str, answer: dict[str, Any] | None = None) -> Callable[[_Write], _Write]:
    """The decorator of what writes the representation with this ending: the route of ``/ops/{name}`` with it.

    ``answer`` describes JSON for OpenAPI; the summary and the docstring do the rest.
    """
    shown = REPRESENTATIONS[ending]
    people = shown.media_type == "text/html"

    def register(write: _Write) -> _Write:
        async def handle(request: Request) -> Response:
            response = await _section(request, _of_path(request), shown, ending, write)
            if people:
                name = f"{request.path_params['name']}.{ending}"
                response.headers["Content-Disposition"] = f'attachment; filename="{name}"'
            return response

        router.add_api_route(
            f"/ops/{{name}}.{ending}",
            handle,
            name=write.__name__,
            tags=["sections"],
            summary=summary,
            description=cleandoc(write.__doc__ or ""),
            responses={
                200: answer or content_response(shown.media_type),
                **(page_responses if people else problem_responses)(404, 414, 422, 503),
            },
            response_class=Response,
            openapi_extra={"parameters": _PARAMETERS},
        )
        return write

    return register


@_represented("py", "A section as a test for pytest")
async def test(asked: _Asked) -> tuple[bytes, bool]:
    """A file that runs as it is where Gradloupe is installed: green where the verdict is."""
    return pytest_source(asked.op, asked.address).encode(), True


@_represented("page.json", "What the page of a section draws and says", _PAGE_DOCUMENTS)
async def page_numbers(asked: _Asked) -> tuple[bytes, bool]:
    """The numbers of the `curves` as far as they can be seen, the `scene` drawn from them, and their `words` as
    HTML. Of views that come as HTML, that. The pages of this server redraw from it; for anything else take `.json`.
    """
    answer, lasting = await asked.answer()
    pages, place = asked.site.pages, canonical_address(asked.op, replace(asked.address, hide=()))
    if answer.header["view"] in WRITTEN_VIEWS:
        return orjson.dumps(await asyncio.to_thread(pages.panel_document, answer, asked.op, place)), lasting
    return orjson.dumps(pages.document(without_hidden(curves_of(answer), asked.address.hide), place)), lasting


@_represented("certificate.json", "The certificate of a proof")
async def certificate(asked: _Asked) -> tuple[bytes, bool]:
    """What is proved, of which text, box by box: `gradloupe --verify` checks it again."""
    proof = replace(asked.address.question, view="proof")
    answer, lasting = await replace(asked, address=replace(asked.address, question=proof)).answer()
    header = answer.header
    assert header["view"] == "proof"
    if not header["certificate"]:
        raise BadQuery(f"There is no certificate, for nothing is proved. {header['sentence']}")
    return header["certificate"].encode(), lasting


@_represented("html", "A section as one file that works offline")
async def file(asked: _Asked) -> tuple[bytes, bool]:
    """The figure with everything that it needs, its `sliders` live on answers that were computed beforehand."""
    return await asked.site.exports.file(asked.op, asked.device, asked.address, asked.visitor)


@_represented("json", "The numbers of a section", SECTION_DOCUMENTS)
async def numbers(asked: _Asked) -> tuple[bytes, bool]:
    """Forward, analytical, numerical and its error bound, one-sided slopes, marks and the verdict; or another view."""
    answer, lasting = await asked.answer()
    return json_document(answer, asked.canonical), lasting


@_represented("csv", "The table of a section")
async def rows(asked: _Asked) -> tuple[bytes, bool]:
    """The columns of the numbers, one row for each x (cell, step), after a line with their names."""
    answer, lasting = await asked.answer()
    return csv_table(answer), lasting


@_represented("svg", "The picture of a section")
async def drawing(asked: _Asked) -> tuple[bytes, bool]:
    """The curves, or another `view`, with title, verdict and legend: 1200 by 900, or `width` by `height`."""
    answer, lasting = await asked.answer()
    return await asyncio.to_thread(figure_svg, answer, asked.address), lasting


@_represented("png", "The picture of a section in pixels")
async def preview(asked: _Asked) -> tuple[bytes, bool]:
    """The same picture in pixels: 1200 by 630, or `width` by `height`."""
    answer, lasting = await asked.answer()
    return await asked.site.rasterizer.png(await asyncio.to_thread(preview_svg, answer, asked.address)), lasting


@_represented("pdf", "The picture of a section as a document")
async def printed(asked: _Asked) -> tuple[bytes, bool]:
    """The same picture as the SVG for print, on a page of its size: its lines are lines and its words are text."""
    answer, lasting = await asked.answer()
    return await asked.site.rasterizer.pdf(await asyncio.to_thread(print_svg, answer, asked.address)), lasting


@router.get("/ops/{name}", include_in_schema=False)
async def op_page(request: Request) -> Response:
    """The page; while torch is loading, one that says so."""
    return await section_page(request, _of_path(request), PAGE, "op", Pages.op, 1.0, _panel_question)


@router.get("/embed/{name}", include_in_schema=False)
async def embed(request: Request) -> Response:
    """The figure alone, for the frame of another page, which has nothing else to show."""
    return await section_page(request, _of_path(request), EMBED, "embed", Pages.embed, 4.0)


async def section_page(
    request: Request,
    place: SectionPlace,
    shown: Representation,
    kind: str,
    render: _Render,
    patience: float,
    further: _Further = lambda *_: [],
) -> Response:
    """A page with the figure of ``place``; without it, where the answer is not there after ``patience`` seconds.

    ``kind`` tells it from other pages. Of the answers to ``further`` questions it shows that of another view; for
    curves it has room on the axes of the figure.
    """
    site = Site.serving(request)
    if await site.engine.waits_for(place.op):
        query = undressed_query(place.query)
        numbers_of = f"/ops/{quote(place.op)}.json" + (f"?{query}" if query else "")
        framed = request.url.path.startswith("/embed/")
        return uncached_reply(request, site.pages.waiting(printable_excerpt(place.op), numbers_of, framed), "text/html")
    public, editable = site.settings.public, site.editable

    async def rendered(asked: _Asked) -> tuple[bytes, bool]:
        figure = curves_only(asked.address)
        questions = [figure.question, *further(asked.op, asked.device, asked.address)]
        soon = (site.answers.soon(asked.op, asked.device, each, patience, asked.visitor) for each in questions)
        found = await asyncio.gather(*soon)
        address = canonical_address(asked.op, without_display_options(figure))
        drawn = None if found[0] is None else curves_of(found[0])
        panels = [each for each in found if each is not None and each.header["view"] != "curves"]
        curves = [curves_of(each) for each in found if each is not None and each.header["view"] == "curves"]
        held = common_axis_ranges(curves) if len(curves) > 1 else None
        view = SectionPage(
            *(asked.op, asked.device, asked.address, address, drawn, asked.base, public),
            closer=panels[0] if panels else None,
            held=held,
            editable=editable,
        )
        body = await asyncio.to_thread(render, site.pages, view)
        return body, all(one and is_lasting(one, each) for one, each in zip(found, questions, strict=True))

    try:
        return await _section(request, place, shown, f"{kind} {public} {editable}", rendered)
    except Unsolved as unsolved:
        return uncached_reply(request, site.pages.unsolved(unsolved.told, editable), "text/html")


def _panel_question(op: OpDescription, device: DeviceSummary, address: Address) -> list[Question]:
    return [] if address.question.view == "curves" else [address.question]
