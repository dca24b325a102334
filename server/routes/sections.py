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

from .. import figure as picture
from ..cache.answer_cache import current_digest
from ..documents.csv_table import csv_table
from ..documents.json_document import json_document
from ..html.pages import Pages, SectionPage
from ..http.openapi import (
    NAME_PARAMETER,
    QUERY_PARAMETERS,
    image_response,
    json_responses,
    page_responses,
    problem_responses,
)
from ..http.responses import cached_reply, reply, reply_large, uncached_reply
from ..png.client import Rasterizer
from ..protocol.errors import Unsolved
from ..protocol.fingerprint import fingerprint
from ..supervisor.engine import Answer
from ..url.address import Address, canonical_address, curves_only, without_display_options
from ..url.numbers import printable_excerpt
from ..url.parse import read_address, read_recipe
from .context import Site

Write = Callable[[Answer, Address, str], Awaitable[bytes]]
Render = Callable[[Pages, SectionPage], bytes]

# Seconds to wait for the answer before a page is sent without a figure; an embed has nothing else to show.
_PATIENCE: dict[Render, float] = {Pages.op: 1.0, Pages.embed: 4.0}

# The routes take the bare request: parameters converted by FastAPI would add 10 % to the time of the first page.
router = APIRouter()


@router.get(
    "/ops/{name}.size.json",
    tags=["sections"],
    summary="How large the file of a section will be",
    responses={200: json_responses("Size"), **problem_responses(404, 414, 422, 503)},
    response_class=Response,
    openapi_extra={"parameters": [NAME_PARAMETER, *QUERY_PARAMETERS]},
)
async def size(request: Request) -> Response:
    """How many sections `/ops/{name}.html` computes for these `sliders`, and about how many bytes it will have."""
    site, op, device, address = await _asked(request)
    address = replace(
        without_display_options(curves_only(address)), sliders=address.sliders
    )  # theme and layout hardly change the size
    mark = _mark(site, op, device, canonical_address(op, address), f"size {site.assets.digest}")
    known = cached_reply(request, mark, "application/json")
    if known is not None:
        return known
    told, lasting = await site.exports.size(op, device, address, request.is_disconnected)
    body = json.dumps(told).encode()
    if lasting and await _stays(site, op):
        return reply(request, body, "application/json", mark)
    return uncached_reply(request, body, "application/json")


@router.get(
    "/ops/{name}.html",
    tags=["sections"],
    summary="A section as one file that works offline",
    responses={200: {"content": {"text/html": {"schema": {"type": "string"}}}}, **page_responses(404, 414, 422, 503)},
    response_class=Response,
    openapi_extra={"parameters": [NAME_PARAMETER, *QUERY_PARAMETERS]},
)
async def file(request: Request) -> Response:
    """The figure with everything that it needs, its `sliders` live on answers that were computed beforehand."""
    site, op, device, address = await _asked(request)
    address = replace(curves_only(address), width=None, height=None)
    base = site.base(request)
    mark = _mark(site, op, device, base + canonical_address(op, address), f"text/html {site.assets.digest}")
    response = cached_reply(request, mark, "text/html")
    if response is None:
        body, lasting = await site.exports.file(op, device, address, base, request.is_disconnected)
        if lasting and await _stays(site, op):
            response = await reply_large(request, body, "text/html", mark)
        else:
            response = uncached_reply(request, body, "text/html")
    response.headers["Content-Disposition"] = f'attachment; filename="{op["name"]}.html"'
    return response


@router.get(
    "/ops/{name}.json",
    tags=["sections"],
    summary="The numbers of a section",
    responses={
        200: json_responses(
            "Section", "Area", "Map", "Precision", "Wide", "Step", "Jacobian", "Surface", "Contract", "Node", "Descent"
        ),
        **problem_responses(404, 414, 422, 503),
    },
    response_class=Response,
    openapi_extra={"parameters": [NAME_PARAMETER, *QUERY_PARAMETERS]},
)
async def numbers(request: Request) -> Response:
    """Forward, analytical, numerical and its error bound, one-sided slopes, marks and the verdict; or another view."""
    return await _section(request, "application/json", _json, without_display_options)


