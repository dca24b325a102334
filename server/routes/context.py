"""The application state that the routes share (engine, caches, pages, assets, settings), and the way of every request
to a reply that is cached: its mark, what there is under it, else what is computed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from fastapi import Request, Response

from ... import __version__
from ..cache.answer_cache import AnswerCache, current_digest
from ..cache.thumbnails import OWN_TIMEOUT, ThumbnailCache
from ..cache.visitor import Shares, Visitor
from ..config.settings import Settings
from ..config.target import course_folders
from ..exercises.grade import Grader
from ..html.assets import Assets
from ..html.course import Course, CourseFolders
from ..html.pages import Pages
from ..http.connection_limits import client_of_address
from ..http.responses import EncodedBody, cached_reply, encoded, etag, reply_lasting
from ..http.security_headers import OWN_SITE_ANCESTORS
from ..paths import TEMPLATES
from ..png.rasterizer import Rasterizer
from ..protocol.errors import UnknownOp
from ..protocol.fingerprint import fingerprint, source_digest
from ..protocol.listed import closest_match, did_you_mean, listed
from ..publish.export import FileWriter
from ..reload.composite_engine import AnyEngine
from ..schema.op import OpDescription
from ..supervisor.edits import EditLimits, Edits
from ..supervisor.single_flight import IsDisconnected, SingleFlight
from ..url.numbers import printable_excerpt
from ..url.representations import REPRESENTATIONS

_SOURCES = (".html", ".toml")  # of pages
_STREAMS = "One address may have {} open pages that follow the files; close some, and the others follow by themselves."


@dataclass(frozen=True)
class Site:
    """The state of one running server; ``replies`` are the bodies under way, and whether they may be cached."""

    engine: AnyEngine
    answers: AnswerCache
    replies: SingleFlight[tuple[EncodedBody, bool]]
    streams: Shares
    exports: FileWriter
    assets: Assets
    pages: Pages
    thumbnails: ThumbnailCache
    own_thumbnails: ThumbnailCache
    rasterizer: Rasterizer
    edits: Edits
    grader: Grader
    build: str
    settings: Settings
    folders: CourseFolders

    @classmethod
    def of(cls, engine: AnyEngine, settings: Settings) -> Site:
        """The state for this engine."""
        assets = Assets.shared()
        templates = (path.read_bytes() for path in sorted(Path(TEMPLATES).rglob("*.*")) if path.suffix in _SOURCES)
        build = fingerprint(__version__, source_digest(), settings.root, *templates)
        answers, streams = AnswerCache(engine, settings.requests_per_peer), Shares(settings.requests_per_peer, _STREAMS)
        own = ", ".join(settings.targets)
        framed = not own or settings.frame_ancestors not in OWN_SITE_ANCESTORS
        pages = Pages.shared(own, framed, settings.root)
        exports = FileWriter(answers)
        thumbnails = ThumbnailCache(engine), ThumbnailCache(engine, altogether=OWN_TIMEOUT)
        caches = answers, SingleFlight[tuple[EncodedBody, bool]](), streams
        edits = Edits(EditLimits(deadline=settings.deadline, waiting=max(1, settings.requests_per_peer // 2)))
        grader, folders = Grader(edits), CourseFolders(course_folders(settings.lessons, settings.targets))
        return cls(
            engine, *caches, exports, assets, pages, *thumbnails, Rasterizer(), edits, grader, build, settings, folders
        )

    async def course(self) -> Course:
        """The lessons and exercises, read again where a file was saved."""
        return await asyncio.to_thread(self.folders.course)

    def base(self, request: Request) -> str:
        """The base URL of this site, without a slash at the end."""
        return self.settings.url or f"{request.url.scheme}://{request.url.netloc}"

    def visitor(self, request: Request) -> Visitor:
        """Who asks."""
        host = request.client.host if request.client and self.settings.requests_per_peer else ""
        return Visitor(client_of_address(host), request.is_disconnected)

    @property
    def editable(self) -> bool:
        """Whether code may be edited here, as far as that is known by now."""
        known = self.edits.known_confinement
        return self.settings.play and (known is None or not known.refusal(self.settings.public))

    async def is_current(self, op: OpDescription) -> bool:
        """Whether the code of this op is still what is loaded."""
        return await current_digest(self.engine, op["name"]) == op["digest"]

    async def op(self, name: str, recipe: str = "") -> OpDescription:
        """The description of an op; an unknown name is a 404. Raises what ``Engine.op`` raises."""
        try:
            return await self.engine.op(name, recipe)
        except UnknownOp:
            raise _missing(name, await self.engine.catalogue()) from None

    @classmethod
    def serving(cls, request: Request) -> Site:
        """The state of the server that handles this request."""
        site: Site = request.app.state.site
        return site


def query_string(request: Request) -> str:
    """The query as it was sent."""
    query: bytes = request.scope["query_string"]
    return query.decode("latin-1")


def _missing(name: str, ops: Collection[str]) -> UnknownOp:
    """The error for an unknown op, with the nearest name or format."""
    stem, _, ending = name.rpartition(".")
    if stem in ops:
        allowed = listed([f".{each}" for each, shown in REPRESENTATIONS.items() if shown.gist])
        return UnknownOp(f"There is no format {printable_excerpt(ending)!r}; allowed are {allowed} after /ops/{stem}.")
    hint = did_you_mean(name, ops, "the gallery at / shows them all.")
    return UnknownOp(f"There is no op {printable_excerpt(name)!r}; {hint}", closest_match(name, ops))


Make = Callable[[Visitor], Awaitable[tuple[bytes, bool]]]


async def computed_once(
    request: Request, kind: str, media_type: str, ops: Sequence[OpDescription], address: str, make: Make
) -> Response:
    """The reply to a request about these ``ops``, under its canonical ``address``.

    ``kind`` is what it depends on beside the address, the code of the ops and the devices.
    """
    site = Site.serving(request)
    device = repr(await site.engine.device())
    mark = fingerprint(site.build, *(op["digest"] for op in ops), address, device, kind)
    return await made_once(request, mark, media_type, make, ops)


async def made_once(
    request: Request, mark: str, media_type: str, make: Make, ops: Sequence[OpDescription] = ()
) -> Response:
    """The reply that is known under ``mark``, else what ``make`` returns: once for all who ask at the same time.

    It makes the bytes for the visitor who asks first, and tells whether they would be the same again, so that they may
    be cached; that takes as well that the code of the ``ops`` is still what is loaded.
    """
    response = cached_reply(request, mark, media_type)
    if response is not None:
        return response
    site = Site.serving(request)
    visitor = site.visitor(request)

    async def sent(gone: IsDisconnected) -> tuple[EncodedBody, bool]:
        body, lasting = await make(replace(visitor, gone=gone))
        lasting = lasting and all([await site.is_current(op) for op in ops])
        return await encoded(request, body, media_type), lasting

    reply, lasting = await asyncio.shield(site.replies.join(etag(request, mark), sent, visitor.gone))
    return reply_lasting(request, reply, media_type, mark, lasting)
