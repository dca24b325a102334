"""Route of ``/ops/{name}.py``: an op as a test file for pytest."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from ..cache.answer_cache import present
from ..http.openapi import NAME, QUERY, problems
from ..http.responses import kept, passing, reply
from ..protocol.fingerprint import fingerprint
from ..url.parse import recipe_in
from .context import Site

router = APIRouter()
RECIPE = next(each for each in QUERY if each["name"] == "recipe")


@router.get(
    "/ops/{name}.py",
    tags=["sections"],
    summary="An op as a test for pytest",
    responses={200: {"content": {"text/x-python": {"schema": {"type": "string"}}}}, **problems(404, 422, 503)},
    response_class=Response,
    openapi_extra={"parameters": [NAME, RECIPE]},
)
async def test(request: Request) -> Response:
    """A file that runs as it is: it holds backward against what is measured here, and against gradcheck."""
    site, recipe = Site.serving(request), recipe_in(request.scope["query_string"].decode("latin-1"))
    op = await site.op(request.path_params["name"], recipe)
    mark = fingerprint(site.build, op["digest"], op["recipe"], "text/x-python")
    known = kept(request, mark, "text/x-python")
    if known is not None:
        return known
    body = (await site.engine.test(op["name"], recipe)).encode()
    if await present(site.engine, op["name"]) == op["digest"]:
        return reply(request, body, "text/x-python", mark)
    return passing(request, body, "text/x-python")
