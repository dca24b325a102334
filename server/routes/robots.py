"""Routes for search engines: ``/robots.txt`` and ``/sitemap.xml``."""

from __future__ import annotations

from collections.abc import Iterable
from xml.etree import ElementTree

from fastapi import APIRouter, HTTPException, Request, Response

from ..http.responses import reply
from ..url.representations import REPRESENTATIONS
from .context import Site

NAMESPACE = "http://www.sitemaps.org/schemas/sitemap/0.9"
# Not to be crawled: every section has its data and files, and there is no end of sections.
ENDLESS = (
    *(f"/ops/*.{ending}" for ending, shown in REPRESENTATIONS.items() if not shown.crawled),
    *("/compare.", "/openapi.json", "/healthz", "/metrics"),
)

router = APIRouter()


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
