"""Figures in frames while the server has more to do than it can: each becomes alive by itself."""

import re
from pathlib import Path

from playwright.sync_api import Browser, Locator, Page, expect
from support.embedding_site import hosting
from support.halted_worker import crowded
from support.own_server import showing

ALIVE = re.compile(".+")
BUSY = ".notice[data-address='']"


def put(page: Page, *addresses: str) -> list[Locator]:
    """The pages in frames of another site, all of them in sight."""
    frames = "".join(f'<iframe src="{address}" width="440" height="300"></iframe>' for address in addresses)
    page.set_viewport_size({"width": 1400, "height": 900})
    page.set_content(frames)
    return [page.frame_locator("iframe").nth(place).locator(":root") for place in range(len(addresses))]


def test_a_figure_that_a_busy_server_could_not_describe_becomes_alive(browser: Browser, tmp_path: Path) -> None:
    with (
        hosting(strict=False) as host,
        showing(tmp_path, "--frame-ancestors", host.url, "--deadline", "300", "--requests-per-peer", "0") as own,
        browser.new_page(base_url=host.url) as page,
    ):
        host.pages["/"] = ""
        assert own.get("/ops/Clamp.json").status_code == 200
        page.goto("/")
        with crowded(own, "Clamp"):
            (root,) = put(page, f"{own.url}/embed/Cube")
            expect(root.locator(BUSY)).to_be_visible()
        expect(root).to_have_attribute("data-ready", ALIVE)
