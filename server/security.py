"""What a browser may do with our pages, and other pages with our answers: the headers of every response."""

from __future__ import annotations

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

# The hash is that of the empty style: plotly.js adds an empty <style> and fills it through the CSSOM.
SOURCES = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self' 'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='",
        "img-src 'self' data: blob:",
        "font-src 'self'",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'self'",
    )
)
# A picture carries its own rules for light and dark; nothing in it runs or is fetched.
PICTURE = "default-src 'none'; style-src 'unsafe-inline'"
HEADERS = {
    "content-security-policy": f"{SOURCES}; frame-src 'self'; frame-ancestors 'self'",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
}
# What other pages may read, draw or frame, wherever they are: there is nothing here that is not everybody's.
SHARED = {
    "cross-origin-resource-policy": "cross-origin",
    "access-control-allow-origin": "*",
    "access-control-expose-headers": "retry-after",  # a figure in a sandbox is elsewhere, too
}
DATA = (".json", ".csv", ".svg", ".png")


class SecurityHeaders:
    """Adds the headers of its path to every response, and answers HEAD like GET (the server drops the body)."""

    def __init__(self, app: ASGIApp, frame_ancestors: str) -> None:
        self.app = app
        framed = f"frame-ancestors {frame_ancestors}"
        self._picture = f"{PICTURE}; {framed}"
        self._figure = HEADERS | SHARED | {"content-security-policy": f"{SOURCES}; {framed}"}
        del self._figure["cross-origin-opener-policy"]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        added = self._figure if scope["path"].startswith("/embed/") else of(scope["path"])

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.update(added)
                if headers.get("content-type") == "image/svg+xml":
                    headers["content-security-policy"] = self._picture
                if headers.get("allow") == "GET":
                    headers["allow"] = "GET, HEAD"
            await send(message)

        if scope["method"] == "HEAD":
            scope = {**scope, "method": "GET", "asked": "HEAD"}
        await self.app(scope, receive, send_with_headers)


def of(path: str) -> dict[str, str]:
    """What is added to the responses at this path, unless they are figures to be framed."""
    data = path.startswith("/ops/") and path.endswith(DATA)
    return HEADERS | SHARED if data or path.startswith("/static/") or path in ("/oembed", "/grad-loupe.js") else HEADERS
