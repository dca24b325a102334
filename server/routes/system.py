"""Routes of the server itself: API docs, health, static files, the module of ``<grad-loupe>``."""

from __future__ import annotations

import json
from urllib.parse import parse_qsl

from fastapi import APIRouter, HTTPException, Request, Response

from ..http.openapi import WAIT_PARAMETER, json_responses, problem_responses
from ..http.responses import reply, uncached_reply
from ..http.static_files import StaticFiles
from ..protocol.fingerprint import fingerprint
from ..url.numbers import BadQuery
from .context import Site

_ELEMENT = "element/grad-loupe.js"

router = APIRouter()


@router.get("/docs", include_in_schema=False)
async def docs(request: Request) -> Response:
    """The API, to read and to try."""
    body = Site.serving(request).pages.docs()
    return reply(request, body, "text/html", fingerprint(body))


@router.get(
    "/healthz",
    tags=["health"],
    summary="Whether torch is loaded",
    responses={200: json_responses("Health"), **problem_responses(422, 503)},
    response_class=Response,
    openapi_extra={"parameters": [WAIT_PARAMETER]},
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
    return uncached_reply(request, json.dumps({"status": status}).encode(), "application/json")


@router.get("/grad-loupe.js", include_in_schema=False)
async def element_module(request: Request) -> Response:
    """The module that makes `<grad-loupe>` work on other sites; its address never changes, so it is asked for again."""
    assets = Site.serving(request).assets
    return reply(request, assets.read(_ELEMENT), assets.media_type(_ELEMENT), assets.digest)


@router.get("/static/{digest}/{path:path}", include_in_schema=False)
async def static_file(request: Request) -> Response:
    """A static file; its address changes with its content, so it is kept for ever."""
    path = request.path_params
    files: StaticFiles = request.app.state.static_files
    found = await files.serve(request, path["digest"], path["path"])
    if found is None:
        raise HTTPException(404, "There is no such static file; reload the page, which knows the present ones.")
    return found
