"""ASGI middleware for user code: rejects cross-site reads (Fetch Metadata) and changes without the CSRF token."""

from __future__ import annotations

import re
import secrets

from starlette.types import ASGIApp, Receive, Scope, Send

from .problem_details import send_problem
from .security_headers import UNSPECIFIC_PATHS, sharing_at

_SAFE_METHODS = ("GET", "HEAD")
_SAME_SITE = (b"same-origin", b"none")  # Sec-Fetch-Site of our own pages, and of an address typed in
_PAGE = (b"document",)
_FRAMES = (*_PAGE, b"iframe", b"frame")
_PLACES = {"frame": _FRAMES, "show": (*_FRAMES, b"object", b"embed")}  # where other sites may navigate to it
_PORTS = {"http": ":80", "https": ":443"}
# Where code is sent that a visitor has edited.
PLAY, PLAY_PAGE, PLAY_GRADE = EDITS = ("/play.json", "/play.page.json", "/play.grade.json")
TOKEN_HEADER = b"x-gradloupe-token"

_CROSS_SITE_READ = (
    "This server shows your own code to its own pages only, not to another site; open its address in a tab, or start "
    "it with --frame-ancestors to allow embedding."
)
_CROSS_SITE_CHANGE = (
    "Only pages of this server may change something here; a browser must send Sec-Fetch-Site: same-origin, a program "
    "the Origin of this server."
)
_UNSIGNED = (
    "Loading code needs the token of this server; open the whole address that gradloupe printed, with what follows "
    "its #, or send the token as X-Gradloupe-Token."
)


class CrossSiteGuard:
    """In front of the application of a server with user code: its ``own``, or what visitors edit.

    Where it is its own, ``token`` authorises changes, and ``framed`` says whether the operator lets other sites embed
    figures. Relies on the Fetch Metadata of browsers, which no page can forge; other programs may read without any.
    """

    def __init__(self, app: ASGIApp, token: str, framed: bool, own: bool = True) -> None:
        self.app = app
        self._own = own
        self._token = token.encode()
        self._framed = framed

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        refusal = "" if scope["type"] != "http" else self._refusal(scope)
        if refusal:
            # The path "" gets the headers that are not shared with other sites.
            await send_problem(send, "", 403, refusal)
        else:
            await self.app(scope, receive, send)

    def _refusal(self, scope: Scope) -> str:
        """Why this request is refused; empty where it is not."""
        if not self._own:
            return _CROSS_SITE_CHANGE if scope["path"] in EDITS and not _is_same_site(scope) else ""
        if scope["method"] in _SAFE_METHODS:
            return "" if UNSPECIFIC_PATHS.match(scope["path"]) or self._may_read(scope) else _CROSS_SITE_READ
        if not _is_same_site(scope):
            return _CROSS_SITE_CHANGE
        signed = bool(self._token) and secrets.compare_digest(_header(scope, TOKEN_HEADER), self._token)
        return "" if signed else _UNSIGNED

    def _may_read(self, scope: Scope) -> bool:
        site, origin = _header(scope, b"sec-fetch-site"), _header(scope, b"origin")
        if not site:  # no browser, an old one, or one without TLS from another machine
            return not origin or _is_host(scope, origin)
        if site in _SAME_SITE:
            return True
        way, place = _header(scope, b"sec-fetch-mode"), _header(scope, b"sec-fetch-dest")
        sharing = sharing_at(scope["path"]) if self._framed else "nothing"
        if sharing == "show" and (way, place) == (b"no-cors", b"image"):
            return True
        return way == b"navigate" and place in _PLACES.get(sharing, _PAGE)


def _is_same_site(scope: Scope) -> bool:
    site, origin = _header(scope, b"sec-fetch-site"), _header(scope, b"origin")
    if origin == b"null":
        return False
    return site in _SAME_SITE if site else _is_host(scope, origin)


def _is_host(scope: Scope, origin: bytes) -> bool:
    """Whether this origin is the host of the request."""
    match = re.fullmatch(r"(https?)://([^/?#@]+)", origin.decode("latin-1").lower())
    if match is None:
        return False
    usual = _PORTS[match[1]]
    host = _header(scope, b"host").decode("latin-1").lower()
    return match[2].removesuffix(usual) == host.removesuffix(usual)


def _header(scope: Scope, name: bytes) -> bytes:
    """The header of that name, empty where there is none; repeated ones are joined and so match nothing."""
    return b", ".join(value for each, value in scope["headers"] if each == name)
