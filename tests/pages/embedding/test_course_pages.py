"""Figures on the pages of others: what the dialog says to paste is pasted, built by the real tool, and looked at."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Frame, Page, expect
from support import course_sites, http
from support.browser import HIDDEN, listening, settles, visitor
from support.course_sites import course
from support.embedding_site import SHARED
from support.sampling import sampled

pytestmark = pytest.mark.release

BUILDERS: dict[str, Callable[[Path, str], str]] = {
    "HTML": course_sites.plain,
    "Web component": course_sites.plain,
    "MyST": course_sites.sphinx,
    "MkDocs": course_sites.mkdocs,
    "Jupyter": course_sites.jupyter,
    "Moodle, Canvas": course_sites.plain,
    "reveal.js": course_sites.slides,
}
SLIDES = ("reveal.js",)
WIDTHS = "f => [f.clientWidth, (f.getRootNode().host ?? f.parentElement).clientWidth]"


@pytest.fixture
def page(browser: Browser, server: str) -> Iterator[Page]:
    """One in a browser that keeps nothing for frames and has no wish for colours."""
    with visitor(browser, server, color_scheme=None) as page:
        yield page


def live(page: Page, server: str) -> Frame:
    """The frame of our figure, once it is live."""
    element = page.locator("iframe").first.element_handle()
    frame = element.content_frame()
    expect(frame.locator("html[data-ready]")).to_be_attached(timeout=30_000)
    assert frame.url.startswith(f"{server}/embed/clamp_with_grad?")
    assert frame.locator("html").get_attribute("data-ready") == SHARED
    return frame


@pytest.mark.parametrize("place", sampled(BUILDERS, ("HTML", *SLIDES)))
def test_what_is_pasted_is_live(place: str, snippets: dict[str, str], page: Page, server: str, tmp_path: Path) -> None:
    page_name = BUILDERS[place](tmp_path, snippets[place])
    with course(tmp_path) as site, listening(page, site, server):
        page.goto(f"{site}/{page_name}")
        if place in SLIDES:
            page.locator("#next").click()
        page.locator("iframe").first.scroll_into_view_if_needed()
        frame = live(page, server)
        width, room = page.locator("iframe").first.evaluate(WIDTHS)
        assert width > 0.9 * min(room, 1100)
        assert frame.locator(".embed").bounding_box()["width"] > 0.9 * width
        settles(lambda: frame.evaluate(HIDDEN)[1] <= 1, True)


WORDPRESS = """<!doctype html><meta charset="utf-8"><title>A blog</title><p>Text.</p>{frame}
<script>addEventListener("message", ({{ data, source }}) => {{
  const frame = document.querySelector("iframe");
  if (data.secret !== "Ab3dEf9hIj" || source !== frame.contentWindow || data.message !== "height") return;
  frame.height = Math.min(1000, Math.max(200, ~~data.value));
}});</script>"""


def test_wordpress_gets_a_frame_that_fits(page: Page, server: str, tmp_path: Path) -> None:
    """As WordPress treats what it discovers: some attributes kept, a sandbox, a secret, heights from 200 to 1000."""
    told = http.get(f"{server}/oembed", params={"url": server + SHARED, "format": "json"}).json()
    assert told["type"] == "rich"
    source = told["html"].split('src="')[1].split('"')[0]
    kept = f'<iframe sandbox="allow-scripts" security="restricted" src="{source}#?secret=Ab3dEf9hIj" title="figure"'
    (tmp_path / "blog.html").write_text(
        WORDPRESS.format(frame=f'{kept} width="{told["width"]}" height="{told["height"]}"></iframe>')
    )
    with course(tmp_path) as site, listening(page, site, server):
        page.goto(f"{site}/blog.html")
        figure, frame = live(page, server), page.locator("iframe")
        high = "() => Math.ceil(document.body.getBoundingClientRect().height)"
        settles(lambda: frame.get_attribute("height") == str(min(1000, max(200, figure.evaluate(high)))), True)
        settles(lambda: figure.evaluate("() => document.documentElement.scrollHeight <= innerHeight"), True)
