"""What hands do on the figure: zoom, pinch and hide curves; Back undoes it, and nothing moves meanwhile."""

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page, expect
from support.browser import alone, drag, enter, here, opened, place_of, resized, shows, zoom
from support.sampling import sampled

HISTORY = "() => history.length"
XRANGE = "() => document.querySelector('#plot').layout.xaxis.range"
SEEN = "() => document.querySelector('#plot').data.filter(({visible}) => visible !== false).map(({name}) => name)"
HOME = "/ops/clamp_with_grad"
WATCH = """() => { window.moves = [];
const told = (list) => window.moves.push(...list.filter((each) => !each.hadRecentInput).map(({value}) => value));
window.shifts = new PerformanceObserver((list) => told(list.getEntries()));
window.shifts.observe({type: 'layout-shift'}); window.told = told; }"""
MOVED = """async () => { for (let i = 0; i < 2; i += 1) await new Promise(requestAnimationFrame);
window.told(window.shifts.takeRecords()); return window.moves.reduce((sum, each) => sum + each, 0); }"""


def test_back_undoes_each_deed_and_no_step_of_a_slider_and_buttons_leave_a_zoom_and_hide_a_curve(
    browser: Browser, server: str
) -> None:
    with alone(browser, server) as page:  # the history of a tab holds 50 entries
        opened(page, HOME)
        deeds = page.evaluate(HISTORY)
        drag(page, page.get_by_role("slider", name="min"), 0.25)
        low = page.locator("#field-min").input_value().replace("−", "-")
        shows(page, f"{HOME}?min={low}")
        assert page.evaluate(HISTORY) == deeds
        page.get_by_role("button", name="Flip sign").click()
        flipped = f"{HOME}?min={low}&grad_output=-1"
        shows(page, flipped)
        zoom(page, 0.25, 0.5)
        reset = page.get_by_role("button", name="Reset zoom")
        expect(reset).to_be_visible()
        page.evaluate("() => document.querySelector('[name=view][value=area]').click()")
        expect(page.locator("#companion")).to_be_visible()
        assert page.evaluate(HISTORY) == deeds + 3
        page.go_back()
        expect(page.locator("#companion")).to_be_hidden()
        page.go_back()
        shows(page, flipped)
        expect(reset).to_be_hidden()
        expect(page.locator("#field-start")).to_have_value("−3")
        page.go_back()
        shows(page, f"{HOME}?min={low}")
        page.go_forward()
        shows(page, flipped)
        assert here(page) == flipped
        page.go_forward()
        expect(reset).to_be_visible()
        reset.press("Enter")
        shows(page, flipped)
        expect(reset).to_be_hidden()
        expect(page.get_by_role("slider", name="Trace")).to_be_focused()
        entry = page.get_by_role("button", name="numerical", exact=False)
        entry.press("Space")  # an entry of the legend hides its curve
        expect(entry).to_have_attribute("aria-pressed", "false")
        assert not {"numerical", "error band"} & set(page.evaluate(SEEN))
        assert "hide=numerical" in here(page)
        page.reload()  # the address keeps it
        expect(entry).to_have_attribute("aria-pressed", "false")
        page.locator("html[data-ready]").wait_for()
        assert not {"numerical", "error band"} & set(page.evaluate(SEEN))
        page.get_by_role("slider", name="Trace").press("End")
        expect(page.locator(".overlay .dot.numerical")).to_be_hidden()
        expect(page.locator(".overlay .dot.analytical")).to_be_visible()
        entry.click()
        assert {"numerical", "error band"} <= set(page.evaluate(SEEN))
        assert "hide=" not in here(page)


def fingers(page: Page) -> Any:
    """`touch(kind, *places)`: fingers on the glass at these points."""
    session = page.context.new_cdp_session(page)

    def touch(kind: str, *places: tuple[float, float]) -> None:
        points = [{"x": x, "y": y, "id": i} for i, (x, y) in enumerate(places)]
        session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

    return touch


@pytest.mark.nightly
def test_two_fingers_zoom_and_one_reads(browser: Browser, server: str) -> None:
    with alone(browser, server, has_touch=True) as page:
        page.set_viewport_size({"width": 390, "height": 844})
        opened(page, "/ops/exp")
        expect(page.locator("#keys")).to_contain_text("pinch to zoom", use_inner_text=True)
        box = place_of(page.locator("#canvas .nsewdrag[data-subplot='xy']"))
        middle, y = box["x"] + box["width"] / 2, box["y"] + 40
        page.touchscreen.tap(middle, y)
        expect(page.locator("#reading dl")).to_be_visible()
        low, high = page.evaluate(XRANGE)
        touch = fingers(page)
        touch("touchStart", (middle - 40, y), (middle + 40, y))
        for apart in (50, 60, 80):
            touch("touchMove", (middle - apart, y), (middle + apart, y))
        touch("touchEnd")
        expect(page.locator("#field-start")).not_to_have_value("−2")
        shows(page, here(page))
        now = page.evaluate(XRANGE)
        assert abs((now[1] - now[0]) - (high - low) / 2) < 0.02 * (high - low)
        assert abs(sum(now) - low - high) < 0.02 * (high - low)
        page.get_by_role("button", name="Reset zoom").tap()
        shows(page, "/ops/exp")


def still(page: Page, held: Locator, act: Callable[[], object]) -> None:
    """What is done moves neither the figure nor the control under the pointer, nor, later, anything else."""
    held.scroll_into_view_if_needed()
    seen = page.locator("#canvas"), held
    before = [each.bounding_box() for each in seen]
    page.evaluate(WATCH)
    act()
    shows(page, here(page))
    assert page.evaluate(MOVED) < 0.01
    for was, each in zip(before, seen, strict=True):
        assert was == pytest.approx(each.bounding_box(), abs=1)


@pytest.mark.parametrize("size", sampled([(390, 844), (1280, 720)], [(390, 844)]))
def test_nothing_moves_the_figure_nor_what_is_under_the_pointer(page: Page, size: tuple[int, int]) -> None:
    opened(page, HOME)
    resized(page, *size)
    shows(page, HOME)
    slider, field = page.get_by_role("slider", name="min"), page.locator("#field-min")
    flip = page.get_by_role("button", name="Flip sign")
    still(page, slider, lambda: drag(page, slider, 0.25))
    still(page, flip, flip.click)
    still(page, flip, flip.click)
    still(page, page.locator("#canvas"), lambda: zoom(page, 0.2, 0.6))
    still(page, page.locator("#canvas"), page.get_by_role("button", name="Reset zoom").click)
    place = "field => field.getBoundingClientRect().top + scrollY"
    before = field.evaluate(place)
    field.fill("9")
    expect(page.locator("#refused-min")).to_be_visible()
    assert field.evaluate(place) == pytest.approx(before, abs=1)
    enter(page.locator("#field-count"), "0")
    expect(page.locator("#refused-count")).to_be_visible()  # of two that are refused both are told
    expect(page.locator("#refused-min")).to_be_visible()
