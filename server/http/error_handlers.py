"""Exception handlers: an HTML page for browsers, `application/problem+json` (RFC 9457) for programs."""

from collections.abc import Sequence
from http import HTTPStatus

from fastapi import FastAPI, Request, Response
from starlette.exceptions import HTTPException

from ..html.pages import Pages
from ..protocol.errors import BadQuestion, EngineBroken, EngineBusy, Refusal, UnknownOp, Unsolved
from ..url.parse import QueryTooLong
from ..url.representations import representation_at
from .problem_details import problem_json
from .responses import uncached_reply
from .security_headers import headers_for

_STATUS = {
    QueryTooLong: 414,
    BadQuestion: 422,
    Unsolved: 422,
    UnknownOp: 404,
    EngineBusy: 503,
    EngineBroken: 503,
}
_RETRY_AFTER = 1  # seconds
_CROWD = "Many ask at once."
_BUSY = "More questions are waiting than can be answered soon; ask again in a second."
FAULT = "A fault of Gradloupe itself, not of the Function or the address; the log of the server has the details."


class ErrorHandlers:
    """Turns exceptions into responses; an unexpected one is a 500, and is logged."""

    def __init__(self, pages: Pages) -> None:
        self._pages = pages

    def install(self, app: FastAPI) -> None:
        """Handle the exceptions of this app."""
        for kind in _STATUS:
            app.add_exception_handler(kind, self._expected)
        app.add_exception_handler(HTTPException, self._refused)
        app.add_exception_handler(Exception, self._fault)

    async def _expected(self, request: Request, problem: Exception) -> Response:
        status = next(_STATUS[kind] for kind in type(problem).__mro__ if kind in _STATUS)
        refusals = problem.refusals if isinstance(problem, BadQuestion) else ()
        near = problem.near if isinstance(problem, UnknownOp) else ""
        if isinstance(problem, EngineBusy) and _is_for_people(request):
            page = self._pages.waiting("One moment", framed=_is_framed(request), why=_CROWD)
            return uncached_reply(request, page, "text/html", status, _RETRY_AFTER)
        return self._response(request, status, str(problem) or _BUSY, refusals, near)

    async def _refused(self, request: Request, problem: Exception) -> Response:
        assert isinstance(problem, HTTPException)
        detail = problem.detail
        if problem.status_code == 405:
            use = "POST" if "POST" in (problem.headers or {}).get("Allow", "") else "GET"
            detail = f"{request.method} is not allowed here; use {use}."
        elif detail == HTTPStatus.NOT_FOUND.phrase:
            detail = "There is nothing at this address; the gallery is at / and the description of the API at /docs."
        response = self._response(request, problem.status_code, detail)
        response.headers.update(problem.headers or {})
        return response

    async def _fault(self, request: Request, problem: Exception) -> Response:
        response = self._response(request, 500, FAULT)
        # Starlette sends this one from outside the middleware.
        response.headers.update(headers_for(request.scope["path"]))
        return response

    def _response(
        self, request: Request, status: int, detail: str, refusals: Sequence[Refusal] = (), near: str = ""
    ) -> Response:
        title = HTTPStatus(status).phrase
        retry_after = _RETRY_AFTER if status == 503 else 0
        if _is_for_people(request):
            op = request.path_params.get("name") if status == 422 else near
            page = self._pages.error(status, title, detail, op, request.url.path.strip("/").partition("/")[0])
            return uncached_reply(request, page, "text/html", status, retry_after)
        body = problem_json(status, detail, refusals)
        return uncached_reply(request, body, "application/problem+json", status, retry_after)


def _is_framed(request: Request) -> bool:
    path: str = request.scope["path"]
    return path.startswith("/embed/")


def _is_for_people(request: Request) -> bool:
    path: str = request.scope["path"]
    shown = representation_at(path)
    data = shown is not None and shown.media_type != "text/html"
    if data or path.startswith("/static/") or path in ("/healthz", "/metrics"):
        return False
    is_page = path in ("/", "/docs", "/compare", "/lessons", "/glossary", "/play") or path.startswith(
        ("/ops/", "/embed/", "/lessons/")
    )
    return is_page or "text/html" in request.headers.get("accept", "")
