"""Route of ``/oembed`` (oEmbed 1.0): how another site embeds the figure at an address of ours."""

import re
from collections.abc import Collection
from dataclasses import replace
from html import escape
from typing import Any
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

import orjson
from fastapi import APIRouter, HTTPException, Request, Response

from ..figure.sheet_svg import PREVIEW_SIZE
from ..http.openapi import problem_responses, query_parameter
from ..http.responses import reply
from ..protocol.errors import UnknownOp
from ..schema.op import OpDescription
from ..url.address import HEIGHT_BOUNDS, WIDTH_BOUNDS, Address, canonical_address, curves_only
from ..url.numbers import BadQuery, printable_excerpt
from ..url.parse import parse_query, read_address
from ..url.representations import EMBED, pictured_address, pictured_parts
from .context import Site, query_string

_MEDIA_TYPE = "application/json"
_CACHE_AGE = 86_400  # seconds that a consumer may cache the answer
_WIDTH = 800  # pixels, where neither the address nor the consumer sets it
_PORTS = {"http": 80, "https": 443}
_PLACE = re.compile(r"/(?:ops|embed)/([^/]+)")
# The height of a figure in pixels, and what its parts add; a frame that listens for messages gets it exactly.
_FIGURE_HEIGHT = 470
_PART_HEIGHTS = {"title": 21, "verdict": 100, "controls": 100}
_PARAMETERS_HEIGHT = 70  # added where an op has parameters

_PARAMETERS: dict[str, tuple[dict[str, Any], str]] = {
    "url": ({"type": "string"}, "the address of a figure on this site: `/ops/{name}?…` or `/embed/{name}?…`, whole"),
    "maxwidth": ({"type": "integer", "minimum": 1}, f"no wider than this, in pixels; but {WIDTH_BOUNDS[0]} at least"),
    "maxheight": (
        {"type": "integer", "minimum": 1},
        f"no higher than this, in pixels; but {HEIGHT_BOUNDS[0]} at least",
    ),
    "format": ({"type": "string", "enum": ["json"], "default": "json"}, "the notation of the answer"),
}
_OPENAPI_PARAMETERS = [query_parameter(name, *said, name == "url") for name, said in _PARAMETERS.items()]
_ANSWER = {"description": "How to embed the figure.", "content": {_MEDIA_TYPE: {"schema": {"type": "object"}}}}

router = APIRouter()


@router.get(
    "/oembed",
    tags=["sharing"],
    summary="How to embed a figure",
    responses={200: _ANSWER, **problem_responses(404, 414, 422, 501, 503)},
    response_class=Response,
    openapi_extra={"parameters": _OPENAPI_PARAMETERS},
)
async def oembed(request: Request) -> Response:
    """The frame to put into a page for the address of a figure, as oEmbed has it: `rich`, version 1.0."""
    site = Site.serving(request)
    url, room = _parse_query(query_string(request))
    base = site.base(request)
    hosts = {_host(urlsplit(base)), _host(urlsplit(f"{request.url.scheme}://{request.url.netloc}"))}
    name, query = _place(url, hosts, site.settings.root)
    try:
        words = parse_query(query)
        op = await site.engine.op(name, words.get("recipe", ""))
    except UnknownOp:
        raise HTTPException(
            404, f"There is no op {printable_excerpt(name)!r}; the gallery at {base}/ shows them all."
        ) from None
    answer = _rich_response(base, op, curves_only(read_address(op, await site.engine.device(), words)), *room)
    return reply(request, orjson.dumps(answer), _MEDIA_TYPE)


def _parse_query(query: str) -> tuple[str, tuple[int, int]]:
    """The address that is asked about, and what width and height there is room for in pixels, 0 where that is not said.

    Raises ``BadQuery``, or 501 for an unknown format.
    """
    given: dict[str, str] = {}
    for name, text in parse_qsl(query, keep_blank_values=True):
        if name in _PARAMETERS and name in given:
            raise BadQuery(f"{name} is given twice; give it once.", name)
        given[name] = text
    if not given.get("url"):
        example = "/oembed?url=https%3A%2F%2F…%2Fops%2Fexp"
        raise BadQuery(f"url is missing; give the address of a figure, as in {example}.", "url")
    if (form := given.get("format") or "json") != "json":
        raise HTTPException(501, f"There is no oEmbed in the format {printable_excerpt(form)!r}; it is json.")
    return given["url"], (_bound(given, "maxwidth", WIDTH_BOUNDS), _bound(given, "maxheight", HEIGHT_BOUNDS))


