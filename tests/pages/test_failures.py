import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect
from support.browser import curves, enter, opened, shows, zoom


def test_refused_values_keep_the_last_good_curves_and_are_told_each_beside_its_field(page: Page) -> None:
    opened(page, "/ops/clamp_with_grad")
    before, trouble = curves(page), page.locator("#trouble")
    said = {"min": ("-9", "from −3 to 3"), "max": ("banana", "not a number"), "count": ("1e9", "whole number")}
    for field, (text, words) in said.items():
        enter(page.locator(f"#field-{field}"), text)
        expect(trouble).to_contain_text(field)
        expect(trouble).to_contain_text(words)
        expect(page.locator(f"#field-{field}")).to_have_attribute("aria-invalid", "true")
        assert curves(page) == before
        expect(page).to_have_url(re.compile("/ops/clamp_with_grad$"))  # the address stays that of the picture
    page.get_by_role("button", name="Set grad_output to −1").click()
    for field, (_, words) in said.items():
        note = page.locator(f"#refused-{field}")
        expect(note).to_contain_text(words)
        expect(note).to_be_visible()
        expect(page.locator(f"#field-{field}")).to_have_accessible_description(note.inner_text())
    for field, text in (("min", "-1"), ("max", "0.5"), ("count", "2")):
        expect(trouble).not_to_be_empty()
        enter(page.locator(f"#field-{field}"), text)
        expect(page.locator(f"#refused-{field}")).to_have_count(0)
        expect(page.locator(f"#field-{field}")).not_to_have_attribute("aria-invalid", "true")
    expect(trouble).to_be_empty()
    shows(page, "/ops/clamp_with_grad?max=0.5&count=2&grad_output=-1")


def test_a_server_that_is_gone_is_said_and_forgiven_and_a_zoom_leaves_the_axis_with_the_curves(page: Page) -> None:
    opened(page, "/ops/exp")
    page.route("**/exp.page.json*", lambda route: route.abort())
    page.get_by_role("button", name="Flip sign").click()
    expect(page.locator("#trouble")).to_contain_text("does not answer")
    page.unroute("**/exp.page.json*")
    page.get_by_role("button", name="Flip sign").click()
    shows(page, "/ops/exp")
    expect(page.locator("#trouble")).to_be_empty()
    page.route("**/exp.page.json*", lambda route: route.abort())
    zoom(page, 0.3, 0.5)
    expect(page.locator("#trouble")).to_contain_text("does not answer")
    page.wait_for_function("() => document.querySelector('#plot')._fullLayout.xaxis.range.join() === '-2,2'")


def test_until_a_zoom_is_answered_the_hairline_keeps_to_the_axis_that_is_shown(page: Page) -> None:
    opened(page, "/ops/exp")
    page.route("**/exp.page.json?start*", lambda route: None)
    box = zoom(page, 0.25, 0.5)
    page.wait_for_function("() => document.querySelector('#plot')._fullLayout.xaxis.range.join() !== '-2,2'")
    page.mouse.move(box["x"] + box["width"] * 0.5, box["y"] + 60)
    start, stop = page.evaluate("() => document.querySelector('#plot')._fullLayout.xaxis.range")
    assert -1.6 < start < stop < 0.1
    now = float(page.locator("#cursor").get_attribute("aria-valuenow") or "nan")
    assert now == pytest.approx((start + stop) / 2, abs=0.02)


FAILS_ONCE = """() => { const react = Plotly.react;
Plotly.react = () => { Plotly.react = react; throw new Error('a drawing went wrong') } }"""


@pytest.fixture
def unwatched(window: Page) -> Iterator[Page]:
    """The page of all tests, in which things may go wrong."""
    yield window
    window.unroute_all()


def test_a_page_that_fails_once_says_so_and_goes_on(unwatched: Page) -> None:
    page, trouble = opened(unwatched, "/ops/exp"), unwatched.locator("#trouble")
    page.evaluate(FAILS_ONCE)
    page.get_by_role("button", name="Flip sign").click()
    expect(trouble).to_contain_text("a drawing went wrong")
    page.route("**/exp.page.json", lambda route: route.fulfill(json={"address": "/ops/exp", "marks": 1}))
    page.get_by_role("button", name="Flip sign").click()
    expect(trouble).to_contain_text("failed to show it")
    page.unroute("**/exp.page.json")
    page.get_by_role("button", name="Set grad_output to −1").click()
    shows(page, "/ops/exp?grad_output=-1")
    expect(trouble).to_be_empty()


def test_without_plotly_the_page_says_that_it_cannot_draw(unwatched: Page) -> None:
    unwatched.route("**/plotly*.min.js", lambda route: route.abort())
    unwatched.goto("/ops/exp")
    expect(unwatched.locator("#verdict .word")).to_have_text("matches")
    expect(unwatched.locator("#trouble")).to_contain_text(re.compile(r"plotly\S*\.min\.js, could not be loaded"))
    expect(unwatched.locator("#still .panel").first).to_be_visible()
