"""Static files: immutable under an address with their digest, compressed once for each content coding."""

import asyncio
from functools import cache

from fastapi import Request, Response

from ..html.assets import Asset, Assets
from .responses import IMMUTABLE, NO_STORE, client_coding, compress_well, etag, not_modified

_EXACT = "x-exact"  # asked for by deploy/nginx/nginx.conf


class StaticFiles:
    """The files of ``assets``, with the encoded bytes of each coding requested so far; ``root`` is that of the site."""

    def __init__(self, assets: Assets, root: str) -> None:
        self._assets = assets
        self._root = root
        self._written: dict[tuple[str, str], asyncio.Task[bytes]] = {}

    async def serve(self, request: Request, digest: str, name: str) -> Response | None:
        """The file; None where there is no such file.

        Under another digest a redirect to the present address, or None for a proxy that can ask a server of that build.
        """
        asset, earlier = self._assets.find(name), digest != self._assets.digest
        if asset is None or (earlier and _EXACT in request.headers):
            return None
        if earlier:
            headers = {"Location": self._root + self._assets.address(name), "Cache-Control": NO_STORE}
            return Response(status_code=307, headers=headers)
        known = not_modified(request, digest, IMMUTABLE)
        if known is not None:
            return known
        wanted = client_coding(request)
        if (name, wanted) not in self._written:
            self._written[name, wanted] = asyncio.create_task(asyncio.to_thread(_encoded, asset, wanted))
        try:
            body = await asyncio.shield(self._written[name, wanted])
        except OSError:
            self._written.pop((name, wanted), None)
            raise
        headers = {"Cache-Control": IMMUTABLE, "ETag": etag(request, digest), "Vary": "Accept-Encoding"}
        if wanted:
            headers["Content-Encoding"] = wanted
        return Response(body, headers=headers, media_type=asset.media_type)


@cache
def _encoded(asset: Asset, wanted: str) -> bytes:
    if wanted == "br" and asset.ready is not None:
        return asset.ready.read_bytes()
    return compress_well(asset.read(), wanted)
