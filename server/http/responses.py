"""Responses: compressed for those who take it, and not sent twice to those who have them."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from dataclasses import dataclass

from fastapi import Request, Response

from .compression import preferred, written

_SHARE = 1 / 8  # of the room, for one body


@dataclass(frozen=True)
class Body:
    """The bytes of a response, and the coding they are in; empty for none."""

    data: bytes
    coding: str


class Bodies:
    """The bodies sent last, by their mark and the coding that was asked for, in ``room`` bytes."""

    def __init__(self, room: int) -> None:
        self._room = room
        self._kept: OrderedDict[tuple[str, str], Body] = OrderedDict()
        self.size = 0
        self.hits = 0

    def find(self, mark: str, coding: str) -> Body | None:
        """What was sent under this mark to a client that asked for this coding."""
        found = self._kept.get((mark, coding))
        if found is not None:
            self._kept.move_to_end((mark, coding))
            self.hits += 1
        return found

    def keep(self, mark: str, coding: str, body: Body) -> None:
        """Keep this one, unless it would drive out too many, and the newest others as far as there is room."""
        if len(body.data) > self._room * _SHARE:
            return
        before = self._kept.pop((mark, coding), None)
        self._kept[mark, coding] = body
        self.size += len(body.data) - (len(before.data) if before else 0)
        while self.size > self._room:
            _, oldest = self._kept.popitem(last=False)
            self.size -= len(oldest.data)


# A browser asks again every time, which costs a 304: once an op has changed, nobody looks at its old curves. A cache
# that serves many need not ask for a minute. No stale-while-revalidate, for browsers would take it for themselves, too.
_SHARED = "public, max-age=0, s-maxage=60"
IMMUTABLE = "public, max-age=31536000, immutable"
NO_STORE = "no-store"
_LARGE = 131_072  # bytes; what takes longer than 5 ms to be compressed is, in a thread
WORTH_COMPRESSING = 1024  # bytes; below, the gain is lost in the headers
COMPRESSED = ("image/png",)  # in themselves


def not_modified(request: Request, mark: str, cache: str = _SHARED) -> Response | None:
    """The 304 for a client that already has what ``mark`` stands for."""
    ours = etag(request, mark)
    known = {each.strip().removeprefix("W/") for each in request.headers.get("if-none-match", "").split(",")}
    if ours not in known and "*" not in known:
        return None
    return Response(status_code=304, headers=_headers(ours, cache))


def kept(request: Request, mark: str, media_type: str, cache: str = _SHARED) -> Response | None:
    """What can be answered without asking anybody: the 304, or the body that was sent under ``mark`` before."""
    known = not_modified(request, mark, cache)
    if known is not None:
        return known
    found = _bodies(request).find(mark, coding(request))
    return None if found is None else _response(found, media_type, 200, _headers(etag(request, mark), cache))


def reply(request: Request, body: bytes, media_type: str, mark: str, cache: str = _SHARED) -> Response:
    """``body``, kept here and to be kept by others under ``mark``; or the 304 that says it was kept."""
    known = kept(request, mark, media_type, cache)
    if known is not None:
        return known
    return _keep(request, _written(body, media_type, coding(request)), media_type, mark, cache)


async def reply_large(request: Request, body: bytes, media_type: str, mark: str, cache: str = _SHARED) -> Response:
    """The same, for a body that may take long to be compressed."""
    if len(body) < _LARGE:
        return reply(request, body, media_type, mark, cache)
    sent = await asyncio.to_thread(_written, body, media_type, coding(request))
    return not_modified(request, mark, cache) or _keep(request, sent, media_type, mark, cache)


def passing(request: Request, body: bytes, media_type: str, status: int = 200, retry_after: int = 0) -> Response:
    """``body``, true for the moment and not to be kept; ``retry_after`` is in seconds."""
    headers = {"Cache-Control": NO_STORE, "Vary": "Accept-Encoding"}
    if retry_after:
        headers["Retry-After"] = str(retry_after)
    return _response(_written(body, media_type, coding(request)), media_type, status, headers)


def coding(request: Request) -> str:
    """The content coding that the client asks for; empty for none."""
    return preferred(request.headers.get("accept-encoding", ""))


def etag(request: Request, mark: str) -> str:
    """The ETag of ``mark``: a strong one stands for these very bytes, so in another coding there is another."""
    wanted = coding(request)
    return f'"{mark}-{wanted}"' if wanted else f'"{mark}"'


def _bodies(request: Request) -> Bodies:
    bodies: Bodies = request.app.state.bodies
    return bodies


def _keep(request: Request, sent: Body, media_type: str, mark: str, cache: str) -> Response:
    _bodies(request).keep(mark, coding(request), sent)
    return _response(sent, media_type, 200, _headers(etag(request, mark), cache))


def _headers(tag: str, cache: str) -> dict[str, str]:
    return {"ETag": tag, "Cache-Control": cache, "Vary": "Accept-Encoding"}


def _written(body: bytes, media_type: str, wanted: str) -> Body:
    if not wanted or len(body) < WORTH_COMPRESSING or media_type in COMPRESSED:
        return Body(body, "")
    return Body(written(body, wanted), wanted)


def _response(body: Body, media_type: str, status: int, headers: dict[str, str]) -> Response:
    if body.coding:
        headers = headers | {"Content-Encoding": body.coding}
    return Response(body.data, status, headers, media_type)
