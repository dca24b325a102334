"""Routes of the user's own files: ``/own``, the event stream ``GET /events`` (server-sent events), ``POST /reload``."""

import json
from collections.abc import AsyncIterator
from contextlib import aclosing
from urllib.parse import quote

from fastapi import APIRouter, HTTPException, Request, Response
from fastapi.responses import RedirectResponse, StreamingResponse
from fastapi.sse import KEEPALIVE_COMMENT, format_sse_event
from starlette.types import Receive, Scope, Send

from ..cache.visitor import Shares, Visitor
from ..http.responses import NO_STORE, uncached_reply
from ..protocol.errors import EngineBusy
from ..reload.composite_engine import CompositeEngine
from ..reload.reloader import Reloader, ReloadState
from .context import Site
from .gallery import WAIT_QUERY

_KEEPALIVE_INTERVAL = 15.0  # seconds between keep-alive comments, for proxies that time out
_RETRY = 1000  # ms until a browser reconnects
_MEDIA_TYPE = "text/event-stream"
# Proxies must not buffer the stream.
_HEADERS = {"Cache-Control": f"{NO_STORE}, no-transform", "X-Accel-Buffering": "no"}
_NO_FILE = "This server follows no file; started as gradloupe my_ops.py it tells here when that is saved."
_GALLERY_ONLY = (
    "This server shows the gallery alone, which is at /; started as gradloupe my_ops.py it shows the Functions of"
    " that file here."
)

router = APIRouter()


class _EventStream(StreamingResponse):
    """An event stream, one of so many that a visitor may have open at once."""

    def __init__(self, events: AsyncIterator[bytes], streams: Shares, visitor: Visitor) -> None:
        super().__init__(events, media_type=_MEDIA_TYPE, headers=_HEADERS)
        self._streams, self._visitor = streams, visitor

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._streams.one(self._visitor.address):
            await super().__call__(scope, receive, send)


@router.get("/own", include_in_schema=False)
async def own(request: Request) -> Response:
    """The way to the first Function; a page that waits while the file is imported, or says why it cannot be."""
    site, reloader = Site.serving(request), _reloader(request, _GALLERY_ONLY)
    if request.url.query == WAIT_QUERY:
        await _loaded(reloader)
    state, file = reloader.state(), ", ".join(site.settings.targets)
    if state["first"] is not None:
        return RedirectResponse(f"{site.settings.root}/ops/{quote(state['first'])}", 303, {"Cache-Control": NO_STORE})
    if state["trouble"] is None:
        limit = f"{site.settings.loading:g} s"
        why = f"{file} is being imported, once torch is loaded; that may take {limit} at most, see --loading."
        page = site.pages.waiting("Your Functions", f"/own?{WAIT_QUERY}", why=why)
        return uncached_reply(request, page, "text/html")
    return uncached_reply(request, site.pages.trouble(state["trouble"], file, state["generation"]), "text/html")


async def _loaded(reloader: Reloader) -> None:
    """Return when the first load is finished; raises ``EngineBusy`` where the server ends before that."""
    async for state in reloader.changes():
        if state["generation"]:
            return
    raise EngineBusy


@router.get("/events", include_in_schema=False)
async def events(request: Request) -> Response:
    """The state of the visitor's own Functions, now and whenever it is another, as server-sent events."""
    reloader = _reloader(request, _NO_FILE)
    if request.scope.get("asked") == "HEAD":
        return Response(media_type=_MEDIA_TYPE, headers=_HEADERS)
    site = Site.serving(request)
    return _EventStream(_state_events(reloader), site.streams, site.visitor(request))


@router.post("/reload", include_in_schema=False)
async def reload(request: Request) -> Response:
    """Load the files as they are now; the state once that is done."""
    reloader = _reloader(request, _NO_FILE)
    await reloader.reload()
    return uncached_reply(request, json.dumps(reloader.state()).encode(), "application/json")


async def _state_events(reloader: Reloader) -> AsyncIterator[bytes]:
    """Each state as an event, and a comment when there was none for a while."""
    last: ReloadState | None = None
    async with aclosing(reloader.changes(_KEEPALIVE_INTERVAL)) as changes:
        async for state in changes:
            retry = None if last else _RETRY
            yield KEEPALIVE_COMMENT if state == last else format_sse_event(data_str=json.dumps(state), retry=retry)
            last = state


def _reloader(request: Request, missing: str) -> Reloader:
    """The reloader of the user's files; a 404 with the sentence ``missing`` where the server has none."""
    engine = Site.serving(request).engine
    if not isinstance(engine, CompositeEngine):
        raise HTTPException(404, missing)
    return engine.own
