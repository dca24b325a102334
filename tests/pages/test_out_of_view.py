"""Figures beside a pole and a cusp, a difference out of sight, and a closer look that has nothing to show."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect
from support.browser import alone, curves, opened, shows, value_at
from support.own_server import Own, showing_all

OP = '''
import torch
from gradloupe.ops import Input, Op

class {name}(torch.autograd.Function):
    """Strange."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return {forward}

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * ({backward})

op = Op(function={name}, title="Strange", group="Strange", forward="y", backward="g", inputs=(Input("x"),))
'''
OPS = {
    "reciprocal": ("1 / x", "-1 / x**2"),
    "root": ("x.sign() * x.abs() ** (1 / 3)", "x.abs() ** (-2 / 3) / 3"),
    "peak": ("x.abs().sqrt()", "x.sign() / (2 * x.abs().sqrt())"),
    "cut": ("x**2 / 2", "x.clamp(max=4)"),
}
RANGES = "() => ['yaxis', 'yaxis2'].map(axis => document.querySelector('#plot').layout[axis].range)"


@pytest.fixture(scope="module")
def strange(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Own]:
    """A server that shows the strange ops."""
    files = {
        f"{name}.py": OP.format(name=name, forward=forward, backward=backward)
        for name, (forward, backward) in OPS.items()
    }
    with showing_all(tmp_path_factory.mktemp("strange"), files) as server:
        yield server


@pytest.fixture
def page(browser: Browser, strange: Own) -> Iterator[Page]:
    with alone(browser, strange.url) as page:
        yield page


@pytest.mark.parametrize(("name", "most", "steepest"), [("reciprocal", 15, 60), ("root", 2, 2)])
def test_a_pole_and_a_cusp_leave_the_axes_to_the_rest(page: Page, name: str, most: float, steepest: float) -> None:
    opened(page, f"/ops/{name}")
    (low, high), (least, largest) = page.evaluate(RANGES)
    assert -most < low < -1
    assert 1 < high < most
    assert max(-least, largest) < steepest
    assert value_at(curves(page)["analytical"], 1) == pytest.approx(-1 if name == "reciprocal" else 1 / 3, rel=0.02)


def test_the_dot_stays_in_its_panel(page: Page) -> None:
    opened(page, "/ops/reciprocal")
    cursor = page.get_by_role("slider", name="Trace")
    cursor.focus()
    page.keyboard.press("m")
    page.keyboard.press("ArrowRight")
    expect(page.locator("#overlay .dot.forward")).to_be_hidden()
    page.keyboard.press("End")
    expect(page.locator("#overlay .dot.forward")).to_be_visible()


def test_what_grows_without_bound_has_no_largest_value_in_words(page: Page) -> None:
    opened(page, "/ops/reciprocal")
    expect(page.locator("#summary")).to_contain_text("y grows without bound at x = 0.")
    expect(page.locator("#summary")).not_to_contain_text("lies between")


def test_a_difference_out_of_sight_is_a_click_away(page: Page) -> None:
    opened(page, "/ops/cut")
    expect(page.locator("#verdict")).to_have_attribute("data-word", "matches here")
    link = page.get_by_role("link", name="Show where")
    address = link.get_attribute("href")
    assert address is not None
    link.focus()
    page.keyboard.press("Enter")
    shows(page, address)
    expect(page.locator("#verdict")).to_have_attribute("data-word", "differs")
    expect(link).to_be_hidden()
    expect(page.get_by_role("slider", name="Trace")).to_be_focused()


@pytest.mark.parametrize("address", ["/ops/clamp_with_grad?wrt=min&view=map", "/ops/root?view=step&at=0"])
def test_where_there_is_nothing_to_draw_there_is_no_empty_frame(page: Page, address: str) -> None:
    page.goto(address)
    expect(page.locator("html")).to_have_attribute("data-ready", address)
    expect(page.locator("#companion-sentence")).not_to_be_empty()
    expect(page.locator("#companion-plot")).to_be_hidden()
    expect(page.locator("#companion .legend")).to_be_hidden()
    page.locator(".looks label", has_text="Whole range").click()
    page.locator(".looks label", has_text="Precision").click()
    expect(page.locator("#companion-plot")).to_be_visible()


def test_a_gap_at_one_place_implies_no_other_forward(page: Page) -> None:
    opened(page, "/ops/peak")
    expect(page.locator("#verdict")).to_have_attribute("data-word", "differs")
    expect(page.locator("[data-curve='implied']")).to_be_hidden()
    shaded = "() => document.querySelector('#plot').layout.shapes.map(({x0, x1}) => x1 - x0)"
    assert min(page.evaluate(shaded)) > 0.01
