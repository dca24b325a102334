"""Route of ``/ops/{name}.py``: an op as a test file for pytest."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from ..cache.answer_cache import current_digest
from ..http.openapi import NAME_PARAMETER, QUERY_PARAMETERS, problem_responses
from ..http.responses import cached_reply, reply, uncached_reply
from ..protocol.fingerprint import fingerprint
from ..url.parse import read_recipe
from .context import Site

router = APIRouter()
RECIPE = next(each for each in QUERY_PARAMETERS if each["name"] == "recipe")


@router.get(
    "/ops/{name}.py",
    tags=["sections"],
    summary="An op as a test for pytest",
    responses={200: {"content": {"text/x-python": {"schema": {"type": "string"}}}}, **problem_responses(404, 422, 503)},
    response_class=Response,
    openapi_extra={"parameters": [NAME_PARAMETER, RECIPE]},
)
async def test(request: Request) -> Response:
    """A file that runs as it is: it holds backward against what is measured here, and against gradcheck."""
    site, recipe = Site.serving(request), read_recipe(request.scope["query_string"].decode("latin-1"))
    op = await site.op(request.path_params["name"], recipe)
    mark = fingerprint(site.build, op["digest"], op["recipe"], "text/x-python")
    known = cached_reply(request, mark, "text/x-python")
    if known is not None:
        return known
    body = (await site.engine.test(op["name"], recipe)).encode()
    if await current_digest(site.engine, op["name"]) == op["digest"]:
        return reply(request, body, "text/x-python", mark)
    return uncached_reply(request, body, "text/x-python")
