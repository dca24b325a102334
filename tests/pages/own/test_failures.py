"""What goes wrong is said in a sentence, beside the last good curves."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect
from support.browser import alone, curves, enter, opened, shows, visitor, zoom
from support.own_server import showing

RAISING = '''import torch

from gradloupe.ops import Input, Op


class Raising(torch.autograd.Function):
    """A Function whose backward asks for too much."""

    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return 2 * grad_output * x


op = Op(function=Raising, title="Raising", group="Tests", forward="y = 2x", backward="?", inputs=(Input("x"),))
'''


@pytest.mark.parametrize(
    ("field", "text", "said"),
    [("min", "-9", "from −3 to 3|from -3 to 3"), ("min", "banana", "not a number"), ("count", "1e9", "whole number")],
)
def test_a_refused_value_keeps_the_last_good_curves(page: Page, field: str, text: str, said: str) -> None:
    opened(page, "/ops/clamp_with_grad")
    before = curves(page)
    enter(page.locator(f"#field-{field}"), text)
    trouble = page.locator("#trouble")
    expect(trouble).to_contain_text(field)
    assert any(each in trouble.inner_text() for each in said.split("|"))
    expect(page.locator(f"#field-{field}")).to_have_attribute("aria-invalid", "true")
    assert curves(page) == before
    expect(page).to_have_url(re.compile("/ops/clamp_with_grad$"))  # the address stays that of the picture
    page.get_by_role("button", name="Set grad_output to −1").click()
    expect(trouble).to_contain_text(field)
    enter(page.locator(f"#field-{field}"), "2" if field == "count" else "0.5")
    expect(trouble).to_be_empty()
    expect(page.locator(f"#field-{field}")).not_to_have_attribute("aria-invalid", "true")


def test_each_refused_value_is_told_beside_its_own_field(page: Page) -> None:
    opened(page, "/ops/clamp_with_grad")
    said = {"min": "from −3 to 3", "max": "is not a number", "count": "whole number"}
    for field, text in {"min": "-9", "max": "banana", "count": "1e9"}.items():
        enter(page.locator(f"#field-{field}"), text)
    for field, words in said.items():
        note = page.locator(f"#refused-{field}")
        expect(note).to_contain_text(words)
        expect(note).to_be_visible()
        expect(page.locator(f"#field-{field}")).to_have_accessible_description(note.inner_text())
    enter(page.locator("#field-min"), "-1")
    expect(page.locator("#refused-min")).to_have_count(0)
    expect(page.locator("#refused-max")).to_be_visible()


def test_a_server_that_is_gone_is_said_and_forgiven(page: Page) -> None:
    opened(page, "/ops/exp")
    page.route("**/exp.page.json*", lambda route: route.abort())
    page.get_by_role("button", name="Flip sign").click()
    expect(page.locator("#trouble")).to_contain_text("does not answer")
    page.unroute("**/exp.page.json*")
    page.get_by_role("button", name="Flip sign").click()
    shows(page, "/ops/exp")
    expect(page.locator("#trouble")).to_be_empty()


def test_a_zoom_without_an_answer_leaves_the_axis_with_the_curves(page: Page) -> None:
    opened(page, "/ops/exp")
    page.route("**/exp.page.json*", lambda route: route.abort())
    zoom(page, 0.3, 0.5)
    expect(page.locator("#trouble")).to_contain_text("does not answer")
    page.wait_for_function("() => document.querySelector('#plot')._fullLayout.xaxis.range.join() === '-2,2'")
    assert page.evaluate("() => document.querySelector('#plot')._fullLayout.xaxis.range") == [-2, 2]


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


def test_a_page_that_fails_once_says_so_and_goes_on(browser: Browser, server: str) -> None:
    with visitor(browser, server) as page:
        opened(page, "/ops/exp")
        page.evaluate(
            "() => { const react = Plotly.react;"
            " Plotly.react = () => { Plotly.react = react; throw new Error('a drawing went wrong') } }"
        )
        page.get_by_role("button", name="Flip sign").click()
        expect(page.locator("#trouble")).to_contain_text("a drawing went wrong")
        page.route("**/exp.page.json", lambda route: route.fulfill(json={"address": "/ops/exp", "marks": 1}))
        page.get_by_role("button", name="Flip sign").click()
        expect(page.locator("#trouble")).to_contain_text("failed to show it")
        page.unroute("**/exp.page.json")
        page.get_by_role("button", name="Set grad_output to −1").click()
        shows(page, "/ops/exp?grad_output=-1")
        expect(page.locator("#trouble")).to_be_empty()


def test_without_plotly_the_page_says_that_it_cannot_draw(browser: Browser, server: str) -> None:
    with visitor(browser, server) as page:
        page.route("**/plotly*.min.js", lambda route: route.abort())
        page.goto("/ops/exp")
        expect(page.locator("#verdict .word")).to_have_text("matches")
        said = re.compile(r"the part that draws, plotly\S*\.min\.js, could not be loaded; the numbers are in the CSV")
        expect(page.locator("#trouble")).to_contain_text(said)
        expect(page.locator("#still .panel").first).to_be_visible()


def test_a_function_that_raises_is_a_result_with_its_line_shown(browser: Browser, tmp_path: Path) -> None:
    with showing(tmp_path, text=RAISING) as running, alone(browser, running.url) as page:
        opened(page, "/ops/Raising")
        expect(page.locator("#verdict")).to_contain_text("backward raised ValueError: not enough values to unpack")
        assert "forward" in curves(page)
        assert "analytical" not in curves(page)
        expect(page.locator(".source .failed")).to_contain_text("(x,) = ctx.saved_tensors")
