"""The FastAPI application: routes, middleware, error handlers and lifespan, put together."""

import asyncio
import logging
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI

from .. import __version__
from .config.settings import Settings
from .http.access_log import AccessLog
from .http.allowed_hosts import AllowedHosts, SubPath
from .http.connection_limits import Connections
from .http.cross_site_guard import CrossSiteGuard
from .http.error_handlers import ErrorHandlers
from .http.metrics import Collector, Instrumentation, Metrics
from .http.openapi import API_DESCRIPTION, response_schemas
from .http.responses import ResponseCache
from .http.security_headers import OWN_SITE_ANCESTORS, SecurityHeaders
from .http.static_files import StaticFiles
from .protocol.errors import EngineBroken, EngineBusy
from .reload.composite_engine import AnyEngine
from .routes import compare, gallery, lessons, oembed, own, play, sections, system
from .routes.context import Site

_USUAL = Settings()
_LOG = logging.getLogger("gradloupe")


class Gradloupe(FastAPI):
    """The application; the schemas of its answers, which take time, are described when that is first asked for."""

    def openapi(self) -> dict[str, Any]:
        if self.openapi_schema is None:
            super().openapi()["components"] = {"schemas": response_schemas()}
            site: Site = self.state.site
            if site.settings.root:
                super().openapi()["servers"] = [{"url": site.settings.root}]
        return super().openapi()


async def _prepare(site: Site) -> None:
    """Prepare the pages while the worker measures its first section; the first page is served by then."""
    try:
        await site.engine.wait_ready()
    except (EngineBroken, EngineBusy):  # there will be no such pages, or the server is ending
        return
    await asyncio.to_thread(site.pages.prepare)
    if site.settings.play:
        found = await site.edits.confinement()
        if sentence := found.refusal(site.settings.public) or found.sentence:
            _LOG.warning(sentence)


def create_app(engine: AnyEngine, settings: Settings = _USUAL, visitors: Connections | None = None) -> FastAPI:
    """The application in front of a spawned engine, which it connects at start-up and closes at shutdown.

    ``visitors`` counts and limits the open connections.
    """
    site, metrics, bodies = Site.of(engine, settings), Metrics(), ResponseCache(settings.cache * 2**20)
    log = None if settings.log == "off" else AccessLog(settings.log, sys.stdout)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        await engine.connect()
        prepared = asyncio.create_task(_prepare(site))
        try:
            yield
        finally:
            prepared.cancel()
            await site.thumbnails.close()
            await site.own_thumbnails.close()
            site.rasterizer.close()
            await site.edits.close()
            await engine.close()
            if log is not None:
                log.close()

    app = Gradloupe(
        title="Gradloupe",
        version=__version__,
        description=API_DESCRIPTION,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        lifespan=lifespan,
    )
    app.state.site = site
    app.state.bodies = bodies
    app.state.static_files = StaticFiles(site.assets, settings.root)
    app.state.collector = Collector(metrics, engine, site.answers, bodies, visitors)
    for group in (sections, compare, oembed, own, play, gallery, lessons, system):
        app.include_router(group.router)
    if settings.targets or settings.play:
        framed = settings.frame_ancestors not in OWN_SITE_ANCESTORS
        whose = {"own": bool(settings.targets), "strangers": settings.public}
        app.add_middleware(CrossSiteGuard, token=settings.token, framed=framed, **whose)
    app.add_middleware(AllowedHosts, settings=settings)
    app.add_middleware(Instrumentation, metrics=metrics, log=log)
    app.add_middleware(SecurityHeaders, frame_ancestors=settings.frame_ancestors, own=bool(settings.targets))
    if settings.root:
        app.add_middleware(SubPath, root=settings.root)
    ErrorHandlers(site.pages).install(app)
    return app
