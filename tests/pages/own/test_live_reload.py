"""Live reload in a real browser: whoever saves her file sees the curves move, and nothing else of the page."""

import json
import re
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect
from support import http
from support.axe import violations
from support.browser import alone, asked, curves, drag, enter, here, opened, resized, settles, shows, zoom
from support.own_server import Own, showing
from support.saved_files import BROKEN, MINE, THRICE, follows

XRANGE = "() => document.querySelector('#plot').layout.xaxis.range"
HIDE = """hidden => { Object.defineProperty(document, 'hidden', { value: hidden, configurable: true });
document.dispatchEvent(new Event('visibilitychange')) }"""


@pytest.fixture
def page(page: Page) -> Page:
    """It shows ``Twice``, and follows the file."""
    opened(page, "/ops/Twice")
    follows(page)
    return page


def rises(page: Page, slope: float) -> None:
    """Waits until the curve drawn has this slope right of 0."""
    settles(lambda: slopes(page)[-1], pytest.approx(slope))


def slopes(page: Page) -> tuple[float, float]:
    """Of the curve drawn, left and right of 0."""
    xs, ys = curves(page)["forward"]
    left, right = ((ys[end] or 0.0) / (xs[end] or 1.0) for end in (0, -1))
    return left, right


def test_a_broken_save_shows_the_line_beside_the_last_good_curves_until_it_is_mended(page: Page, file: Path) -> None:
    file.write_text(BROKEN.replace("return 2 *", f"return 2 * {'x + ' * 60}"))
    aside = page.locator("#following")
    expect(aside.locator("mark")).to_contain_text("        return 2 * x + x")
    expect(aside.locator("mark")).to_have_attribute("data-line", "25")
    expect(aside.locator(".why")).to_contain_text("my_ops.py, line 25")
    expect(aside.locator(".stays")).to_contain_text("last good save")
    expect(aside.locator(".traceback")).to_be_hidden()
    aside.get_by_text("Traceback").click()
    expect(aside.locator(".traceback")).to_contain_text("SyntaxError")
    rises(page, 2)
    figure, message = page.locator(".figure").bounding_box(), aside.bounding_box()
    assert message["x"] + message["width"] <= figure["x"]
    resized(page, 360, 800)  # where there is one column it stands above the figure
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 360
    figure, message = page.locator(".figure").bounding_box(), aside.bounding_box()
    assert message["y"] + message["height"] <= figure["y"]
    assert violations(page) == []
    page.emulate_media(color_scheme="dark", reduced_motion="reduce")
    assert violations(page, "color-contrast") == []
    page.reload()
    expect(aside.locator("mark")).to_be_visible()
    rises(page, 2)
    file.write_text(THRICE)
    follows(page)
    expect(aside.locator(".mishap")).to_be_empty()
    rises(page, 3)


def test_a_save_moves_the_curves_and_the_words_and_the_address_and_the_zoom_stay(page: Page, file: Path) -> None:
    enter(page.get_by_role("textbox", name="grad_output"), "-1")
    shows(page, "/ops/Twice?grad_output=-1")
    zoom(page, 0.5, 0.9)
    expect(page.locator("html")).to_have_attribute("data-ready", re.compile("start="))
    page.locator(".looks label", has_text="Area").click()
    expect(page.locator("html")).to_have_attribute("data-ready", re.compile("view=area"))
    before = page.locator("#companion-sentence").inner_text()
    address, drawn = here(page), page.evaluate(XRANGE)
    page.evaluate("() => (window.stays = true)")
    file.write_text("# One line more.\n" + THRICE.replace("return 3 * grad_output", "return 5 * grad_output"))
    rises(page, 3)
    expect(page.locator("#verdict .word")).to_have_text("differs")
    expect(page.locator(".lede")).to_contain_text("Thrice")
    expect(page.locator(".source")).to_contain_text("return 5 * grad_output")
    expect(page.locator(".prose h2 .where").last).to_contain_text("from line 21")
    expect(page.locator("#companion-sentence")).not_to_have_text(before)
    assert here(page) == address
    assert page.evaluate(XRANGE) == drawn
    assert page.evaluate("() => window.stays")  # it is the same page
    expect(page.get_by_role("textbox", name="grad_output")).to_have_value("−1")


def test_a_save_that_fails_in_forward_or_backward_shows_the_line_and_leaves_what_it_can(page: Page, file: Path) -> None:
    opened(page, "/ops/Twice?start=-1&stop=2")
    follows(page)
    fails(page, file, "return 2 * x.clmp(0, 1)", "has no attribute")
    page.reload()  # a fresh page says the same, and gives no advice on recipes
    expect(page.locator("#fault mark")).to_have_attribute("data-line", "25")
    expect(page.get_by_role("heading", name="Or say it in")).to_have_count(0)
    follows(page)
    file.write_text(MINE.replace("return 2 * grad_output", "return grad_output @ torch.ones(2, 3, 4)"))
    shows(page, "/ops/Twice?start=-1&stop=2")
    expect(page.locator(".source .failed")).to_have_attribute("data-line", "29")
    expect(page.locator("#verdict .sentence")).to_contain_text("backward raised")
    rises(page, 2)
    file.write_text(THRICE)
    rises(page, 3)
    expect(page.locator("#following .mishap")).to_be_empty()


def test_a_save_that_hangs_when_it_is_called_leaves_the_curves_and_shows_the_line(
    tmp_path: Path, browser: Browser
) -> None:
    with showing(tmp_path, "--deadline", "1", text=MINE) as server, alone(browser, server.url) as page:
        opened(page, "/ops/Twice")
        follows(page)
        fails(page, tmp_path / "my_ops.py", "__import__('time').sleep(99)", "deadline")


