"""What all routes share: the door, the pages, the files, and the fingerprint of the code that writes the answers."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from fastapi import Request

from .. import __version__
from .assets import Assets
from .engine import Engine
from .pages import Pages
from .reply import fingerprint
from .thumbnails import Thumbnails


@dataclass(frozen=True)
class Site:
    """One running server."""

    engine: Engine
    assets: Assets
    pages: Pages
    thumbnails: Thumbnails
    build: str

    @classmethod
    def of(cls, engine: Engine) -> Site:
        """Everything that stands on this engine."""
        assets = Assets()
        sources = [path.read_bytes() for path in sorted(Path(__file__).parent.rglob("*.py"))]
        return cls(engine, assets, Pages(assets), Thumbnails(engine), fingerprint(__version__, *sources))

    @classmethod
    def serving(cls, request: Request) -> Site:
        """The one that answers this request."""
        site: Site = request.app.state.site
        return site
