"""What no op of the gallery declares: choices that look like numbers, many elements and none, poles, cusps, gaps."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect
from support import http
from support.browser import curves, enter, opened, shows, value_at, visitor, watched
from support.own_server import showing_all

from gradloupe.server.protocol.views import VIEW_NAMES

OP = '''
import torch
from gradloupe.ops import Input, Op, Parameter

class {name}(torch.autograd.Function):
    """Unusual."""

    @staticmethod
    def forward(ctx, {takes}):
        ctx.held = {takes}
        return {forward}

    @staticmethod
    def backward(ctx, grad_output):
        {takes} = ctx.held
        return {backward}

op = Op(function={name}, title="{name}", group="Unusual", forward="y", backward="g", {declared})
'''
X = 'inputs=(Input("x"),)'
MODES = 'Parameter("mode", "1.0", kind="choice", choices=("0.5", "1.0", "2.0", "4;a"))'
MANY = f'inputs=(Input("x", shape=(300,), domain=(-2.0, 5.0)),), parameters=({MODES}, Parameter("k", 1.0))'
FACTOR = 'k * float(mode.partition(";")[0])'
# What forward takes, returns, what backward returns, and what is declared.
OPS = {
    "Many": ("x, mode, k", f"x * {FACTOR}", f"grad_output * {FACTOR}, None, None", MANY),
    "Empty": (
        *("x, e", "x * 2 + e.sum()", "grad_output * 2, grad_output.sum().expand(e.shape)"),
        'inputs=(Input("x", shape=(2,)), Input("e", shape=(0,), value=()))',
    ),
    "Reciprocal": ("x", "1 / (x - 0.314159)", "-grad_output / (x - 0.314159) ** 2", X),
    "Root": ("x", "x.sign() * x.abs() ** (1 / 3)", "grad_output * x.abs() ** (-2 / 3) / 3", X),
    "Peak": ("x", "x.abs().sqrt()", "grad_output * x.sign() / (2 * x.abs().sqrt())", X),
    "Cut": ("x", "x**2 / 2", "grad_output * x.clamp(max=4)", X),
}
RANGES = "() => ['yaxis', 'yaxis2'].map(axis => document.querySelector('#plot').layout[axis].range)"


@pytest.fixture(scope="module")
def unusual(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server that shows them."""
    fields = ("takes", "forward", "backward", "declared")
    files = {f"{name}.py": OP.format(name=name, **dict(zip(fields, op, strict=True))) for name, op in OPS.items()}
    with showing_all(tmp_path_factory.mktemp("unusual"), files) as server:
        yield server.url


@pytest.fixture(scope="module")
def tab(browser: Browser, unusual: str) -> Iterator[Page]:
    """One page of it."""
    with visitor(browser, unusual) as page:
        yield page


@pytest.fixture
def page(tab: Page, unusual: str) -> Iterator[Page]:
    with watched(tab, unusual) as page:
        yield page


def test_choices_that_look_like_numbers_stay_words_and_elements_beyond_those_offered_are_kept(page: Page) -> None:
    opened(page, "/ops/Many?wrt=x[299]&of=y[299]")
    swept, stop = page.get_by_label("with respect to"), page.locator("#field-stop")
    expect(swept).to_have_value("x[299]")
    mode = page.locator("#controls").get_by_label("mode")
    for choice in ("2.0", "4;a"):
        mode.select_option(choice)
        shows(page, f"/ops/Many?mode={choice}&wrt=x[299]&of=y[299]")
    assert value_at(curves(page)["analytical"], 0) == 4
    page.reload()
    shows(page, "/ops/Many?mode=4;a&wrt=x[299]&of=y[299]")
    expect(mode).to_have_value("4;a")
    opened(page, "/ops/Many")
    swept.select_option("k")  # over the range that the server names
    shows(page, "/ops/Many?wrt=k")
    expect(page.locator("#field-start")).to_have_value("−2")
    expect(stop).to_have_value("4")
    enter(stop, "3")
    shows(page, "/ops/Many?wrt=k&stop=3")
    swept.select_option("x[0]")
    shows(page, "/ops/Many")
    expect(stop).to_have_value("5")


def test_a_pole_is_named_as_one_and_leaves_the_axes_to_the_rest(page: Page) -> None:
    opened(page, "/ops/Reciprocal")
    expect(page.locator("#summary")).to_contain_text("without bound at x = 0.3142")
    expect(page.locator("#summary")).not_to_contain_text("lies between")
    expect(page.locator("#marks table")).to_have_count(0)
    assert "closed ends" not in curves(page)
    (low, high), (least, largest) = page.evaluate(RANGES)
    assert -15 < low < -1
    assert 1 < high < 15
    assert max(-least, largest) < 60
    trace, dot = page.get_by_role("slider", name="Trace"), page.locator("#overlay .dot.forward")
    trace.press("Home")
    trace.press("m")
    read = {name: page.locator(f"#reading [data-name={name}] dd") for name in ("forward", "status")}
    expect(read["forward"]).to_have_text("unbounded")
    expect(read["status"]).to_contain_text("without bound")
    page.keyboard.press("ArrowRight")
    expect(dot).to_be_hidden()  # beyond its panel
    page.keyboard.press("End")
    expect(dot).to_be_visible()


def test_a_cusp_leaves_the_axes_to_the_rest_and_has_no_steps_to_draw(page: Page) -> None:
    opened(page, "/ops/Root?view=step&at=0")
    (low, high), (_, largest) = page.evaluate(RANGES)
    assert -2 < low < -1 < 1 < high < 2
    assert largest < 2
    assert value_at(curves(page)["analytical"], 1) == pytest.approx(1 / 3, rel=0.02)
    expect(page.locator("#companion-sentence")).not_to_be_empty()
    expect(page.locator("#companion .cell")).to_have_count(0)  # no empty frame
    page.locator(".looks label", has_text="Precision").click()
    expect(page.locator("#companion .cell")).to_have_count(2)


def test_a_difference_out_of_sight_is_a_click_away(page: Page) -> None:
    opened(page, "/ops/Cut")
    expect(page.locator("#verdict")).to_have_attribute("data-word", "matches here")
    link = page.get_by_role("link", name="Show where")
    address = link.get_attribute("href")
    link.press("Enter")
    shows(page, address)
    expect(page.locator("#verdict")).to_have_attribute("data-word", "differs")
    expect(link).to_be_hidden()
    expect(page.get_by_role("slider", name="Trace")).to_be_focused()


def test_a_gap_at_one_place_implies_no_other_forward(page: Page) -> None:
    opened(page, "/ops/Peak")
    expect(page.locator("#verdict")).to_have_attribute("data-word", "differs")
    expect(page.locator("[data-curve='implied']")).to_be_hidden()
    shaded = "() => document.querySelector('#plot').layout.shapes.map(({x0, x1}) => x1 - x0)"
    assert min(page.evaluate(shaded)) > 0.01


def test_an_input_without_elements_is_shown_as_empty(unusual: str) -> None:
    page = http.get(f"{unusual}/ops/Empty").text
    assert "e is empty: 0, 0 values" in page
    assert 'name="e"' not in page
    for address in ("/embed/Empty", "/compare?left=Empty&right=double", "/ops/Empty.csv?e=", "/ops/Empty.html"):
        assert http.get(unusual + address).status_code == 200, address
    for view in VIEW_NAMES:
        answer = http.get(f"{unusual}/ops/Empty.json?view={view}").json()
        assert answer["failure"] is None, view
