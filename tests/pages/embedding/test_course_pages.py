"""Figures on the pages of others: what the dialog says to paste is pasted, built by the real tool, and looked at."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Frame, Page, Request, expect
from support import course_sites, http
from support.browser import POLICY, opened, settles
from support.course_sites import course
from support.sampling import sampled

pytestmark = pytest.mark.release

ADDRESS = "/ops/clamp_with_grad?min=-0.5&grad_output=-1"
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
UNKNOWN = 480  # the height that a figure is given before it has said its own
WIDTHS = "f => [f.clientWidth, (f.getRootNode().host ?? f.parentElement).clientWidth]"


@pytest.fixture(scope="module")
def snippets(browser: Browser, server: str) -> dict[str, str]:
    """By place, what the dialog of the page gives to paste."""
    context = browser.new_context(base_url=server)
    page = opened(context.new_page(), ADDRESS)
    page.locator("#share").click()
    # What is pasted is as high as the preview turned out.
    told = re.compile(f'height="(?!{UNKNOWN}")[0-9]+"')
    expect(page.locator("#sharing textarea")).to_have_value(told)
    found = {}
    for place in page.locator("#sharing [name=place]").all():
        name = place.get_attribute("value") or ""
        page.locator("#sharing .places label").filter(has=page.locator(f"[value='{name}']")).click()
        found[name] = page.locator("#sharing textarea").input_value()
    context.close()
    return found


@pytest.fixture
def visit(browser: Browser, server: str) -> Iterator[Callable[..., Page]]:
    """Opens a page of another site in a browser that keeps nothing for frames; nothing may complain in it."""
    complaints: list[str] = []
    context = browser.new_context(color_scheme=None, viewport={"width": 1100, "height": 900})
    context.add_init_script(POLICY)

    def open_page(address: str) -> Page:
        page = context.new_page()
        hosts = {urlsplit(address).netloc, urlsplit(server).netloc}

        def asked(request: Request) -> None:
            at = urlsplit(request.url)
            if at.scheme in ("http", "https") and at.netloc not in hosts:
                complaints.append(f"another host: {request.url}")

        def said(message: ConsoleMessage) -> None:
            if message.type in ("error", "warning"):
                complaints.append(message.text)

        page.on("request", asked)
        page.on("console", said)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(address)
        return page

    yield open_page
    context.close()
    assert complaints == []


def live(page: Page, server: str) -> Frame:
    """The frame of our figure, once it is live."""
    element = page.locator("iframe").first.element_handle()
    frame = element.content_frame()
    assert frame is not None
    expect(frame.locator("html[data-ready]")).to_be_attached(timeout=30_000)
    assert frame.url.startswith(f"{server}/embed/clamp_with_grad?")
    assert frame.locator("html").get_attribute("data-ready") == ADDRESS
    return frame


@pytest.mark.parametrize("place", sampled(BUILDERS, ("HTML", *SLIDES)))
def test_what_is_pasted_is_live(
    place: str, snippets: dict[str, str], visit: Callable[..., Page], server: str, tmp_path: Path
) -> None:
    page_name = BUILDERS[place](tmp_path, snippets[place])
    with course(tmp_path) as site:
        page = visit(f"{site}/{page_name}")
        if place in SLIDES:
            page.locator("#next").click()
        page.locator("iframe").first.scroll_into_view_if_needed()
        frame = live(page, server)
        width, room = page.locator("iframe").first.evaluate(WIDTHS)
        assert width > 0.9 * min(room, 1100)
        shown = frame.locator(".embed").bounding_box()
        drawn = frame.locator("#plot .main-svg").first.bounding_box()
        assert shown is not None
        assert drawn is not None
        assert shown["width"] > 0.9 * width
        assert drawn["width"] > 0.55 * width  # the controls may stand beside it
        over = "() => Math.max(0, document.documentElement.scrollHeight - innerHeight - 1)"
        settles(lambda: frame.evaluate(over), 0)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_an_embed_follows_the_theme_of_its_reader(
    scheme: str, snippets: dict[str, str], browser: Browser, server: str, tmp_path: Path
) -> None:
    name = course_sites.plain(tmp_path, snippets["HTML"])
    context = browser.new_context(color_scheme="light" if scheme == "light" else "dark")
    with course(tmp_path) as site:
        page = context.new_page()
        page.goto(f"{site}/{name}")
        ground = live(page, server).evaluate("() => getComputedStyle(document.documentElement).backgroundColor")
    context.close()
    brightness = sum(int(each) for each in ground.strip("rgb()").split(",")) / 3
    assert (brightness > 200) == (scheme == "light")


def test_an_embed_in_the_strictest_sandbox_is_live(visit: Callable[..., Page], server: str, tmp_path: Path) -> None:
    source = f"{server}/embed/clamp_with_grad?min=-0.5&amp;grad_output=-1"
    name = course_sites.plain(
        tmp_path, f'<iframe sandbox="allow-scripts" src="{source}" width="700" height="600"></iframe>'
    )
    with course(tmp_path) as site:
        page = visit(f"{site}/{name}")
        figure = live(page, server)
        assert figure.evaluate("() => origin") == "null"
        figure.get_by_role("button", name="Set grad_output to 1").click()
        expect(figure.locator("html")).to_have_attribute("data-ready", "/ops/clamp_with_grad?min=-0.5")


WORDPRESS = """<!doctype html><meta charset="utf-8"><title>A blog</title><p>Text.</p>{frame}
<script>addEventListener("message", ({{ data, source }}) => {{
  const frame = document.querySelector("iframe");
  if (data.secret !== "Ab3dEf9hIj" || source !== frame.contentWindow || data.message !== "height") return;
  frame.height = Math.min(1000, Math.max(200, ~~data.value));
}});</script>"""


def test_wordpress_gets_a_frame_that_fits(visit: Callable[..., Page], server: str, tmp_path: Path) -> None:
    """As WordPress treats what it discovers: some attributes kept, a sandbox, a secret, heights from 200 to 1000."""
    told = http.get(f"{server}/oembed", params={"url": server + ADDRESS, "format": "json"}).json()
    assert told["type"] == "rich"
    source = told["html"].split('src="')[1].split('"')[0]
    kept = f'<iframe sandbox="allow-scripts" security="restricted" src="{source}#?secret=Ab3dEf9hIj" title="figure"'
    (tmp_path / "blog.html").write_text(
        WORDPRESS.format(frame=f'{kept} width="{told["width"]}" height="{told["height"]}"></iframe>')
    )
    with course(tmp_path) as site:
        page = visit(f"{site}/blog.html")
        figure, frame = live(page, server), page.locator("iframe")
        high = "() => Math.ceil(document.body.getBoundingClientRect().height)"
        settles(lambda: frame.get_attribute("height") == str(min(1000, max(200, figure.evaluate(high)))), True)
        settles(lambda: figure.evaluate("() => document.documentElement.scrollHeight <= innerHeight"), True)


def test_twenty_on_one_page_are_still_at_first_and_live_when_they_are_seen(
    visit: Callable[..., Page], server: str, tmp_path: Path
) -> None:
    outputs = itertools.count(1)
    frames = "\n".join(
        f'<iframe src="{server}/embed/exp?grad_output={next(outputs)}" width="600" height="420"></iframe>'
        for _ in range(20)
    )
    name = course_sites.plain(tmp_path, frames)
    with course(tmp_path) as site:
        page = visit(f"{site}/{name}")
        elements = page.locator("iframe")
        first, last = (elements.nth(each).element_handle().content_frame() for each in (0, 19))
        assert first is not None
        assert last is not None
        expect(first.locator("html[data-ready]")).to_be_attached(timeout=30_000)
        expect(last.locator("#still")).to_be_attached(timeout=30_000)
        assert last.locator("html").get_attribute("data-ready") is None
        elements.nth(19).scroll_into_view_if_needed()
        expect(last.locator("html[data-ready]")).to_be_attached(timeout=30_000)
        assert json.dumps(last.locator("html").get_attribute("data-ready")) == '"/ops/exp?grad_output=20"'