def fails(page: Page, file: Path, line: str, said: str) -> None:
    """What the page shows when forward fails in this line."""
    file.write_text(MINE.replace("return 2 * x", line))
    aside = page.locator("#following")
    expect(aside.locator("mark")).to_have_text(f"        {line}", timeout=60_000)  # a hang has its deadline
    expect(aside.locator("mark")).to_have_attribute("data-line", "25")
    expect(aside.locator(".why")).to_contain_text(said)
    expect(aside.locator(".stays")).to_contain_text("last good save")
    expect(aside).to_have_attribute("data-state", "trouble")
    rises(page, 2)


def test_another_signature_keeps_of_the_address_what_still_applies_and_brings_its_control(
    page: Page, file: Path
) -> None:
    opened(page, "/ops/Leaky?slope=0.4&grad_output=2")
    follows(page)
    file.write_text(MINE.replace("slope", "leak"))
    shows(page, "/ops/Leaky?grad_output=2")
    expect(page.locator("#following .remark")).to_contain_text("slope no longer applies")
    expect(page.get_by_role("textbox", name="leak")).to_be_visible()


def test_every_tab_follows(page: Page, file: Path) -> None:
    second = page.context.new_page()
    opened(second, "/ops/Leaky")
    follows(second)
    file.write_text(THRICE.replace("x > 0, x,", "x > 0, 4 * x,").replace("x > 0, grad", "x > 0, 4 * grad"))
    rises(page, 3)
    rises(second, 4)
    second.close()


def test_a_function_that_is_gone_is_missed_its_curves_stay_and_its_controls_rest(page: Page, file: Path) -> None:
    renamed = MINE.replace("class Twice", "class Double")
    file.write_text(renamed)
    aside, remark, controls = (page.locator(each) for each in ("#following", "#following .remark", "#controls"))
    expect(remark).to_contain_text("Twice is no longer")
    expect(remark.get_by_role("link")).to_have_text(["Leaky", "Double"])
    expect(controls).to_have_attribute("inert", "")
    rises(page, 2)
    file.write_text("import torch\n")
    expect(aside.locator(".why")).to_contain_text("no torch.autograd.Function")
    expect(remark.locator("p")).to_be_empty()  # it is told of once
    file.write_text(THRICE)
    expect(aside.locator(".mishap")).to_be_empty()
    expect(page.locator("html:not([data-gone])")).to_be_attached()
    rises(page, 3)
    file.write_text(renamed)
    remark.get_by_role("link", name="Double").click()
    shows(page, "/ops/Double")


@pytest.mark.nightly
def test_a_slider_that_is_dragged_meanwhile_ends_where_it_is_let_go_on_the_new_curves(page: Page, file: Path) -> None:
    opened(page, "/ops/Leaky")
    follows(page)
    steeper = MINE.replace("x > 0, x,", "x > 0, 4 * x,")
    drag(page, page.locator("[data-slider=slope]"), 0.9, meanwhile=lambda: file.write_text(steeper))
    slope = float(page.get_by_role("textbox", name="slope").input_value())
    assert slope > 0.1
    settles(lambda: slopes(page), pytest.approx((slope, 4)))
    shows(page, f"/ops/Leaky?slope={slope:g}")
    assert here(page) == f"/ops/Leaky?slope={slope:g}"
    assert slopes(page) == pytest.approx((slope, 4))  # and there it stays


def test_a_tab_that_nobody_sees_asks_for_nothing_and_catches_up_when_it_is_seen(page: Page, file: Path) -> None:
    with asked(page) as addresses:
        page.evaluate(HIDE, True)
        file.write_text(THRICE)
        page.evaluate(HIDE, False)
        rises(page, 3)
    assert addresses[0].endswith("/events")
    with asked(page) as addresses:
        page.evaluate(HIDE, False)
    assert not any(url.endswith("/events") for url in addresses)


def told(own: Own) -> dict[str, Any]:
    """What whoever begins to listen is told first."""
    with http.stream("GET", f"{own.url}/events") as stream:
        assert stream.headers["content-type"].startswith("text/event-stream")
        assert stream.headers["cache-control"].startswith("no-store")
        first = next(line for line in stream.iter_lines() if line.startswith("data: "))
    state: dict[str, Any] = json.loads(first.removeprefix("data: "))
    return state


def test_who_has_come_by_the_printed_address_may_load_again(page: Page, own: Own, file: Path) -> None:
    button = page.get_by_role("button", name="Load again")
    expect(button).to_be_hidden()
    page.goto(f"/own#token={own.token}")
    shows(page, "/ops/Leaky")
    expect(page).to_have_url(f"{own.url}/ops/Leaky")
    page.reload()
    follows(page)
    before = told(own)["generation"]
    with page.expect_response(re.compile("/reload")) as response:
        button.click()
    assert response.value.json()["generation"] == before + 1
    assert own.post("/reload", origin=own.url).status_code == 403
    assert http.head(f"{own.url}/events").status_code == 200


def test_the_page_says_that_the_server_is_gone_which_waits_for_no_tab(
    browser: Browser, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with ExitStack() as running:
        server = running.enter_context(showing(tmp_path, text=MINE))
        with alone(browser, server.url) as page:
            opened(page, "/ops/Twice")
            follows(page)
            running.close()
            expect(page.locator("#following .lamp")).to_contain_text("server is gone")
            rises(page, 2)
    assert "shutdown exceeded" not in caplog.text  # as uvicorn says where it has waited in vain
