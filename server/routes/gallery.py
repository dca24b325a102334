"""Route of ``/``: the gallery of all ops, the user's own first."""

import asyncio

from fastapi import APIRouter, Request, Response

from ..cache.thumbnails import MEASURING
from ..cache.visitor import Visitor
from ..html.gallery import HERO
from ..html.pages import SectionPage
from ..html.search import LONGEST
from ..html.social_tags import gallery_tags
from ..http.responses import uncached_reply
from ..protocol.answer import curves_of
from ..protocol.errors import UnknownOp
from ..protocol.fingerprint import fingerprint
from ..protocol.load_error import load_error as trouble_of
from ..reload.composite_engine import AnyEngine, CompositeEngine
from ..schema.op import DeviceSummary, LoadError
from ..url.address import canonical_address
from ..url.parse import read_address
from .context import Site, made_once

WAIT_QUERY = "wait=1"  # the query that is answered once the gallery can be shown
IMPORTING = "{} is still being imported; its Functions stand here as soon as that is done."
_PATIENCE = 1.0  # seconds that the page waits for its figure

router = APIRouter()


@router.get("/", include_in_schema=False)
async def gallery(request: Request) -> Response:
    """All ops, or those that ``q`` finds, the slow ones without curves; a page that says so while torch is loading."""
    site = Site.serving(request)
    if request.url.query == WAIT_QUERY:
        await _loaded(site.engine)
        return uncached_reply(request, b"{}", "application/json")
    if not _known(site.engine):
        return uncached_reply(request, site.pages.waiting("The gallery", f"/?{WAIT_QUERY}"), "text/html")
    file = ", ".join(site.settings.targets)
    trouble, generation = _of_own(site.engine, file)  # read first: a page with an older generation reloads itself
    ops, device = await site.engine.catalogue(), await site.engine.device()
    query = request.query_params.get("q", "").strip()[:LONGEST]
    social = gallery_tags(site.base(request), site.settings.public)
    mine, theirs = ({name: op for name, op in ops.items() if op["own"] is own} for own in (True, False))
    drawn = await site.thumbnails.of(theirs) | await site.own_thumbnails.of(mine)
    lasting = trouble is None and all(each["word"] != MEASURING for each in drawn.values())
    cards = (f"{op['digest']} {drawn[name]['word']}" for name, op in ops.items())
    around = (device, social, file, generation, query, site.editable, lasting)
    mark = fingerprint(site.build, site.assets.digest, *cards, repr(around), "gallery")

    async def rendered(visitor: Visitor) -> tuple[bytes, bool]:
        hero = None if query or mine or file else await _hero(site, device, site.base(request), visitor)
        shown = (ops, drawn, device, social, trouble, file, generation, hero, query, site.editable)
        body = await asyncio.to_thread(site.pages.gallery, *shown)
        return body, lasting and (hero is None or hero.answer is not None)

    return await made_once(request, mark, "text/html", rendered)


async def _hero(site: Site, device: DeviceSummary, base: str, visitor: Visitor) -> SectionPage | None:
    """The figure of the first screen; None where its Function is not served."""
    try:
        op = await site.engine.op(HERO)
    except UnknownOp:
        return None
    address = read_address(op, device, {})
    answer = await site.answers.soon(op, device, address.question, _PATIENCE, visitor)
    drawn = None if answer is None else curves_of(answer)
    return SectionPage(op, device, address, canonical_address(op, address), drawn, base)


def _known(door: AnyEngine) -> bool:
    """Whether the gallery can be shown; with user code, this has it loaded."""
    if not isinstance(door, CompositeEngine):
        return not door.starting
    door.want_gallery()
    return door.shows_gallery or not door.starting


async def _loaded(door: AnyEngine) -> None:
    """Return when the gallery can be shown."""
    await (door.wait_gallery() if isinstance(door, CompositeEngine) else door.wait_ready())


def _of_own(door: AnyEngine, file: str) -> tuple[LoadError | None, int]:
    """The load error of the user's own Functions, and the generation it belongs to."""
    if not isinstance(door, CompositeEngine):
        return None, 0
    if door.starting:
        return trouble_of(IMPORTING.format(file)), 0
    return door.own.trouble, door.own.generation
