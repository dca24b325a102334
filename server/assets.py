"""Static files, ours and those of installed packages, under an address that changes with their content."""

from __future__ import annotations

import asyncio
import gzip
import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from fastapi import Request, Response

from .highlight import colours
from .reply import IMMUTABLE, etag, not_modified, takes_gzip

OURS = Path(__file__).parents[1] / "static"
THEIRS = {
    "plotly.min.js": ("plotly", "package_data/plotly.min.js"),
    "swagger-ui-bundle.js": ("fastapi_swagger", "resources/swagger-ui-bundle.js"),
    "swagger-ui.css": ("fastapi_swagger", "resources/swagger-ui.css"),
}
MEDIA_TYPES = {  # written out, because what a system guesses depends on the system
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".woff2": "font/woff2",
}
LEVEL = 6


@dataclass(frozen=True)
class Asset:
    """One file: its media type, and how to get its bytes."""

    media_type: str
    read: Callable[[], bytes]

    def compressed(self) -> bytes:
        """The bytes in gzip."""
        return gzip.compress(self.read(), LEVEL, mtime=0)


class Assets:
    """Every static file by its path: read when asked for, compressed once."""

    def __init__(self) -> None:
        files = {path.relative_to(OURS).as_posix(): path for path in OURS.rglob("*") if path.suffix in MEDIA_TYPES}
        files |= {name: _inside(*place) for name, place in THEIRS.items()}
        digest = hashlib.blake2b(colours(), digest_size=6)
        for name, path in sorted(files.items()):
            with path.open("rb") as file:
                digest.update(name.encode() + hashlib.file_digest(file, "blake2b").digest())
        self.digest = digest.hexdigest()
        self._assets = {name: Asset(MEDIA_TYPES[path.suffix], path.read_bytes) for name, path in files.items()}
        self._assets["highlight.css"] = Asset(MEDIA_TYPES[".css"], colours)
        self._compressed: dict[str, asyncio.Task[bytes]] = {}

    def address(self, name: str) -> str:
        """Where a file is served; raises ``KeyError`` for one that is not there, so that no page names it."""
        if name not in self._assets:
            raise KeyError(f"there is no static file {name}")
        return f"/static/{self.digest}/{name}"

    async def serve(self, request: Request, digest: str, name: str) -> Response | None:
        """The file, to be kept for ever; None when there is none of that name and digest."""
        asset = self._assets.get(name)
        if asset is None or digest != self.digest:
            return None
        known = not_modified(request, digest, IMMUTABLE)
        if known is not None:
            return known
        headers = {"Cache-Control": IMMUTABLE, "ETag": etag(request, digest), "Vary": "Accept-Encoding"}
        if not takes_gzip(request):
            return Response(await asyncio.to_thread(asset.read), headers=headers, media_type=asset.media_type)
        if name not in self._compressed:
            self._compressed[name] = asyncio.create_task(asyncio.to_thread(asset.compressed))
        body = await asyncio.shield(self._compressed[name])
        return Response(body, headers=headers | {"Content-Encoding": "gzip"}, media_type=asset.media_type)


def _inside(package: str, path: str) -> Path:
    """A file of an installed package, without importing it."""
    spec = find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise FileNotFoundError(f"the package {package} is not installed; pip install {package.replace('_', '-')}")
    return Path(spec.submodule_search_locations[0]) / path
