"""Routes of a section, ``/ops/{name}…``: page, JSON, CSV, SVG, PNG, PDF, HTML export; and ``/embed/{name}``."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any
from urllib.parse import quote

import orjson
from fastapi import APIRouter, Request, Response

from ..cache.answer_cache import IsDisconnected, is_lasting
from ..documents.csv_table import csv_table
from ..documents.json_document import json_document
from ..documents.pytest_file import pytest_source
from ..figure.axis_range import common_axis_ranges
from ..figure.sheet_svg import figure_svg, preview_svg, print_svg
from ..html.pages import Pages, SectionPage
from ..http.openapi import (
    NAME_PARAMETER,
    QUERY_PARAMETERS,
    component_name,
    image_response,
    json_response,
    page_responses,
    problem_responses,
    view_responses,
)
from ..http.responses import uncached_reply
from ..protocol.answer import Answer, curves_of, panel_of
from ..protocol.errors import Unsolved
from ..protocol.question import Question
from ..protocol.views import VIEWS, WRITTEN_VIEWS
from ..schema.op import DeviceSummary, OpDescription
from ..url.address import Address, canonical_address, curves_only, without_display_options
from ..url.numbers import printable_excerpt
from ..url.parse import parse_query, read_address, undressed_query
from ..url.representations import check_representation
from .context import Site, query_string
from .reply import Computation, computed_once

_Shown = Callable[[Address], Address]
_WriteSection = Callable[["_Asked"], Awaitable[tuple[bytes, bool]]]
_WriteAnswer = Callable[[Answer, "_Asked"], Awaitable[bytes]]
_Render = Callable[[Pages, SectionPage], bytes]
_Further = Callable[[OpDescription, DeviceSummary, Address], list[Question]]
_Handler = Callable[[Request], Awaitable[Response]]

_PARAMETERS = [NAME_PARAMETER, *QUERY_PARAMETERS]
_PROBLEMS = problem_responses(404, 414, 422, 503)

# The routes take the bare request: parameters converted by FastAPI would add 10 % to the time of the first page.
router = APIRouter()


def _route(
    ending: str, summary: str, answer: dict[str, Any], errors: dict[int | str, Any]
) -> Callable[[_Handler], _Handler]:
    """The decorator of a handler of ``/ops/{name}`` with an ending, described for OpenAPI."""
    return router.get(
        f"/ops/{{name}}.{ending}",
        tags=["sections"],
        summary=summary,
        responses={200: answer, **errors},
        response_class=Response,
        openapi_extra={"parameters": _PARAMETERS},
    )


def _text(media_type: str) -> dict[str, Any]:
    return {"content": {media_type: {"schema": {"type": "string"}}}}


@_route("py", "A section as a test for pytest", _text("text/x-python"), _PROBLEMS)
async def test(request: Request) -> Response:
    """A file that runs as it is where Gradloupe is installed: green where the verdict is."""
    return await _section(request, "py", "text/x-python", "text/x-python", _same, _pytest)


@_route("size.json", "How large the file of a section will be", json_response("Size"), _PROBLEMS)
async def size(request: Request) -> Response:
    """How many sections `/ops/{name}.html` computes for these `sliders`, and about how many bytes it will have."""
    kind = f"size {Site.serving(request).assets.digest}"
    return await _section(request, "size.json", kind, "application/json", _with_sliders, _size)


_DOCUMENTS = view_responses({view.name: component_name(view.header.__name__) for view in VIEWS.values()})
_PAGE_DOCUMENTS = view_responses({"curves": "PageSection"} | dict.fromkeys(WRITTEN_VIEWS, "PagePanel"))


@_route("page.json", "What the page of a section draws and says", _PAGE_DOCUMENTS, _PROBLEMS)
async def page_numbers(request: Request) -> Response:
    """The numbers of the `curves` as far as they can be seen, the `scene` drawn from them, and their `words` as
    HTML. Of the views `contract` and `node`, their HTML. The pages of this server redraw from it; for anything
    else take `.json`.
    """
    return await _answer(request, "page.json", "application/json", without_display_options, _page_json, "page")


@_route("html", "A section as one file that works offline", _text("text/html"), page_responses(404, 414, 422, 503))
async def file(request: Request) -> Response:
    """The figure with everything that it needs, its `sliders` live on answers that were computed beforehand."""
    site = Site.serving(request)
    kind = f"text/html {site.base(request)} {site.assets.digest}"
    response = await _section(request, "html", kind, "text/html", _same, partial(_file, site.base(request)))
    response.headers["Content-Disposition"] = f'attachment; filename="{request.path_params["name"]}.html"'
    return response


@_route("json", "The numbers of a section", _DOCUMENTS, _PROBLEMS)
async def numbers(request: Request) -> Response:
    """Forward, analytical, numerical and its error bound, one-sided slopes, marks and the verdict; or another view."""
    return await _answer(request, "json", "application/json", without_display_options, _json)


@_route("csv", "The table of a section", _text("text/csv"), _PROBLEMS)
async def rows(request: Request) -> Response:
    """The columns of the numbers, one row for each x (cell, step), after a line with their names."""
    return await _answer(request, "csv", "text/csv", without_display_options, _csv)


@_route("svg", "The picture of a section", image_response("image/svg+xml"), _PROBLEMS)
async def drawing(request: Request) -> Response:
    """The curves, or another `view`, with title, verdict and legend: 1200 by 900, or `width` by `height`."""
    return await _answer(request, "svg", "image/svg+xml", _same, _svg)


@_route("png", "The picture of a section in pixels", image_response("image/png"), _PROBLEMS)
async def preview(request: Request) -> Response:
    """The same picture in pixels: 1200 by 630, or `width` by `height`."""
    return await _answer(request, "png", "image/png", _same, _png)


@_route("pdf", "The picture of a section as a document", image_response("application/pdf"), _PROBLEMS)
async def printed(request: Request) -> Response:
    """The same picture as the SVG for print, on a page of its size: its lines are lines and its words are text."""
    return await _answer(request, "pdf", "application/pdf", _same, _pdf)


@router.get("/ops/{name}", include_in_schema=False)
async def op_page(request: Request) -> Response:
    """The page; while torch is loading, one that says so."""
    return await section_page(request, _of_path(request), "op", Pages.op, 1.0, _panel_question)


@router.get("/embed/{name}", include_in_schema=False)
async def embed(request: Request) -> Response:
    """The figure alone, for the frame of another page, which has nothing else to show."""
    return await section_page(request, _of_path(request), "embed", Pages.embed, 4.0)


@dataclass(frozen=True)
class _Asked:
    """The section that a request asks for: what of its address the reply depends on, and whether the client is gone."""

    site: Site
    op: OpDescription
    device: DeviceSummary
    address: Address
    gone: IsDisconnected

    @property
    def canonical(self) -> str:
        return canonical_address(self.op, self.address)


@dataclass(frozen=True)
class SectionPlace:
    """Where a section is: the name of its op, and the query as it was sent."""

    op: str
    query: str


def _of_path(request: Request) -> SectionPlace:
    return SectionPlace(request.path_params["name"], query_string(request))


async def _section(
    request: Request,
    ending: str,
    kind: str,
    media_type: str,
    shown: _Shown,
    write: _WriteSection,
    place: SectionPlace | None = None,
) -> Response:
    """The reply for a section, in the representation with this ``ending``, which refuses what it cannot show.

    ``shown`` keeps of its address what the body depends on; ``place`` is that of the request where it is not given.
    """
    site = Site.serving(request)
    where = place or _of_path(request)

    async def read() -> Computation:
        words = parse_query(where.query)
        op = await site.op(where.op, words.get("recipe", ""))
        device = await site.engine.device()
        address = read_address(op, device, words)
        check_representation(address, ending)
        asked = _Asked(site, op, device, shown(address), request.is_disconnected)
        return Computation((op,), asked.canonical, partial(write, asked))

    return await computed_once(request, kind, media_type, read)


async def _answer(
    request: Request, ending: str, media_type: str, shown: _Shown, write: _WriteAnswer, kind: str = ""
) -> Response:
    """The reply with an answer of the engine; a failure is not cached, as it may not happen again.

    ``kind`` tells it from another reply of the same media type.
    """

    async def written(asked: _Asked) -> tuple[bytes, bool]:
        answer = await asked.site.answers.of(asked.op, asked.device, asked.address.question, asked.gone)
        return await write(answer, asked), is_lasting(answer, asked.address.question)

    return await _section(request, ending, kind or media_type, media_type, shown, written)


async def section_page(
    request: Request,
    place: SectionPlace,
    name: str,
    render: _Render,
    patience: float,
    further: _Further = lambda *_: [],
) -> Response:
    """A page with the figure of ``place``; without it, where the answer is not there after ``patience`` seconds.

    ``name`` is the kind of the page. Of the answers to ``further`` questions it shows the contract or the node; for
    curves it has room on the axes of the figure.
    """
    site = Site.serving(request)
    if await site.engine.waits_for(place.op):
        query = undressed_query(place.query)
        numbers_of = f"/ops/{quote(place.op)}.json" + (f"?{query}" if query else "")
        framed = request.url.path.startswith("/embed/")
        return uncached_reply(request, site.pages.waiting(printable_excerpt(place.op), numbers_of, framed), "text/html")
    base, public = site.base(request), site.settings.public

    async def rendered(asked: _Asked) -> tuple[bytes, bool]:
        figure = curves_only(asked.address)
        questions = [figure.question, *further(asked.op, asked.device, asked.address)]
        soon = (site.answers.soon(asked.op, asked.device, each, patience) for each in questions)
        found = await asyncio.gather(*soon)
        address = canonical_address(asked.op, without_display_options(figure))
        drawn = None if found[0] is None else curves_of(found[0])
        panels = [panel for panel in (panel_of(each) for each in found if each is not None) if panel is not None]
        panel = panels[0] if panels else None
        curves = [curves_of(each) for each in found if each is not None and each.header["view"] == "curves"]
        held = common_axis_ranges(curves) if len(curves) > 1 else None
        view = SectionPage(asked.op, asked.device, asked.address, address, drawn, base, public, closer=panel, held=held)
        body = await asyncio.to_thread(render, site.pages, view)
        return body, all(one and is_lasting(one, each) for one, each in zip(found, questions, strict=True))

    try:
        ending = "" if name == "op" else "embed"
        kind = f"{name} {base} {public} {site.assets.digest}"
        return await _section(request, ending, kind, "text/html", _same, rendered, place)
    except Unsolved as unsolved:
        return uncached_reply(request, site.pages.unsolved(unsolved.told), "text/html")


def _panel_question(op: OpDescription, device: DeviceSummary, address: Address) -> list[Question]:
    return [address.question] if address.question.view in WRITTEN_VIEWS else []


def _same(address: Address) -> Address:
    return address


def _with_sliders(address: Address) -> Address:
    """Theme and layout hardly change the size of a file."""
    return replace(without_display_options(address), sliders=address.sliders)


async def _pytest(asked: _Asked) -> tuple[bytes, bool]:
    return pytest_source(asked.op, asked.address).encode(), True


async def _size(asked: _Asked) -> tuple[bytes, bool]:
    estimate, lasting = await asked.site.exports.size(asked.op, asked.device, asked.address, asked.gone)
    return json.dumps(estimate).encode(), lasting


async def _file(base: str, asked: _Asked) -> tuple[bytes, bool]:
    return await asked.site.exports.file(asked.op, asked.device, asked.address, base, asked.gone)


async def _json(answer: Answer, asked: _Asked) -> bytes:
    return json_document(answer, asked.canonical)


async def _page_json(answer: Answer, asked: _Asked) -> bytes:
    pages, place, panel = asked.site.pages, asked.canonical, panel_of(answer)
    if panel is not None:
        return orjson.dumps(pages.panel_document(panel, asked.op, place))
    return orjson.dumps(pages.document(curves_of(answer), place))


async def _csv(answer: Answer, _: _Asked) -> bytes:
    return csv_table(answer)


async def _svg(answer: Answer, asked: _Asked) -> bytes:
    return await asyncio.to_thread(figure_svg, answer, asked.address)


async def _png(answer: Answer, asked: _Asked) -> bytes:
    return await asked.site.rasterizer.png(await asyncio.to_thread(preview_svg, answer, asked.address))


async def _pdf(answer: Answer, asked: _Asked) -> bytes:
    return await asked.site.rasterizer.pdf(await asyncio.to_thread(print_svg, answer, asked.address))
