"""Responses: compressed for those who take it, and not sent twice to those who have them."""

from __future__ import annotations

import gzip
import hashlib
import re

from fastapi import Request, Response

REVALIDATE = "public, max-age=0, must-revalidate"
IMMUTABLE = "public, max-age=31536000, immutable"
NO_STORE = "no-store"
WORTH_COMPRESSING = 1024  # bytes; below, the gain is lost in the headers
LEVEL = 4  # the default of 9 takes ten times as long for a tenth less


def fingerprint(*parts: str | bytes) -> str:
    """Text that differs when any of the parts does."""
    digest = hashlib.blake2b(digest_size=12)
    for part in parts:
        data = part if isinstance(part, bytes) else part.encode(errors="replace")
        digest.update(b"%d:" % len(data))
        digest.update(data)
    return digest.hexdigest()


def not_modified(request: Request, mark: str, cache: str = REVALIDATE) -> Response | None:
    """The 304 for a client that already has what ``mark`` stands for."""
    ours = etag(request, mark)
    known = {each.strip().removeprefix("W/") for each in request.headers.get("if-none-match", "").split(",")}
    if ours not in known and "*" not in known:
        return None
    return Response(status_code=304, headers=_headers(ours, cache))


def reply(request: Request, body: bytes, media_type: str, mark: str, cache: str = REVALIDATE) -> Response:
    """``body``, to be kept under ``mark``; or the 304 that says it was kept."""
    known = not_modified(request, mark, cache)
    return known or _compressed(request, body, media_type, 200, _headers(etag(request, mark), cache))


def passing(request: Request, body: bytes, media_type: str, status: int = 200, retry_after: int = 0) -> Response:
    """``body``, true for the moment and not to be kept; ``retry_after`` is in seconds."""
    headers = {"Cache-Control": NO_STORE, "Vary": "Accept-Encoding"}
    if retry_after:
        headers["Retry-After"] = str(retry_after)
    return _compressed(request, body, media_type, status, headers)


def takes_gzip(request: Request) -> bool:
    """Whether the client asks for gzip, with no ``q=0`` after it."""
    accepted = request.headers.get("accept-encoding", "").lower()
    found = re.search(r"(?:^|,)\s*gzip\s*(?:;\s*q=([0-9.]+))?\s*(?:,|$)", accepted)
    return found is not None and (found[1] or "1").strip("0.") != ""


def etag(request: Request, mark: str) -> str:
    """The ETag of ``mark``: a strong one stands for these very bytes, so the compressed ones have another."""
    return f'"{mark}-gzip"' if takes_gzip(request) else f'"{mark}"'


def _headers(tag: str, cache: str) -> dict[str, str]:
    return {"ETag": tag, "Cache-Control": cache, "Vary": "Accept-Encoding"}


def _compressed(request: Request, body: bytes, media_type: str, status: int, headers: dict[str, str]) -> Response:
    if len(body) >= WORTH_COMPRESSING and takes_gzip(request):
        body = gzip.compress(body, LEVEL, mtime=0)
        headers = headers | {"Content-Encoding": "gzip"}
    return Response(body, status, headers, media_type)
