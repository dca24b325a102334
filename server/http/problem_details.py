"""Problem details, `application/problem+json` (RFC 9457), sent by middleware without the application."""

from __future__ import annotations

import json
from http import HTTPStatus

from starlette.types import Send

from .security_headers import headers_for


def problem_json(status: int, detail: str) -> bytes:
    """Problem details as JSON."""
    title = HTTPStatus(status).phrase
    return json.dumps({"type": "about:blank", "title": title, "status": status, "detail": detail}).encode()


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
