"""Routes of hot reload: the event stream ``GET /events`` (server-sent events), and ``POST /reload``."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import aclosing, suppress
from typing import Any

from fastapi import APIRouter, HTTPException, Request, Response
from fastapi.responses import StreamingResponse
from fastapi.sse import KEEPALIVE_COMMENT, format_sse_event

from ..http.responses import NO_STORE, uncached_reply
from ..reload.composite_engine import CompositeEngine
from ..reload.reloader import Reloader
from .context import Site

_KEEPALIVE_INTERVAL = 15.0  # seconds between keep-alive comments, for proxies that time out
_RETRY = 1000  # ms until a browser reconnects
_MEDIA_TYPE = "text/event-stream"
# Proxies must not buffer the stream.
_HEADERS = {"Cache-Control": f"{NO_STORE}, no-transform", "X-Accel-Buffering": "no"}
_NONE = "This server follows no file; started as gradloupe my_ops.py it tells here when that is saved."

router = APIRouter()


@router.get("/events", include_in_schema=False)
async def events(request: Request) -> Response:
    """The state of the visitor's own Functions, now and whenever it is another, as server-sent events."""
    loads = _loads(request)
    if request.scope.get("asked") == "HEAD":
        return Response(media_type=_MEDIA_TYPE, headers=_HEADERS)
    return StreamingResponse(_told(loads), media_type=_MEDIA_TYPE, headers=_HEADERS)


@router.post("/reload", include_in_schema=False)
async def reload(request: Request) -> Response:
    """Load the files as they are now; the state once that is done."""
    loads = _loads(request)
    await loads.reload()
    return uncached_reply(request, json.dumps(loads.state()).encode(), "application/json")


async def _told(loads: Reloader) -> AsyncIterator[bytes]:
    """Each state as an event, and a comment when there was none for a while."""
    async with aclosing(loads.changes()) as changes:
        retry: int | None = _RETRY
        coming = asyncio.create_task(_next(changes))
        try:
            while True:
                await asyncio.wait({coming}, timeout=_KEEPALIVE_INTERVAL)
                if not coming.done():
                    yield KEEPALIVE_COMMENT
                    continue
                state = coming.result()
                if state is None:
                    return
                yield format_sse_event(data_str=json.dumps(state), retry=retry)
                retry = None
                coming = asyncio.create_task(_next(changes))
        finally:
            coming.cancel()
            with suppress(asyncio.CancelledError):
                await coming


async def _next(changes: AsyncIterator[dict[str, Any]]) -> dict[str, Any] | None:
    return await anext(changes, None)


def _loads(request: Request) -> Reloader:
    door = Site.serving(request).engine
    if not isinstance(door, CompositeEngine):
        raise HTTPException(404, _NONE)
    return door.own
