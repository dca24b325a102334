"""Responses with content coding by Accept-Encoding (brotli, gzip), ETag and Cache-Control, and a cache of the encoded
bodies.
"""

import asyncio
import gzip
import re
from dataclasses import dataclass
from functools import lru_cache, partial

import brotli
from cachetools import LRUCache
from fastapi import Request, Response

from ..protocol.fingerprint import fingerprint

_MAX_SHARE = 1 / 8  # of the cache, for one body


@dataclass(frozen=True)
class EncodedBody:
    """The bytes of a response, and their content coding; empty for none."""

    data: bytes
    coding: str


class ResponseCache:
    """LRU cache of encoded bodies, by mark (what the ETag is made of) and requested coding, in ``room`` bytes."""

    def __init__(self, room: int) -> None:
        self._bodies: LRUCache[tuple[str, str], EncodedBody] = LRUCache(room, lambda body: len(body.data))
        self.hits = 0

    @property
    def size(self) -> int:
        """The bytes in the cache."""
        return int(self._bodies.currsize)

    def find(self, mark: str, coding: str) -> EncodedBody | None:
        """The body cached under this mark for a client that asks for this coding."""
        body = self._bodies.get((mark, coding))
        self.hits += body is not None
        return body

    def keep(self, mark: str, coding: str, body: EncodedBody) -> None:
        """Cache a body, unless it is too large a part of the cache; the oldest ones make room."""
        if len(body.data) <= self._bodies.maxsize * _MAX_SHARE:
            self._bodies[mark, coding] = body


# Browsers revalidate every time, for a 304, so that curves are never out of date. Shared caches may keep a response for
# a minute. No stale-while-revalidate, as browsers would use it, too.
_SHARED = "public, max-age=0, s-maxage=60"
IMMUTABLE = "public, max-age=31536000, immutable"
NO_STORE = "no-store"
_UNCACHED = {"Cache-Control": NO_STORE, "Vary": "Accept-Encoding"}
_LARGE = 131_072  # bytes; larger bodies take over 5 ms to compress, so that is done in a thread
_MIN_COMPRESSED = 1024  # bytes; below, the headers outweigh the gain
_INCOMPRESSIBLE = ("image/png", "application/pdf")  # formats that are compressed already


def not_modified(request: Request, mark: str, cache: str) -> Response | None:
    """The 304 for a client that already has what ``mark`` stands for; else None."""
    tag = etag(request, mark)
    known = {each.strip().removeprefix("W/") for each in request.headers.get("if-none-match", "").split(",")}
    if tag not in known and "*" not in known:
        return None
    return Response(status_code=304, headers=_headers(tag, cache))


def cached_reply(request: Request, mark: str, media_type: str, cache: str = _SHARED) -> Response | None:
    """What is known without computing anything: the 304, or the body cached under ``mark``; else None."""
    known = not_modified(request, mark, cache)
    if known is not None:
        return known
    body = _bodies(request).find(mark, client_coding(request))
    return None if body is None else _response(body, media_type, 200, _headers(etag(request, mark), cache))


def reply(request: Request, body: bytes, media_type: str, mark: str = "", cache: str = _SHARED) -> Response:
    """``body``, cached here and by clients under ``mark``, by default its digest; or the 304."""
    mark = mark or fingerprint(body)
    known = cached_reply(request, mark, media_type, cache)
    if known is not None:
        return known
    return _keep(request, _encoded(body, media_type, client_coding(request)), media_type, mark, cache)


async def encoded(request: Request, body: bytes, media_type: str) -> EncodedBody:
    """``body`` for this client; compressed in a thread if it is large."""
    encode = partial(_encoded, body, media_type, client_coding(request))
    return await asyncio.to_thread(encode) if len(body) >= _LARGE else encode()


def reply_lasting(request: Request, sent: EncodedBody, media_type: str, mark: str, lasting: bool) -> Response:
    """What was encoded for this client, cached under ``mark`` where it is ``lasting``."""
    if lasting:
        return _keep(request, sent, media_type, mark, _SHARED)
    return _response(sent, media_type, 200, _UNCACHED)


