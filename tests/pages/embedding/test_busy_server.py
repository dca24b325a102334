"""Figures in frames while the server has more to do than it can: each becomes alive by itself."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect
from support.embedding_site import hosting
from support.halted_worker import crowded
from support.own_server import showing

ALIVE = re.compile(".+")
BUSY = ".notice[data-address='']"


@pytest.mark.nightly
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
            page.set_content(f'<iframe src="{own.url}/embed/Cube" width="440" height="300"></iframe>')
            root = page.frame_locator("iframe").locator(":root")
            expect(root.locator(BUSY)).to_be_visible()
        expect(root).to_have_attribute("data-ready", ALIVE)
