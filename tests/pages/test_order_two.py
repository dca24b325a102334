"""``order=2`` on the page: the control that leads there and back, what is drawn, and the words around it."""

import re

import pytest
from playwright.sync_api import Page, expect
from support.browser import curves, opened, passes_through, shows, visited

SINH = "/ops/sinh?order=2"
VERDICT = re.compile(r"matches\s+Double backward returns")
HEADS = {
    "#upper-words": ("y", "grad_x"),
    "#lower-words": ("grad of x", "second grad of x"),
    "[data-curve='forward']": ("forward", "returned by backward"),
    "[data-curve='analytical']": (re.compile("^analytical"), re.compile("^analytical, by double backward")),
}


def in_words_of(page: Page, order: int) -> None:
    """Waits until all that is around the curves speaks of this order."""
    for place, texts in HEADS.items():
        expect(page.locator(place)).to_have_text(texts[order - 1])
    expect(page.locator(".eyebrow .of-first")).to_be_visible(visible=order == 2)
    expect(page.locator(".opinion")).to_have_count(order - 1)


def test_the_control_leads_there_and_back_and_the_companion_speaks_of_it_too(page: Page) -> None:
    opened(page, "/ops/sinh")
    in_words_of(page, 1)
    page.get_by_role("radio", name="first").press("ArrowRight")
    shows(page, SINH)
    in_words_of(page, 2)
    expect(page.locator("#verdict")).to_have_text(VERDICT)
    expect(page.locator(".opinion")).to_contain_text("gradgradcheck passes")
    drawn = curves(page)
    assert passes_through(drawn["analytical"], *drawn["numerical"])
    page.locator("#cursor").press("ArrowRight")
    expect(page.locator("#cursor")).to_have_attribute("aria-valuetext", re.compile("grad_x 1"))
    page.locator(".looks label", has_text="Area").click()
    expect(page.locator("#companion-title")).to_contain_text("integral of double backward")
    expect(page.locator("#companion-sentence")).to_contain_text("grad_x changes")
    page.get_by_role("radio", name="Step", exact=True).check()
    expect(page.locator("#companion")).to_contain_text("remainder with double backward")
    page.get_by_role("radio", name="second").press("ArrowLeft")
    shows(page, "/ops/sinh")
    expect(page.locator("#companion")).to_contain_text("Taylor remainder with backward")
    in_words_of(page, 1)


def test_the_tangent_lies_on_the_curve_whatever_grad_output(page: Page) -> None:
    opened(page, "/ops/cube?grad_output=-2&order=2")
    page.locator("#cursor").press("End")
    slope = """name => { const line = document.querySelector(name), at = key => Number(line.getAttribute(key));
        return (at("y2") - at("y1")) / (at("x2") - at("x1")); }"""
    expect(page.locator(".tangent.analytical")).to_have_attribute("x1", re.compile(r"\d"))
    down = page.evaluate(slope, ".tangent.analytical")
    assert down > 0  # pixels grow downwards, and grad_x falls
    assert page.evaluate(slope, ".tangent.numerical.left") == pytest.approx(down, rel=1e-3)


def test_where_nothing_can_be_drawn_the_page_says_so(page: Page) -> None:
    visited(page, "/ops/clamp_with_grad?wrt=min&order=2")
    expect(page.locator("#verdict .word")).to_have_text("no gradient")
    page.get_by_role("radio", name="first").check()
    shows(page, "/ops/clamp_with_grad?wrt=min")
