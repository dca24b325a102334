"""What an op may declare beyond those of the package: choices that look like numbers, many elements, a pole."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect
from support import http
from support.browser import alone, curves, enter, opened, shows, value_at
from support.own_server import showing_all

from gradloupe.server.protocol.views import VIEW_NAMES

MANY = '''import torch

from gradloupe.ops import Input, Op, Parameter


class Many(torch.autograd.Function):
    """Many elements."""

    @staticmethod
    def forward(ctx, x, mode, k):
        ctx.factor = k * float(mode.partition(";")[0])
        return x * ctx.factor

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * ctx.factor, None, None


op = Op(
    function=Many,
    title="Many",
    group="Tests",
    forward="y = kx",
    backward="k",
    inputs=(Input("x", shape=(300,), domain=(-2.0, 5.0)),),
    parameters=(
        Parameter("mode", "1.0", kind="choice", choices=("0.5", "1.0", "2.0", "4;a")),
        Parameter("k", 1.0),
    ),
)
'''

EMPTY = '''import torch

from gradloupe.ops import Input, Op


class Empty(torch.autograd.Function):
    """A second input without elements."""

    @staticmethod
    def forward(ctx, x, e):
        ctx.shape = e.shape
        return x * 2 + e.sum()

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * 2, grad_output.sum().expand(ctx.shape)


op = Op(
    function=Empty,
    title="Empty",
    group="Tests",
    forward="y = 2x",
    backward="2",
    inputs=(Input("x", shape=(2,)), Input("e", shape=(0,), value=())),
)
'''

INVERSE = '''import torch

from gradloupe.ops import Input, Op


class Inverse(torch.autograd.Function):
    """A pole."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return 1 / (x - 0.3141592653589793)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return -grad_output / (x - 0.3141592653589793) ** 2


op = Op(function=Inverse, title="Inverse", group="Tests", forward="y = 1/x", backward="?", inputs=(Input("x"),))
'''


@pytest.fixture(scope="module")
def declaring(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    files = {"many.py": MANY, "empty.py": EMPTY, "inverse.py": INVERSE}
    with showing_all(tmp_path_factory.mktemp("declaring"), files) as server:
        yield server.url


@pytest.fixture
def there(browser: Browser, declaring: str) -> Iterator[Page]:
    with alone(browser, declaring) as page:
        yield page


def test_choices_that_look_like_numbers_or_lists_stay_words(there: Page) -> None:
    opened(there, "/ops/Many")
    there.locator("#controls").get_by_label("mode").select_option("2.0")
    shows(there, "/ops/Many?mode=2.0")
    there.locator("#controls").get_by_label("mode").select_option("4;a")
    shows(there, "/ops/Many?mode=4;a")
    assert value_at(curves(there)["analytical"], 0) == 4
    there.reload()
    shows(there, "/ops/Many?mode=4;a")
    expect(there.locator("#controls").get_by_label("mode")).to_have_value("4;a")


def test_elements_beyond_those_offered_are_kept(there: Page) -> None:
    opened(there, "/ops/Many?wrt=x[299]&of=y[299]")
    expect(there.get_by_label("with respect to")).to_have_value("x[299]")
    enter(there.locator("#field-k"), "2")
    shows(there, "/ops/Many?k=2&wrt=x[299]&of=y[299]")
    assert value_at(curves(there)["analytical"], 0) == 2


def test_another_element_is_swept_over_the_range_that_the_server_names(there: Page) -> None:
    opened(there, "/ops/Many")
    there.get_by_label("with respect to").select_option("k")
    shows(there, "/ops/Many?wrt=k")
    expect(there.locator("#field-start")).to_have_value("−2")
    expect(there.locator("#field-stop")).to_have_value("4")
    enter(there.locator("#field-stop"), "3")
    shows(there, "/ops/Many?wrt=k&stop=3")
    there.get_by_label("with respect to").select_option("x[0]")
    shows(there, "/ops/Many")
    expect(there.locator("#field-stop")).to_have_value("5")


def test_a_pole_is_named_as_one_and_leaves_the_rest_visible(there: Page) -> None:
    opened(there, "/ops/Inverse")
    expect(there.locator("#summary")).to_contain_text("y grows without bound at x = 0.3142")
    expect(there.locator("#marks table")).to_have_count(0)
    assert "closed ends" not in curves(there)
    low, high = there.evaluate("() => document.querySelector('#plot').layout.yaxis.range")
    assert -1e4 < low < 0 < high < 1e4
    there.get_by_role("slider", name="Trace").press("Home")
    there.get_by_role("slider", name="Trace").press("m")
    expect(there.locator("#reading [data-name='forward'] dd")).to_have_text("unbounded")
    expect(there.locator("#reading [data-name='status'] dd")).to_contain_text("forward grows without bound")


def test_an_input_without_elements_is_shown_as_empty(declaring: str) -> None:
    page = http.get(f"{declaring}/ops/Empty")
    assert page.status_code == 200
    assert "e is empty: 0, 0 values." in page.text
    assert 'name="e"' not in page.text
    for address in ("/embed/Empty", "/compare?left=Empty&right=double", "/ops/Empty.csv?e=", "/ops/Empty.html"):
        assert http.get(declaring + address).status_code == 200, address


@pytest.mark.parametrize("view", VIEW_NAMES)
def test_every_view_bears_an_input_without_elements(declaring: str, view: str) -> None:
    answer = http.get(f"{declaring}/ops/Empty.json?view={view}")
    assert answer.status_code == 200
    assert answer.json()["failure"] is None
    assert answer.json().get("sentence") or answer.json()["verdict"]["word"] == "matches"
