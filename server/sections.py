"""The addresses of one section: its page, its numbers, its table."""

from __future__ import annotations

from collections.abc import Callable
from difflib import get_close_matches
from typing import Any
from urllib.parse import quote

from fastapi import APIRouter, HTTPException, Request, Response

from .address import canonical
from .description import NAME, QUERY, documents, problems
from .document import document
from .engine import Answer
from .number import shown
from .query import read
from .reply import fingerprint, not_modified, passing, reply
from .site import Site
from .table import table

# The routes take the bare request: parameters that FastAPI converts cost the first page a tenth of its time.
router = APIRouter()


@router.get(
    "/ops/{name}.json",
    tags=["sections"],
    summary="The numbers of a section",
    responses={200: documents("Section", "Area", "Map", "Precision", "Wide", "Step"), **problems(404, 414, 422, 503)},
    response_class=Response,
    openapi_extra={"parameters": [NAME, *QUERY]},
)
async def numbers(request: Request) -> Response:
    """Forward, analytical, numerical and its error bound, one-sided slopes, marks and the verdict; or another view."""
    return await _section(request, "application/json", document)


@router.get(
    "/ops/{name}.csv",
    tags=["sections"],
    summary="The table of a section",
    responses={200: {"content": {"text/csv": {"schema": {"type": "string"}}}}, **problems(404, 414, 422, 503)},
    response_class=Response,
    openapi_extra={"parameters": [NAME, *QUERY]},
)
async def rows(request: Request) -> Response:
    """The columns of the numbers, one row for each x (cell, step), after a line with their names."""
    return await _section(request, "text/csv", lambda answer, _: table(answer))


@router.get("/ops/{name}", include_in_schema=False)
async def page(request: Request) -> Response:
    """The page; while torch is loading, one that says so."""
    site, name, query = Site.serving(request), request.path_params["name"], _query(request)
    if site.engine.starting:
        address = f"/ops/{quote(name)}.json" + (f"?{query}" if query else "")
        return passing(request, site.pages.waiting(shown(name), address), "text/html")
    device = await site.engine.device()
    op = await _op(site, name)
    body = site.pages.op(op, read(op, device, query), device)
    return reply(request, body, "text/html", fingerprint(body))


async def _section(request: Request, media_type: str, write: Callable[[Answer, str], bytes]) -> Response:
    site = Site.serving(request)
    device = await site.engine.device()
    op = await _op(site, request.path_params["name"])
    address = read(op, device, _query(request))
    shortest = canonical(op, address)
    known = not_modified(request, _mark(site, op, device, shortest, media_type))
    if known is not None:
        return known
    answer = await site.engine.answer(address.question, request.is_disconnected)
    body = write(answer, shortest)
    if answer.header["failure"] is not None:  # it may go better the next time
        return passing(request, body, media_type)
    # Meanwhile the worker may have been replaced by one that has loaded other code.
    op, device = await _op(site, op["name"]), await site.engine.device()
    return reply(request, body, media_type, _mark(site, op, device, shortest, media_type))


def _mark(site: Site, op: dict[str, Any], device: dict[str, Any], address: str, media_type: str) -> str:
    return fingerprint(site.build, op["digest"], address, repr(device), media_type)


async def _op(site: Site, name: str) -> dict[str, Any]:
    ops = await site.engine.catalogue()
    if name in ops:
        return ops[name]
    stem, _, ending = name.rpartition(".")
    if stem in ops:
        raise HTTPException(404, f"There is no format {shown(ending)!r}; allowed are .json and .csv after /ops/{stem}.")
    close = get_close_matches(name[:80], ops, 1)
    hint = f"did you mean {close[0]}? The gallery at / shows them all." if close else "the gallery at / shows them all."
    raise HTTPException(404, f"There is no op {shown(name)!r}; {hint}")


def _query(request: Request) -> str:
    query: bytes = request.scope["query_string"]
    return query.decode("latin-1")
