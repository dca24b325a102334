"""ASGI middleware: security headers (Content Security Policy, CORP, CORS …) on every response, by path."""

import re

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ..html.assets import EMPTY_STYLE_HASH
from ..url.representations import EMBED, Sharing, representation_at

SOURCES = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        f"style-src 'self' {EMPTY_STYLE_HASH}",
        "img-src 'self' data: blob:",
        "font-src 'self'",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'self'",
    )
)
# An SVG has its own styles for light and dark; nothing in it runs or is fetched.
_PICTURE = "default-src 'none'; style-src 'unsafe-inline'"
HEADERS = {
    "content-security-policy": f"{SOURCES}; frame-src 'self'; frame-ancestors 'self'",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
}
# For other sites: what they may embed (CORP), and what they may read (CORS): numbers and pictures, no page.
_FRAMED = {"cross-origin-resource-policy": "cross-origin"}
SHARED = _FRAMED | {
    "access-control-allow-origin": "*",
    "access-control-expose-headers": "retry-after",  # read by a figure in a sandboxed frame, too
}
UNSPECIFIC_PATHS = re.compile(r"/static/|/grad-loupe\.m?js$")  # the same on every server
OWN_SITE_ANCESTORS = ("'self'", "'none'")  # values of --frame-ancestors that exclude other sites


class SecurityHeaders:
    """Adds the headers of its path to every response, and answers HEAD like GET (uvicorn drops the body).

    ``own`` says that the server runs user code: other sites may read none of it.
    """

    def __init__(self, app: ASGIApp, frame_ancestors: str, own: bool = False) -> None:
        self.app = app
        self._own = own
        # `*` excludes pages opened from a file; without the directive they may embed figures, too.
        framed = "" if frame_ancestors == "*" else f"; frame-ancestors {frame_ancestors}"
        self._picture = _PICTURE + framed
        at_home = own and frame_ancestors in OWN_SITE_ANCESTORS
        self._own_picture = HEADERS | ({} if at_home else _FRAMED)
        self._figure = self._own_picture | {"content-security-policy": SOURCES + framed}
        if not at_home:
            del self._figure["cross-origin-opener-policy"]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        added = self._added(scope["path"])

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name in SHARED.keys() - added.keys() if self._own else ():
                    del headers[name]
                headers.update(added)
                # A 304 has no Content-Type, and its policy replaces that of the client's copy.
                if sharing_at(scope["path"]) == "show" and message["status"] in (200, 304):
                    headers["content-security-policy"] = self._picture
                if headers.get("allow") == "GET":
                    headers["allow"] = "GET, HEAD"
            await send(message)

        if scope["method"] == "HEAD":
            scope = {**scope, "method": "GET", "asked": "HEAD"}
        await self.app(scope, receive, send_with_headers)

    def _added(self, path: str) -> dict[str, str]:
        sharing = sharing_at(path)
        if sharing == "frame":
            return self._figure
        if not self._own or UNSPECIFIC_PATHS.match(path):
            return headers_for(path)
        return self._own_picture if sharing == "show" else HEADERS


def sharing_at(path: str) -> Sharing:
    """What other sites may do with the representation at this path; of a pair they may have the picture."""
    if path.startswith("/embed/"):
        return EMBED.sharing
    shown = representation_at(path) if path.startswith(("/ops/", "/compare.")) else None
    if shown is None or (path.startswith("/compare.") and shown.sharing != "show"):
        return "nothing"
    return shown.sharing


def headers_for(path: str) -> dict[str, str]:
    """The headers for responses at this path, unless it is a figure to embed."""
    of_all = path.startswith("/static/") or path in ("/oembed", "/grad-loupe.js", "/grad-loupe.mjs")
    return HEADERS | SHARED if of_all or sharing_at(path) in ("read", "show") else HEADERS
