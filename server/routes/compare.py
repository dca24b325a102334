"""Routes of ``/compare``: the page of two ops side by side, its JSON, and the form to choose two."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import orjson
from fastapi import APIRouter, Request, Response

from ..compare.chooser import chooser_context
from ..compare.page import ComparedPair, pair_context
from ..compare.pair_query import SIDES, QueryWords, named_ops, read_pair, split_query
from ..http.responses import cached_reply, reply, reply_lasting, uncached_reply
from ..protocol.fingerprint import fingerprint
from ..url.numbers import BadQuery
from .context import Site, query_string

_PATIENCE = 1.0  # seconds to wait for the answers before the page is sent without them

router = APIRouter()


@router.get("/compare", include_in_schema=False)
async def compare_page(request: Request) -> Response:
    """Two ops side by side, or the choice of them; while torch is loading, a page that says so."""
    site = Site.serving(request)
    if site.engine.starting:
        return uncached_reply(request, site.pages.waiting("Compare", "/healthz?wait=1"), "text/html")
    ops, given, base = await site.engine.catalogue(), split_query(query_string(request)), site.base(request)
    if not all(given.get(side) for side in SIDES):
        body = site.pages.choice(chooser_context(ops, given, base))
        return reply(request, body, "text/html")
    both, device = await _compared_pair(site, given), await site.engine.device()
    mark = _mark(site, both, device, f"page {base} {site.assets.digest}")
    known = cached_reply(request, mark, "text/html")
    if known is not None:
        return known
    left, right = await asyncio.gather(
        *(
            site.answers.soon(op, device, each.question, _PATIENCE)
            for op, each in zip(both.ops, both.pair.both, strict=True)
        )
    )
    if left is not None and right is not None:
        both = replace(both, answers=(left, right))
    body = site.pages.pair(pair_context(both, device, base))
    return await reply_lasting(request, body, "text/html", mark, await _is_lasting(site, both))


@router.get("/compare.json", include_in_schema=False)
async def compare_json(request: Request) -> Response:
    """What the page of a pair shows, for its own script: both answers, and what differs."""
    site = Site.serving(request)
    both, device = await _compared_pair(site, split_query(query_string(request))), await site.engine.device()
    mark = _mark(site, both, device, "json")
    known = cached_reply(request, mark, "application/json")
    if known is not None:
        return known
    left, right = await asyncio.gather(
        *(
            site.answers.of(op, device, each.question, request.is_disconnected)
            for op, each in zip(both.ops, both.pair.both, strict=True)
        )
    )
    both = replace(both, answers=(left, right))
    body = orjson.dumps(both.document())
    return await reply_lasting(request, body, "application/json", mark, await _is_lasting(site, both))


async def _compared_pair(site: Site, given: QueryWords) -> ComparedPair:
    ops, device = await site.engine.catalogue(), await site.engine.device()
    chosen = {side: await site.op(op["name"]) for side, op in named_ops(ops, given).items()}
    for side in SIDES:
        if side not in chosen:
            raise BadQuery(f"{side} is missing; name an op there, such as {side}={next(iter(ops))}.")
    left, right = chosen["left"], chosen["right"]
    return ComparedPair((left, right), read_pair(left, right, device, given), None)


async def _is_lasting(site: Site, both: ComparedPair) -> bool:
    """Whether this may be cached: both answers are there, none failed, and no other code was loaded meanwhile."""
    if both.answers is None or any(answer.header["failure"] for answer in both.answers):
        return False
    return all([await site.is_current(op) for op in both.ops])


def _mark(site: Site, both: ComparedPair, device: dict[str, Any], kind: str) -> str:
    digests = (op["digest"] for op in both.ops)
    return fingerprint(site.build, *digests, both.address, repr(device), f"compare {kind}")
