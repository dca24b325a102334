"""What all routes share: the door, the pages, the files, and the fingerprint of the code that writes the answers."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from fastapi import Request

from .. import __version__
from .answers import Answers
from .assets import Assets
from .engine import Engine
from .export import Exports
from .pages import TEMPLATES, Pages
from .rasterizer import Rasterizer
from .reply import fingerprint
from .settings import Settings
from .thumbnails import Thumbnails


@dataclass(frozen=True)
class Site:
    """One running server."""

    engine: Engine
    answers: Answers
    exports: Exports
    assets: Assets
    pages: Pages
    thumbnails: Thumbnails
    rasterizer: Rasterizer
    build: str
    settings: Settings

    @classmethod
    def of(cls, engine: Engine, settings: Settings) -> Site:
        """Everything that stands on this engine."""
        assets = Assets()
        files = (*Path(__file__).parent.rglob("*.py"), *TEMPLATES.rglob("*.html"))
        sources = [path.read_bytes() for path in sorted(files)]
        build = fingerprint(__version__, *sources)
        answers, pages = Answers(engine), Pages(assets)
        exports = Exports(answers, pages, assets)
        thumbnails, rasterizer = Thumbnails(engine), Rasterizer()
        return cls(engine, answers, exports, assets, pages, thumbnails, rasterizer, build, settings)

    def base(self, request: Request) -> str:
        """Where this site is, without a slash at the end, as whoever asks sees it."""
        return self.settings.url or f"{request.url.scheme}://{request.url.netloc}"

    @classmethod
    def serving(cls, request: Request) -> Site:
        """The one that answers this request."""
        site: Site = request.app.state.site
        return site
