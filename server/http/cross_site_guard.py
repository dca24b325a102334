"""ASGI middleware for user code: rejects cross-site reads (Fetch Metadata) and changes without the CSRF token."""

import re
import secrets

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

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

# What a frame without an origin may send there and read of the answer; the browser asks for that first.
_FOR_FRAMES = {"access-control-allow-origin": "null", "access-control-expose-headers": "retry-after", "vary": "Origin"}
_FOR_FRAMES_FIRST = _FOR_FRAMES | {
    "access-control-allow-methods": "POST",
    "access-control-allow-headers": "content-type",
    "access-control-max-age": "7200",
}

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

    There are no cookies, and nothing of a visitor's is with the server. What is protected of ``EDITS`` is the
    machine: who may have it compute, and who may try its sandbox. On a person's own machine that is nobody but its
    pages, and ``AllowedHosts`` sees to it that no other name leads there. A figure in a sandboxed frame has no origin,
    and sends ``Origin: null``; but so does a frame that any page makes for itself. So it is let in where the operator
    offers ``strangers`` what it asks for, and where it gets what anybody gets who opens the page: no more than its
    turn, without credentials, and an answer about its own text. Beside Functions of a person's own it never is.
    """

    def __init__(self, app: ASGIApp, token: str, framed: bool, own: bool = True, strangers: bool = False) -> None:
        self.app = app
        self._own = own
        self._strangers = strangers and not own
        self._token = token.encode()
        self._framed = framed

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        refusal = "" if scope["type"] != "http" else self._refusal(scope)
        if scope["type"] == "http" and self._is_welcome_frame(scope):
            if scope["method"] == "OPTIONS":
                headers = [(name.encode(), value.encode()) for name, value in _FOR_FRAMES_FIRST.items()]
                await send({"type": "http.response.start", "status": 204, "headers": headers})
                await send({"type": "http.response.body"})
            else:
                await self.app(scope, receive, _read_by_frames(send))
        elif refusal:
            # The path "" gets the headers that are not shared with other sites.
            await send_problem(send, "", 403, refusal)
        else:
            await self.app(scope, receive, send)

    def _is_welcome_frame(self, scope: Scope) -> bool:
        return self._strangers and scope["path"] in EDITS and _header(scope, b"origin") == b"null"

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


def _read_by_frames(send: Send) -> Send:
    async def send_with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            MutableHeaders(scope=message).update(_FOR_FRAMES)
        await send(message)

    return send_with_headers


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
