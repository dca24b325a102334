"""Problem details, `application/problem+json` (RFC 9457), sent by middleware without the application."""

import json
from collections.abc import Sequence
from http import HTTPStatus
from typing import Any

from starlette.types import Send

from ..protocol.errors import Refusal
from .security_headers import headers_for


def problem_json(status: int, detail: str, refusals: Sequence[Refusal] = ()) -> bytes:
    """Problem details as JSON.

    Where parameters of the address are refused, ``parameter`` names the first, and ``errors`` has all of them.
    """
    title = HTTPStatus(status).phrase
    problem: dict[str, Any] = {"type": "about:blank", "title": title, "status": status, "detail": detail}
    named = [each for each in refusals if each.parameter]
    if named:
        problem |= {
            "parameter": named[0].parameter,
            "errors": [{"parameter": each.parameter, "detail": each.sentence} for each in named],
        }
    return json.dumps(problem).encode()


async def send_problem(send: Send, path: str, status: int, detail: str, **more: str) -> None:
    """Send a problem as the response at ``path``, with ``more`` headers: ``retry_after="1"``."""
    body = problem_json(status, detail)
    headers = {
        **headers_for(path),
        "content-type": "application/problem+json",
        "content-length": str(len(body)),
        "cache-control": "no-store",
        **{name.replace("_", "-"): value for name, value in more.items()},
    }
    encoded = [(name.encode(), value.encode()) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": status, "headers": encoded})
    await send({"type": "http.response.body", "body": body})
