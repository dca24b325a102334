"""What axe finds wrong with a page."""

from __future__ import annotations

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page


def violations(page: Page) -> list[tuple[str, list[str]]]:
    """What axe finds, but for the insides of Swagger UI, which are not ours."""
    found = Axe().run(page, context={"exclude": [["#api"]]}).response["violations"]
    return [(each["id"], [node["html"] for node in each["nodes"]]) for each in found]
