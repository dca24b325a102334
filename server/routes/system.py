"""Routes of the server itself: API docs, health, metrics, static files, the module of ``<grad-loupe>``, robots."""

import json
from collections.abc import Iterable
from ipaddress import ip_address
from urllib.parse import parse_qsl
from xml.etree import ElementTree

from fastapi import APIRouter, HTTPException, Request, Response

from ..http.metrics import Collector, prometheus_text
from ..http.openapi import HEALTH_PARAMETERS, json_response, problem_responses
from ..http.responses import reply, uncached_reply
from ..http.static_files import StaticFiles
from ..schema.section import HealthRecord
from ..url.numbers import BadQuery
from ..url.representations import REPRESENTATIONS
from .context import Site, query_string

_ELEMENT = "element/grad-loupe.js"
STRANGER = "The metrics of a public server are for its own network; ask from there, and not through a proxy."
PROXY_HEADERS = ("forwarded", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-real-ip", "via")
NAMESPACE = "http://www.sitemaps.org/schemas/sitemap/0.9"
# Not to be crawled: every section has its data and files, and there is no end of sections.
ENDLESS = (
    *(f"/ops/*.{ending}" for ending, shown in REPRESENTATIONS.items() if not shown.crawled),
    *("/compare.", "/openapi.json", "/healthz", "/metrics"),
)

router = APIRouter()


@router.get("/docs", include_in_schema=False)
async def docs(request: Request) -> Response:
    """The API, to read and to try."""
    body = Site.serving(request).pages.docs()
    return reply(request, body, "text/html")


@router.get(
    "/healthz",
    tags=["health"],
    summary="Whether torch is loaded",
    responses={200: json_response(HealthRecord), **problem_responses(422, 503)},
    response_class=Response,
    openapi_extra={"parameters": HEALTH_PARAMETERS},
)
async def healthz(request: Request) -> Response:
    """`starting`, then `ready`; 503 with a sentence when the ops cannot be loaded."""
    engine = Site.serving(request).engine
    given = parse_qsl(query_string(request), keep_blank_values=True)
    if given not in ([], [("wait", "0")], [("wait", "1")], [("ready", "1")]):
        raise BadQuery("The query of /healthz is not one it knows; allowed are wait=0, wait=1 and ready=1.", "wait")
    if engine.broken or given == [("wait", "1")]:
        await engine.wait_ready()
    if engine.starting and given == [("ready", "1")]:
        raise HTTPException(503, "torch is still loading; ask again in a second.")
    status = "starting" if engine.starting else "ready"
    return uncached_reply(request, json.dumps({"status": status}).encode(), "application/json")


@router.get("/grad-loupe.js", include_in_schema=False)
async def element_module(request: Request) -> Response:
    """The module that makes `<grad-loupe>` work on other sites; its address never changes, so it is asked for again."""
    assets = Site.serving(request).assets
    return reply(request, assets.read(_ELEMENT), assets.media_type(_ELEMENT), assets.digest)


@router.get("/grad-loupe.mjs", include_in_schema=False)
async def widget_module(request: Request) -> Response:
    """The same module in the form of anywidget, for MyST and for notebooks."""
    assets = Site.serving(request).assets
    return reply(request, assets.widget.encode(), assets.media_type(_ELEMENT), f"{assets.digest}-widget")


@router.get("/static/{digest}/{path:path}", include_in_schema=False)
async def static_file(request: Request) -> Response:
    """A static file; its address changes with its content, so it is kept for ever."""
    path = request.path_params
    files: StaticFiles = request.app.state.static_files
    found = await files.serve(request, path["digest"], path["path"])
    if found is None:
        raise HTTPException(404, "There is no such static file; reload the page, which knows the present ones.")
    return found


@router.get("/metrics", include_in_schema=False)
async def metrics(request: Request) -> Response:
    """What the server has counted so far, in the format of Prometheus."""
    if Site.serving(request).settings.public and _is_stranger(request):
        raise HTTPException(403, STRANGER)
    collector: Collector = request.app.state.collector
    body, media_type = prometheus_text(collector)
    return Response(body, headers={"Cache-Control": "no-store"}, media_type=media_type)


def _is_stranger(request: Request) -> bool:
    if any(name in request.headers for name in PROXY_HEADERS):
        return True
    try:
        return not ip_address(request.client.host if request.client else "").is_private
    except ValueError:
        return True


@router.get("/robots.txt", include_in_schema=False)
async def robots(request: Request) -> Response:
    """Nothing is for search engines, except where the site is public."""
    site = Site.serving(request)
    root = site.settings.root
    lines = ["User-agent: *", f"Disallow: {root}/"]
    if site.settings.public:
        lines = ["User-agent: *", *(f"Disallow: {root}{path}" for path in ENDLESS)]
        lines += ["", f"Sitemap: {site.base(request)}/sitemap.xml"]
    body = "".join(f"{line}\n" for line in lines).encode()
    return reply(request, body, "text/plain")


@router.get("/sitemap.xml", include_in_schema=False)
async def sitemap(request: Request) -> Response:
    """The gallery, every op, every lesson and the glossary, where the site is public."""
    site = Site.serving(request)
    if not site.settings.public:
        raise HTTPException(404, "This site has no map: it is not public, and search engines are asked to stay away.")
    base = site.base(request)
    ops = [f"/ops/{name}" for name in await site.engine.catalogue()]
    taught = [f"/lessons/{lesson.name}" for lesson in (await site.course()).lessons]
    body = _listed(base + path for path in ("/", *ops, "/lessons", *taught, "/glossary"))
    return reply(request, body, "application/xml")


def _listed(addresses: Iterable[str]) -> bytes:
    root = ElementTree.Element("urlset", xmlns=NAMESPACE)
    for address in addresses:
        ElementTree.SubElement(ElementTree.SubElement(root, "url"), "loc").text = address
    return ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
