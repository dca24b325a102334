"""The way of every request to a reply that is cached: its mark, what there is under it, else what is computed."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

from fastapi import Request, Response

from ..cache.visitor import Visitor
from ..http.responses import EncodedBody, cached_reply, encoded, etag, reply_lasting
from ..protocol.fingerprint import fingerprint
from ..schema.op import OpDescription
from ..supervisor.single_flight import IsDisconnected
from .context import Site


async def computed_once(
    request: Request,
    kind: str,
    media_type: str,
    ops: Sequence[OpDescription],
    address: str,
    body: Callable[[Visitor], Awaitable[tuple[bytes, bool]]],
) -> Response:
    """The reply to a request about these ``ops``, under its canonical ``address``.

    ``body`` computes the bytes for the visitor who asks first, and tells whether they would be the same again, so that
    they may be cached; that takes as well that the code of the ops is still what is loaded. ``kind`` is what they
    depend on beside the address, the code of the ops and the devices.
    """
    site = Site.serving(request)
    device = repr(await site.engine.device())
    mark = fingerprint(site.build, *(op["digest"] for op in ops), address, device, kind)
    response = cached_reply(request, mark, media_type)
    if response is not None:
        return response
    visitor = site.visitor(request)

    async def make(gone: IsDisconnected) -> tuple[bytes, bool]:
        made, lasting = await body(replace(visitor, gone=gone))
        return made, lasting and all([await site.is_current(op) for op in ops])

    return await made_once(request, media_type, mark, make, visitor.gone)


async def made_once(
    request: Request,
    media_type: str,
    mark: str,
    make: Callable[[IsDisconnected], Awaitable[tuple[bytes, bool]]],
    gone: IsDisconnected | None = None,
) -> Response:
    """The reply with the body that ``make`` returns, and whether it lasts: made once for all who ask at the same time.

    ``gone`` tells whether this client has disconnected, None where that makes no difference.
    """

    async def sent(deserted: IsDisconnected) -> tuple[EncodedBody, bool]:
        body, lasting = await make(deserted)
        return await encoded(request, body, media_type), lasting

    reply, lasting = await asyncio.shield(Site.serving(request).replies.join(etag(request, mark), sent, gone))
    return reply_lasting(request, reply, media_type, mark, lasting)
