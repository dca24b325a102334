"""Route of ``/metrics``, which Prometheus scrapes."""

from __future__ import annotations

import asyncio
from ipaddress import ip_address

from fastapi import APIRouter, HTTPException, Request, Response

from ..http.metrics import Collector, prometheus_text
from .context import Site

STRANGER = "The metrics of a public server are for its own network; ask from there, and not through a proxy."
PASSED_ON = ("forwarded", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-real-ip", "via")

router = APIRouter()


@router.get("/metrics", include_in_schema=False)
async def metrics(request: Request) -> Response:
    """What the server has counted so far."""
    if Site.serving(request).settings.public and _is_stranger(request):
        raise HTTPException(403, STRANGER)
    collector: Collector = request.app.state.collector
    await asyncio.to_thread(__import__, "prometheus_client")  # 40 ms, once
    body, media_type = prometheus_text(collector)
    return Response(body, headers={"Cache-Control": "no-store"}, media_type=media_type)


def _is_stranger(request: Request) -> bool:
    if any(name in request.headers for name in PASSED_ON):
        return True
    try:
        return not ip_address(request.client.host if request.client else "").is_private
    except ValueError:
        return True