@router.get(
    "/ops/{name}.csv",
    tags=["sections"],
    summary="The table of a section",
    responses={200: {"content": {"text/csv": {"schema": {"type": "string"}}}}, **problem_responses(404, 414, 422, 503)},
    response_class=Response,
    openapi_extra={"parameters": [NAME_PARAMETER, *QUERY_PARAMETERS]},
)
async def rows(request: Request) -> Response:
    """The columns of the numbers, one row for each x (cell, step), after a line with their names."""
    return await _section(request, "text/csv", _csv, without_display_options)


@router.get(
    "/ops/{name}.svg",
    tags=["sections"],
    summary="The picture of a section",
    responses={200: image_response("image/svg+xml"), **problem_responses(404, 414, 422, 503)},
    response_class=Response,
    openapi_extra={"parameters": [NAME_PARAMETER, *QUERY_PARAMETERS]},
)
async def drawing(request: Request) -> Response:
    """The curves with their title, verdict and legend: 1200 by 900, or `width` by `height`."""
    return await _section(request, "image/svg+xml", _svg, _pictured)


@router.get(
    "/ops/{name}.png",
    tags=["sections"],
    summary="The picture of a section in pixels",
    responses={200: image_response("image/png"), **problem_responses(404, 414, 422, 503)},
    response_class=Response,
    openapi_extra={"parameters": [NAME_PARAMETER, *QUERY_PARAMETERS]},
)
async def preview(request: Request) -> Response:
    """The same picture in pixels: 1200 by 630, or `width` by `height`."""
    return await _section(request, "image/png", partial(_png, Site.serving(request).rasterizer), _pictured)


@router.get("/ops/{name}", include_in_schema=False)
async def op_page(request: Request) -> Response:
    """The page; while torch is loading, one that says so."""
    return await _page(request, Pages.op)


@router.get("/embed/{name}", include_in_schema=False)
async def embed(request: Request) -> Response:
    """The figure alone, for the frame of another page."""
    return await _page(request, Pages.embed)


async def _asked(request: Request) -> tuple[Site, dict[str, Any], dict[str, Any], Address]:
    site = Site.serving(request)
    op, query = await _op(site, request), _query(request)
    device = await site.engine.device()
    return site, op, device, read_address(op, device, query)


async def _op(site: Site, request: Request) -> dict[str, Any]:
    """The op that the path names, by the recipe in the query."""
    return await site.op(request.path_params["name"], read_recipe(_query(request)))


async def _page(request: Request, render: Render) -> Response:
    site, name, query = Site.serving(request), request.path_params["name"], _query(request)
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
    passes = answer is None or answer.header["failure"] is not None or not await _stays(site, op)
    return uncached_reply(request, body, "text/html") if passes else reply(request, body, "text/html", mark)


async def _section(request: Request, media_type: str, write: Write, of: Callable[[Address], Address]) -> Response:
    site, op, device, address = await _asked(request)
    address = of(address)
    shortest = canonical_address(op, address)
    mark = _mark(site, op, device, shortest, media_type)
    known = cached_reply(request, mark, media_type)
    if known is not None:
        return known
    answer = await site.answers.of(op, device, address.question, request.is_disconnected)
    body = await write(answer, address, shortest)
    # Not cached: a failure, which may not happen again, and an answer that may be of replaced code.
    if answer.header["failure"] is not None or not await _stays(site, op):
        return uncached_reply(request, body, media_type)
    return await reply_large(request, body, media_type, mark)


async def _json(answer: Answer, _: Address, shortest: str) -> bytes:
    return json_document(answer, shortest)


async def _csv(answer: Answer, _: Address, __: str) -> bytes:
    return csv_table(answer)


async def _svg(answer: Answer, address: Address, _: str) -> bytes:
    return await asyncio.to_thread(picture.figure_svg, answer, address)


async def _png(rasterizer: Rasterizer, answer: Answer, address: Address, _: str) -> bytes:
    return await rasterizer.png(await asyncio.to_thread(picture.preview_svg, answer, address))


def _pictured(address: Address) -> Address:
    return replace(curves_only(address), sliders=())


async def _stays(site: Site, op: dict[str, Any]) -> bool:
    """Whether the same code is loaded as when the request began."""
    return await current_digest(site.engine, op["name"]) == op["digest"]


def _mark(site: Site, op: dict[str, Any], device: dict[str, Any], address: str, media_type: str) -> str:
    return fingerprint(site.build, op["digest"], address, repr(device), media_type)


def _query(request: Request) -> str:
    query: bytes = request.scope["query_string"]
    return query.decode("latin-1")
