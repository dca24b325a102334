"""For everybody: axe finds nothing, the keyboard reaches everything, and the figure exists in words."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect
from support.axe import violations
from support.browser import curves, opened, settles

FIGURES = ("/ops/clamp_with_grad", "/ops/functional_linear", "/embed/clamp_with_grad", "/embed/exp?hide=title,controls")
PAGES = ("/", *FIGURES, "/docs", "/ops/nope", "/ops/exp?stop=nan")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("address", PAGES)
def test_axe_finds_no_violation(page: Page, address: str, scheme: str) -> None:
    page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
    page.goto(address)
    if address in FIGURES:
        page.locator("html[data-ready]").wait_for()
        page.locator("#values summary").click()
    if address == "/docs":
        expect(page.get_by_text("Whether torch is loaded")).to_be_visible()
    assert violations(page) == []


def test_axe_finds_no_violation_in_a_refusal(page: Page) -> None:
    opened(page, "/ops/clamp_with_grad")
    page.locator("#field-min").fill("banana")
    page.locator("#field-min").press("Tab")
    expect(page.locator("#trouble")).to_contain_text("min")
    assert violations(page) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_violation_in_the_dialog_that_shares(page: Page, scheme: str) -> None:
    page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
    opened(page, "/ops/clamp_with_grad")
    page.locator("#share").click()
    expect(page.locator("#sharing")).to_be_visible()
    assert violations(page) == []


def test_the_figure_is_described_in_words(page: Page) -> None:
    opened(page, "/ops/clamp_with_grad")
    described = page.get_by_role("figure").get_attribute("aria-describedby")
    words = page.locator(f"#{described}")
    for said in ("input goes from −3 to 3", "y lies between −1 and 1", "a gradient that lies between 0 and 1"):
        expect(words).to_contain_text(said)
    rows = words.get_by_role("row").all_inner_texts()
    assert [row.split() for row in rows[1:]] == [["−1", "kink", "0", "1", "1"], ["1", "kink", "1", "0", "1"]]


def test_the_verdict_is_announced_and_not_by_colour_alone(page: Page) -> None:
    opened(page, "/ops/incorrect_clipped_relu")
    verdict = page.locator("#verdict")
    expect(verdict).to_have_attribute("role", "status")
    expect(verdict.locator(".word")).to_have_text("differs")
    assert page.locator("#mark-differs path").count() > page.locator("#mark-matches path").count()


def test_the_keyboard_alone_reaches_every_control_in_order(page: Page) -> None:
    opened(page, "/ops/clamp_with_grad")
    reached = []
    for _ in range(50):
        page.keyboard.press("Tab")
        reached.append(page.evaluate("() => document.activeElement.id || document.activeElement.name || ''"))
    order = [
        "details",
        "cursor",
        "share",
        "compare",
        "listen",
        "field-min",
        "field-max",
        "field-grad_output",
    ]
    assert list(dict.fromkeys(each for each in reached if each in order)) == order
    assert {"field-wrt", "field-start", "field-stop", "field-count", "field-dtype", "field-device"} <= set(reached)


def test_every_target_is_large_enough_to_be_hit(page: Page) -> None:
    opened(page, "/ops/functional_linear")
    small = page.evaluate(
        """() => [...document.querySelectorAll('.tools :is(a, button, label), .rail :is(input, button, select)')]
        .map(e => e.type === 'checkbox' ? e.parentElement : e).filter(e => e.checkVisibility())
        .map(e => [e.outerHTML.slice(0, 80), e.getBoundingClientRect().height]).filter(([, height]) => height < 24)"""
    )
    assert small == []


def test_forced_colours_draw_with_the_systems_own(page: Page) -> None:
    page.emulate_media(forced_colors="active")
    opened(page, "/ops/exp")
    color = page.evaluate("() => document.querySelector('#plot').data.find(t => t.name === 'forward').line.color")
    assert color == page.evaluate("() => getComputedStyle(document.body).color")


def test_a_phone_keeps_the_curves_in_sight_above_the_controls(page: Page) -> None:
    page.set_viewport_size({"width": 360, "height": 740})
    opened(page, "/ops/clamp_with_grad")
    page.locator("#field-grad_output").scroll_into_view_if_needed()
    page.evaluate("() => document.querySelector('#field-grad_output').scrollIntoView({block: 'center'})")
    top = "() => document.querySelector('#canvas').getBoundingClientRect().top"
    settles(lambda: 0 <= page.evaluate(top) < 150, True)
    expect(page.locator("#reading")).to_be_in_viewport(ratio=1)
    assert curves(page)


def test_on_a_phone_the_figure_stands_right_below_the_verdict_and_the_controls_right_below_it(page: Page) -> None:
    page.set_viewport_size({"width": 360, "height": 740})
    opened(page, "/ops/clamp_with_grad")
    boxes = {
        name: page.locator(name).bounding_box() for name in ("#verdict", "#reading", "#canvas", "#controls", ".tools")
    }
    tops = [box["y"] for box in boxes.values() if box]
    assert tops == sorted(tops)
    assert len(tops) == len(boxes)
    under_verdict = page.locator(".figure").bounding_box()
    verdict = boxes["#verdict"]
    assert under_verdict
    assert verdict
    assert under_verdict["y"] - verdict["y"] - verdict["height"] < 30