def _place(url: str, hosts: Collection[str], root: str) -> tuple[str, str]:
    """The name of the op and the query in an address of ours, under the path ``root``; raises 404 for any other."""
    culprit = f"url={printable_excerpt(url)}"
    try:
        parts = urlsplit(url)
        host = _host(parts)
    except ValueError:
        raise HTTPException(404, f"{culprit} is not an address; copy the one of a figure from its page.") from None
    if parts.scheme not in _PORTS or host not in hosts:
        raise HTTPException(404, f"{culprit} is not on this site; figures of {min(hosts)} can be embedded from here.")
    found = _PLACE.fullmatch(unquote(parts.path).removeprefix(root))
    if found is None:
        raise HTTPException(
            404, f"{culprit} is not a figure; give the address of one, as in {parts.scheme}://{host}{root}/ops/exp."
        )
    return found[1], parts.query


def _rich_response(base: str, op: OpDescription, address: Address, maxwidth: int, maxheight: int) -> dict[str, Any]:
    """The answer of type ``rich``; its ``html`` is an iframe with only attributes that WordPress keeps."""
    widest = max(maxwidth or WIDTH_BOUNDS[1], WIDTH_BOUNDS[0])
    width = min(address.width or (widest if maxwidth else _WIDTH), widest)
    room = max(maxheight or HEIGHT_BOUNDS[1], HEIGHT_BOUNDS[0])
    own = address.height or _natural_height(op, address)
    height = min(room, own)
    fitted = height if address.height or own > room else None  # a figure with a height fits itself into it
    framed = replace(pictured_address(address, EMBED), theme=address.theme, hide=address.hide, height=fitted)
    frame = base + canonical_address(op, framed, "/embed/{name}")
    html = (
        f'<iframe src="{escape(frame)}" title="{escape(op["title"])}" width="{width}" height="{height}"'
        ' frameborder="0" marginwidth="0" marginheight="0"></iframe>'
    )
    return {
        "version": "1.0",
        "type": "rich",
        "title": op["title"],
        "provider_name": "Gradloupe",
        "provider_url": f"{base}/",
        "cache_age": _CACHE_AGE,
        "html": html,
        "width": width,
        "height": height,
        **_thumbnail(base, op, address, maxwidth, maxheight),
    }


def _thumbnail(base: str, op: OpDescription, address: Address, maxwidth: int, maxheight: int) -> dict[str, Any]:
    """The preview picture; nothing where the consumer has no room for it."""
    width, height = PREVIEW_SIZE
    if (maxwidth or width) < width or (maxheight or height) < height:
        return {}
    pictured = pictured_address(address)
    pictured = replace(pictured, hide=pictured_parts(address.hide, pictured.question.view))
    picture = base + canonical_address(op, pictured, "/ops/{name}.png")
    return {"thumbnail_url": picture, "thumbnail_width": width, "thumbnail_height": height}


def _natural_height(op: OpDescription, address: Address) -> int:
    """The approximate height of a figure with the parts that it shows, in pixels."""
    controlled = op["parameters"] and "controls" not in address.hide
    parts = sum(height for part, height in _PART_HEIGHTS.items() if part not in address.hide)
    return _FIGURE_HEIGHT + parts + (_PARAMETERS_HEIGHT if controlled else 0)


def _bound(given: dict[str, str], name: str, bounds: tuple[int, int]) -> int:
    """A whole number of pixels, at most the upper bound; 0 where none is given."""
    text = given.get(name, "")
    if text and re.fullmatch(r"[0-9]+", text, re.ASCII) is None:
        raise BadQuery(f"{name}={printable_excerpt(text)} is not a whole number of pixels.", name)
    pixels = min(int(text.lstrip("0")[:9] or 0), bounds[1])
    if text and not pixels:
        raise BadQuery(f"{name}=0 leaves no room for a figure; it needs {bounds[0]} pixels at least.", name)
    return pixels


def _host(parts: SplitResult) -> str:
    """Host and port of an address, without the default port; raises ``ValueError``."""
    name, port = parts.hostname or "", parts.port
    if parts.username is not None or parts.password is not None:
        raise ValueError("an address with a user in it")
    name = f"[{name}]" if ":" in name else name
    return name if port in (None, _PORTS.get(parts.scheme)) else f"{name}:{port}"
