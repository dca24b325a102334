"""Routes of ``/compare``: the page of two ops side by side, its JSON, and the form to choose two."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial

import orjson
from fastapi import APIRouter, Request, Response

from ..cache.visitor import Visitor
from ..compare.page import ComparedPair, chooser_context, pair_context
from ..compare.pair_query import SIDES, named_ops, pair_words, read_pair
from ..compare.picture import pair_svg
from ..figure.sheet_svg import printed_theme
from ..http.responses import reply, uncached_reply
from ..protocol.answer import curves_of
from ..reload.composite_engine import AnyEngine
from ..schema.op import DeviceSummary, OpDescription
from ..url.numbers import BadQuery
from ..url.parse import QueryWords
from ..url.representations import PICTURES, REPRESENTATIONS
from .context import Site, computed_once, query_string

_PATIENCE = 1.0  # seconds to wait for the answers before the page is sent without them

_WritePair = Callable[[ComparedPair, DeviceSummary, Visitor], Awaitable[tuple[bytes, bool]]]

router = APIRouter()


@router.get("/compare", include_in_schema=False)
async def compare_page(request: Request) -> Response:
    """Two ops side by side, or the choice of them; while torch is loading, a page that says so."""
    site = Site.serving(request)
    given, base = pair_words(query_string(request)), site.base(request)
    if await _waits(site.engine, given):
        return uncached_reply(request, site.pages.waiting("Compare", "/healthz?wait=1"), "text/html")
    if not all(given.get(side) for side in SIDES):
        ops = await site.engine.catalogue()
        body = site.pages.choice(chooser_context(ops, await _chosen(site, given), given, base))
        return reply(request, body, "text/html")

    async def rendered(both: ComparedPair, device: DeviceSummary, visitor: Visitor) -> tuple[bytes, bool]:
        sides = zip(both.ops, both.pair.both, strict=True)
        soon = (site.answers.soon(op, device, each.question, _PATIENCE, visitor) for op, each in sides)
        left, right = await asyncio.gather(*soon)
        if left is not None and right is not None:
            both = replace(both, answers=(curves_of(left), curves_of(right)))
        return await asyncio.to_thread(lambda: site.pages.pair(pair_context(both, device, base))), _is_lasting(both)

    return await _pair(request, f"compare page {base} {site.assets.digest}", "text/html", rendered)


@router.get("/compare.json", include_in_schema=False)
async def compare_json(request: Request) -> Response:
    """What the page of a pair shows, for its own script: both answers, and what differs."""
    site = Site.serving(request)

    async def written(both: ComparedPair, device: DeviceSummary, visitor: Visitor) -> tuple[bytes, bool]:
        both = await _answered(site, both, device, visitor)
        return orjson.dumps(both.document(site.pages)), _is_lasting(both)

    return await _pair(request, "compare json", "application/json", written)


def _picture(ending: str) -> Callable[[Request], Awaitable[Response]]:
    """The handler for the picture of a pair, 1200 by 800; one of pixels or for print has no theme "auto"."""
    media_type = REPRESENTATIONS[ending].media_type

    async def handle(request: Request) -> Response:
        site = Site.serving(request)
        rasterizer = site.rasterizer

        async def drawn(both: ComparedPair, device: DeviceSummary, visitor: Visitor) -> tuple[bytes, bool]:
            both, theme = await _answered(site, both, device, visitor), both.pair.left.theme
            if ending == "svg":
                picture = (await asyncio.to_thread(pair_svg, both, theme)).encode()
            else:
                svg = await asyncio.to_thread(pair_svg, both, printed_theme(theme))
                picture = await (rasterizer.png(svg) if ending == "png" else rasterizer.pdf(svg))
            return picture, _is_lasting(both)

        return await _pair(request, f"compare {ending}", media_type, drawn)

    return handle


for _ending in PICTURES:
    router.add_api_route(f"/compare.{_ending}", _picture(_ending), include_in_schema=False)


async def _waits(engine: AnyEngine, given: QueryWords) -> bool:
    """Whether it is not known yet if there are the ops that are named; or all ops, where one is to be chosen."""
    named = [given.get(side, "") for side in SIDES]
    return any([await engine.waits_for(name) for name in named]) if all(named) else engine.starting


async def _answered(site: Site, both: ComparedPair, device: DeviceSummary, visitor: Visitor) -> ComparedPair:
    """The pair with both answers."""
    sides = zip(both.ops, both.pair.both, strict=True)
    answers = (site.answers.of(op, device, each.question, visitor) for op, each in sides)
    left, right = await asyncio.gather(*answers)
    return replace(both, answers=(curves_of(left), curves_of(right)))


async def _pair(request: Request, kind: str, media_type: str, write: _WritePair) -> Response:
    """The reply for the pair that a query names."""
    site = Site.serving(request)
    both, device = await _compared_pair(site, pair_words(query_string(request))), await site.engine.device()
    return await computed_once(request, kind, media_type, both.ops, both.address, partial(write, both, device))


async def _compared_pair(site: Site, given: QueryWords) -> ComparedPair:
    chosen, device = await _chosen(site, given), await site.engine.device()
    for side in SIDES:
        if side not in chosen:
            example = next(iter(await site.engine.catalogue()))
            raise BadQuery(f"{side} is missing; name an op there, such as {side}={example}.", side)
    left, right = chosen["left"], chosen["right"]
    return ComparedPair((left, right), read_pair(left, right, device, given), None)


async def _chosen(site: Site, given: QueryWords) -> dict[str, OpDescription]:
    """The ops that the query names, by side."""
    named = named_ops(await site.engine.catalogue(), given)
    return {side: await site.op(op["name"]) for side, op in named.items()}


def _is_lasting(both: ComparedPair) -> bool:
    """Whether both answers are there, and none failed."""
    return both.answers is not None and not any(answer.header["failure"] for answer in both.answers)
