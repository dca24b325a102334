"""The way of every request to a reply that is cached: its mark, what there is under it, else what is computed."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from fastapi import Request, Response

from ..http.responses import cached_reply, reply_lasting
from ..protocol.fingerprint import fingerprint
from ..schema.op import OpDescription
from .context import Site, query_string


@dataclass(frozen=True)
class Computation:
    """What a request asks for, once its query is read: the ``ops`` that it is about, and the canonical ``address``.

    ``body`` computes the bytes, and tells whether they would be the same again, so that they may be cached; that takes
    as well that the code of the ops is still what is loaded.
    """

    ops: tuple[OpDescription, ...]
    address: str
    body: Callable[[], Awaitable[tuple[bytes, bool]]]


async def computed_once(
    request: Request, kind: str, media_type: str, read: Callable[[], Awaitable[Computation]]
) -> Response:
    """The reply to a request; ``read`` is called where its query was not asked before, and may raise ``BadQuery``.

    ``kind`` is what the body depends on beside the query, the code of the ops and the devices.
    """
    site = Site.serving(request)
    query, device = query_string(request), repr(await site.engine.device())
    place = (kind, request.scope["path"], device)
    mark = await site.marks.find(query, *place)
    response = None if mark is None else cached_reply(request, mark, media_type)
    if response is not None:
        return response
    asked = await read()
    mark = fingerprint(site.build, *(op["digest"] for op in asked.ops), asked.address, device, kind)
    site.marks.keep(mark, asked.ops, query, *place)
    response = cached_reply(request, mark, media_type)
    if response is not None:
        return response
    body, lasting = await asked.body()
    lasting = lasting and all([await site.is_current(op) for op in asked.ops])
    return await reply_lasting(request, body, media_type, mark, lasting)