def uncached_reply(request: Request, body: bytes, media_type: str, status: int = 200, retry_after: int = 0) -> Response:
    """``body``, not to be cached; ``retry_after`` is in seconds."""
    headers = _UNCACHED | ({"Retry-After": str(retry_after)} if retry_after else {})
    return _response(_encoded(body, media_type, client_coding(request)), media_type, status, headers)


def client_coding(request: Request) -> str:
    """The content coding to use for this client; empty for none."""
    return negotiate_coding(request.headers.get("accept-encoding", ""))


def etag(request: Request, mark: str) -> str:
    """The ETag of ``mark``: a strong one, so it differs by content coding."""
    coding = client_coding(request)
    return f'"{mark}-{coding}"' if coding else f'"{mark}"'


def _bodies(request: Request) -> ResponseCache:
    bodies: ResponseCache = request.app.state.bodies
    return bodies


def _keep(request: Request, sent: EncodedBody, media_type: str, mark: str, cache: str) -> Response:
    _bodies(request).keep(mark, client_coding(request), sent)
    return _response(sent, media_type, 200, _headers(etag(request, mark), cache))


def _headers(tag: str, cache: str) -> dict[str, str]:
    return {"ETag": tag, "Cache-Control": cache, "Vary": "Accept-Encoding"}


def _encoded(body: bytes, media_type: str, coding: str) -> EncodedBody:
    if not coding or len(body) < _MIN_COMPRESSED or media_type in _INCOMPRESSIBLE:
        return EncodedBody(body, "")
    return EncodedBody(compress(body, coding), coding)


def _response(body: EncodedBody, media_type: str, status: int, headers: dict[str, str]) -> Response:
    if body.coding:
        headers = headers | {"Content-Encoding": body.coding}
    return Response(body.data, status, headers, media_type)


CODINGS = ("br", "gzip")  # best first
_MAX_HEADER = 512  # characters of a header; longer ones are ignored
_WEIGHTED_CODING = re.compile(
    r"\s*([a-z*][a-z0-9-]*)\s*(?:;\s*q=(0(?:\.[0-9]{0,3})?|1(?:\.0{0,3})?)\s*)?", re.IGNORECASE
)
_FAST_LEVELS = {"br": 5, "gzip": 4}  # levels while a client waits: 0.3 ms for a page
_STATIC_LEVELS = {"br": 9, "gzip": 9}  # levels for static files: 0.3 s for the largest; brotli's 11 would take 6 s
_MAX_BEST = 65_536  # bytes; up to that size brotli's 11 is fast enough
BEST = 11


@lru_cache(256)
def negotiate_coding(accepted: str) -> str:
    """The coding to use for this Accept-Encoding; empty for none."""
    if len(accepted) > _MAX_HEADER:
        return ""
    weights: dict[str, float] = {}
    for each in accepted.split(","):
        match = _WEIGHTED_CODING.fullmatch(each)
        if match is not None:
            weights[match[1].lower()] = float(match[2] or 1)
    others = weights.get("*", 0.0)
    best = max(CODINGS, key=lambda coding: weights.get(coding, others))
    weight = weights.get(best, others)
    return best if weight > 0 and weight >= weights.get("identity", 0.0) else ""


def compress(body: bytes, coding: str) -> bytes:
    """``body`` in a coding, compressed fast, while a client waits."""
    return _compressed(body, coding, _FAST_LEVELS[coding]) if coding else body


def compress_well(body: bytes, coding: str) -> bytes:
    """``body`` in a coding, compressed well; slow, so to be called in a thread, for a file that is cached."""
    level = BEST if coding == "br" and len(body) <= _MAX_BEST else _STATIC_LEVELS.get(coding, 0)
    return _compressed(body, coding, level) if coding else body


def _compressed(body: bytes, coding: str, level: int) -> bytes:
    if coding == "gzip":
        return gzip.compress(body, level, mtime=0)
    compressed: bytes = brotli.compress(body, quality=level)
    return compressed
