"""The report as one page: from a disk it asks for nothing, shows everything, and escapes what a visitor writes."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect
from support.browser import resized
from support.command_line import ran
from support.exports import from_disk

from gradloupe.server.config.settings import Settings
from gradloupe.server.report.command import write_report
from gradloupe.server.report.result import CheckResult, ExaminedFunction, Report, XrayFinding

NAMES = ["Cube", "Through", "Product", "Crash", "Riddle"]


@pytest.fixture(scope="module")
def opened(browser: Browser, folder: Path) -> Iterator[Page]:
    """The page of the bad file."""
    assert ran(folder, "my_ops.py --save-html report.html").returncode == 0
    with from_disk(browser, folder / "report.html", color_scheme="dark") as page:
        yield page


def test_the_page_shows_every_function_with_its_word_its_picture_and_its_source(opened: Page) -> None:
    assert opened.locator("script").count() == 0
    expect(opened.locator(".contents li a")).to_have_text(NAMES)
    first = opened.locator(".contents li").nth(2)
    expect(first).to_contain_text("differs")
    first.get_by_role("link").click()
    product = opened.locator("article.function").nth(2)
    expect(product).to_be_in_viewport()
    expect(product.locator(".verdict")).to_contain_text("derivative")
    expect(product.locator("img")).to_have_js_property("complete", True)
    expect(product.locator("img")).to_have_js_property("naturalWidth", 920)
    expect(product.locator(".source .failed").first).to_be_attached()
    expect(opened.locator("article.function img")).to_have_count(3)


def test_the_page_fits_a_telephone_and_every_reader(opened: Page) -> None:
    for scheme in ("light", "dark"):
        opened.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        found = Axe().run(opened).response["violations"]
        assert [(each["id"], each["nodes"][0]["html"]) for each in found] == []
    resized(opened, 360, 640)
    assert opened.evaluate("document.documentElement.scrollWidth") == 360
    opened.set_viewport_size({"width": 1280, "height": 860})


def test_what_was_found_beside_the_curves_stands_on_the_page_once(folder: Path) -> None:
    line = "warned.py:Here warned.py:Row failing.py:Last --save-html beside.html"
    assert ran(folder, line).stderr.startswith("Wrote beside.html: 3 Functions")
    page = (folder / "beside.html").read_text()
    assert page.count("<code>backward</code> differs for") == 1
    assert "backward</code> raises RuntimeError" in page
    assert "<code>forward</code> in weight: for" in page


def test_the_page_escapes_what_a_visitor_writes(tmp_path: Path) -> None:
    evil = "<script>alert(1)</script>"
    finding = XrayFinding("GRADIENT", evil, "error", evil, evil)
    result = CheckResult(evil, "differs", evil, evil, (), (finding,), file=evil, line=3)
    found = ExaminedFunction(result, {"source": evil, "doc": evil, "first_line": 1})  # type: ignore[typeddict-item]
    write_report(Report((evil,), (found,), torch="2", device="cpu"), Settings(save_html=str(tmp_path / "evil.html")))
    page = (tmp_path / "evil.html").read_text()
    assert "<script" not in page
    assert "alert(1)" in page
