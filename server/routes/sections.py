"""Routes of a section, ``/ops/{name}…``: page, JSON, CSV, SVG, PNG, HTML export; and ``/embed/{name}``."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial
from typing import Any
from urllib.parse import quote

from fastapi import APIRouter, Request, Response

from ..documents.csv_table import csv_table
from ..documents.json_document import json_document
from ..documents.pytest_file import pytest_source
from ..figure.sheet_svg import figure_svg, preview_svg
from ..html.pages import Pages, SectionPage
from ..http.openapi import (
    NAME_PARAMETER,
    QUERY_PARAMETERS,
    SECTION_SCHEMAS,
    image_response,
    json_responses,
    page_responses,
    problem_responses,
)
from ..http.responses import cached_reply, reply_lasting, uncached_reply
from ..png.client import Rasterizer
from ..protocol.errors import Unsolved
from ..protocol.fingerprint import fingerprint
from ..supervisor.engine import Answer
from ..url.address import Address, canonical_address, curves_only, without_display_options
from ..url.numbers import printable_excerpt
from ..url.parse import read_address, read_recipe
from .context import Site, query_string

_Write = Callable[[Answer, Address, str], Awaitable[bytes]]
_Render = Callable[[Pages, SectionPage], bytes]
_Handler = Callable[[Request], Awaitable[Response]]

# Seconds to wait for the answer before a page is sent without a figure; an embed has nothing else to show.
_PATIENCE: dict[_Render, float] = {Pages.op: 1.0, Pages.embed: 4.0}

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
    site, op, device, address = await _request_parts(request)
    mark = _mark(site, op, device, canonical_address(op, address), "text/x-python")
    known = cached_reply(request, mark, "text/x-python")
    if known is not None:
        return known
    body = pytest_source(op, address).encode()
    return await reply_lasting(request, body, "text/x-python", mark, await site.is_current(op))


@_route("size.json", "How large the file of a section will be", json_responses("Size"), _PROBLEMS)
async def size(request: Request) -> Response:
    """How many sections `/ops/{name}.html` computes for these `sliders`, and about how many bytes it will have."""
    site, op, device, address = await _request_parts(request)
    address = replace(
        without_display_options(curves_only(address)), sliders=address.sliders
    )  # theme and layout hardly change the size
    mark = _mark(site, op, device, canonical_address(op, address), f"size {site.assets.digest}")
    known = cached_reply(request, mark, "application/json")
    if known is not None:
        return known
    estimate, lasting = await site.exports.size(op, device, address, request.is_disconnected)
    lasting = lasting and await site.is_current(op)
    return await reply_lasting(request, json.dumps(estimate).encode(), "application/json", mark, lasting)


@_route("html", "A section as one file that works offline", _text("text/html"), page_responses(404, 414, 422, 503))
async def file(request: Request) -> Response:
    """The figure with everything that it needs, its `sliders` live on answers that were computed beforehand."""
    site, op, device, address = await _request_parts(request)
    address = replace(curves_only(address), width=None, height=None)
    base = site.base(request)
    mark = _mark(site, op, device, base + canonical_address(op, address), f"text/html {site.assets.digest}")
    response = cached_reply(request, mark, "text/html")
    if response is None:
        body, lasting = await site.exports.file(op, device, address, base, request.is_disconnected)
        lasting = lasting and await site.is_current(op)
        response = await reply_lasting(request, body, "text/html", mark, lasting)
    response.headers["Content-Disposition"] = f'attachment; filename="{op["name"]}.html"'
    return response


@_route("json", "The numbers of a section", json_responses(*SECTION_SCHEMAS), _PROBLEMS)
async def numbers(request: Request) -> Response:
    """Forward, analytical, numerical and its error bound, one-sided slopes, marks and the verdict; or another view."""
    return await _section(request, "application/json", _json, without_display_options)


@_route("csv", "The table of a section", _text("text/csv"), _PROBLEMS)
async def rows(request: Request) -> Response:
    """The columns of the numbers, one row for each x (cell, step), after a line with their names."""
    return await _section(request, "text/csv", _csv, without_display_options)


@_route("svg", "The picture of a section", image_response("image/svg+xml"), _PROBLEMS)
async def drawing(request: Request) -> Response:
    """The curves with their title, verdict and legend: 1200 by 900, or `width` by `height`."""
    return await _section(request, "image/svg+xml", _svg, _picture_address)


@_route("png", "The picture of a section in pixels", image_response("image/png"), _PROBLEMS)
async def preview(request: Request) -> Response:
    """The same picture in pixels: 1200 by 630, or `width` by `height`."""
    return await _section(request, "image/png", partial(_png, Site.serving(request).rasterizer), _picture_address)


@router.get("/ops/{name}", include_in_schema=False)
async def op_page(request: Request) -> Response:
    """The page; while torch is loading, one that says so."""
    return await _page(request, Pages.op)


@router.get("/embed/{name}", include_in_schema=False)
async def embed(request: Request) -> Response:
    """The figure alone, for the frame of another page."""
    return await _page(request, Pages.embed)


async def _request_parts(request: Request) -> tuple[Site, dict[str, Any], dict[str, Any], Address]:
    site = Site.serving(request)
    op, query = await _op(site, request), query_string(request)
    device = await site.engine.device()
    return site, op, device, read_address(op, device, query)


async def _op(site: Site, request: Request) -> dict[str, Any]:
    """The op that the path names, by the recipe in the query."""
    return await site.op(request.path_params["name"], read_recipe(query_string(request)))


async def _page(request: Request, render: _Render) -> Response:
    site, name, query = Site.serving(request), request.path_params["name"], query_string(request)
    if await site.engine.waits_for(name):
        numbers_of = f"/ops/{quote(name)}.json" + (f"?{query}" if query else "")
        return uncached_reply(
            request, site.pages.waiting(printable_excerpt(name), numbers_of, render is Pages.embed), "text/html"
        )
    try:
        op = await _op(site, request)
    except Unsolved as unsolved:
        return uncached_reply(request, site.pages.unsolved(unsolved.told), "text/html")
    device = await site.engine.device()
    address = read_address(op, device, query)
    base, public = site.base(request), site.settings.public
    kind = f"{render.__name__} {base} {public} {site.assets.digest}"
    mark = _mark(site, op, device, canonical_address(op, address), kind)
    known = cached_reply(request, mark, "text/html")
    if known is not None:
        return known
    figure = curves_only(address)
    answer = await site.answers.soon(op, device, figure.question, _PATIENCE[render])
    body = render(
        site.pages,
        SectionPage(op, device, address, canonical_address(op, without_display_options(figure)), answer, base, public),
    )
    # Not cached: a failure, which may not happen again, and an answer that may be of replaced code.
    lasting = answer is not None and answer.header["failure"] is None and await site.is_current(op)
    return await reply_lasting(request, body, "text/html", mark, lasting)


async def _section(request: Request, media_type: str, write: _Write, shown: Callable[[Address], Address]) -> Response:
    site, op, device, address = await _request_parts(request)
    address = shown(address)
    canonical = canonical_address(op, address)
    mark = _mark(site, op, device, canonical, media_type)
    known = cached_reply(request, mark, media_type)
    if known is not None:
        return known
    answer = await site.answers.of(op, device, address.question, request.is_disconnected)
    body = await write(answer, address, canonical)
    lasting = answer.header["failure"] is None and await site.is_current(op)
    return await reply_lasting(request, body, media_type, mark, lasting)


async def _json(answer: Answer, _: Address, canonical: str) -> bytes:
    return json_document(answer, canonical)


async def _csv(answer: Answer, _: Address, __: str) -> bytes:
    return csv_table(answer)


async def _svg(answer: Answer, address: Address, _: str) -> bytes:
    return await asyncio.to_thread(figure_svg, answer, address)


async def _png(rasterizer: Rasterizer, answer: Answer, address: Address, _: str) -> bytes:
    return await rasterizer.png(await asyncio.to_thread(preview_svg, answer, address))


def _picture_address(address: Address) -> Address:
    return replace(curves_only(address), sliders=())


def _mark(site: Site, op: dict[str, Any], device: dict[str, Any], address: str, media_type: str) -> str:
    return fingerprint(site.build, op["digest"], address, repr(device), media_type)
