"""The web application: its routes, and what stands around them."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import parse_qsl

from fastapi import APIRouter, FastAPI, HTTPException, Request, Response

from .. import __version__
from . import compare
from .config.settings import Settings
from .http.access_log import Log
from .http.allowed_hosts import Hosts
from .http.body_cache import Bodies
from .http.connection_limits import Visitors
from .http.cross_site_guard import Guard
from .http.error_handlers import Problems
from .http.instrumentation import Watch
from .http.metrics import Collector, Metrics
from .http.openapi import ABOUT, WAIT, documents, problems, shapes
from .http.responses import fingerprint, passing, reply
from .http.security_headers import AT_HOME, SecurityHeaders
from .reload.composite_engine import Door
from .routes import events, gallery, oembed, own, pytest_file, robots, sections
from .routes import metrics as scrape
from .routes.context import Site
from .url.numbers import BadQuery

USUAL = Settings()
ELEMENT = "element/grad-loupe.js"

router = APIRouter()


class Gradloupe(FastAPI):
    """The application, which describes the shapes of its answers when it is asked to."""

    def openapi(self) -> dict[str, Any]:
        if self.openapi_schema is None:
            super().openapi()["components"] = {"schemas": shapes()}
        return super().openapi()


def create_app(engine: Door, settings: Settings = USUAL, visitors: Visitors | None = None) -> FastAPI:
    """The application in front of a spawned engine, which it connects, and closes when it ends.

    ``visitors`` are those who will be connected, to be counted.
    """
    site, metrics, bodies = Site.of(engine, settings), Metrics(), Bodies(settings.cache * 2**20)
    log = None if settings.log == "off" else Log(settings.log, sys.stdout)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        await engine.connect()
        try:
            yield
        finally:
            await site.thumbnails.close()
            await site.own_thumbnails.close()
            await site.rasterizer.close()
            await engine.close()
            if log is not None:
                log.close()

    app = Gradloupe(
        title="Gradloupe",
        version=__version__,
        description=ABOUT,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        lifespan=lifespan,
    )
    app.state.site = site
    app.state.bodies = bodies
    app.state.collector = Collector(metrics, site, bodies, visitors)
    app.include_router(pytest_file.router)
    app.include_router(sections.router)
    app.include_router(compare.router)
    app.include_router(oembed.router)
    app.include_router(own.router)
    app.include_router(gallery.router)
    app.include_router(events.router)
    app.include_router(robots.router)
    app.include_router(scrape.router)
    app.include_router(router)
    if settings.targets:
        app.add_middleware(Guard, token=settings.token, framed=settings.frame_ancestors not in AT_HOME)
    app.add_middleware(Hosts, settings=settings)
    app.add_middleware(Watch, metrics=metrics, log=log)
    app.add_middleware(SecurityHeaders, frame_ancestors=settings.frame_ancestors, own=bool(settings.targets))
    Problems(site.pages).install(app)
    return app


@router.get("/docs", include_in_schema=False)
async def docs(request: Request) -> Response:
    """The API, to read and to try."""
    body = Site.serving(request).pages.docs()
    return reply(request, body, "text/html", fingerprint(body))


@router.get(
    "/healthz",
    tags=["health"],
    summary="Whether torch is loaded",
    responses={200: documents("Health"), **problems(422, 503)},
    response_class=Response,
    openapi_extra={"parameters": [WAIT]},
)
async def healthz(request: Request) -> Response:
    """`starting`, then `ready`; 503 with a sentence when the ops cannot be loaded."""
    engine = Site.serving(request).engine
    given = parse_qsl(request.scope["query_string"].decode("latin-1"), keep_blank_values=True)
    if given not in ([], [("wait", "0")], [("wait", "1")]):
        raise BadQuery("The query of /healthz is not one it knows; allowed are wait=0 and wait=1.")
    if engine.broken or given == [("wait", "1")]:
        await engine.wait_ready()
    status = "ready" if engine.ready else "starting"
    return passing(request, json.dumps({"status": status}).encode(), "application/json")


@router.get("/grad-loupe.js", include_in_schema=False)
async def element(request: Request) -> Response:
    """The module that makes `<grad-loupe>` work on other sites; its address never changes, so it is asked for again."""
    assets = Site.serving(request).assets
    return reply(request, assets.read(ELEMENT), assets.media_type(ELEMENT), assets.digest)


@router.get("/static/{digest}/{path:path}", include_in_schema=False)
async def static(request: Request) -> Response:
    """A static file; its address changes with its content, so it is kept for ever."""
    path = request.path_params
    found = await Site.serving(request).assets.serve(request, path["digest"], path["path"])
    if found is None:
        raise HTTPException(404, "There is no such static file; reload the page, which knows the present ones.")
    return found
