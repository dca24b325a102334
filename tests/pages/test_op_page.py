"""The page of an op: every one opens, and shows what the numbers say."""

from __future__ import annotations

import math

import pytest
from functions.seeds import SEEDS
from playwright.sync_api import Browser, Page, expect
from support import http
from support.browser import alone, close, curves, opened, shows, value_at
from support.sampling import sampled
from support.servers import InThread, serving_in_thread, torch_loading

from gradloupe.server.schema.verdict_words import verdict_name

TEMPLATE = "9f215cf04c5486422605d13261cb87401f4e7763b6296af81e98efbc0130da53"


@pytest.mark.parametrize("name", sampled(SEEDS))
def test_every_op_opens_with_its_curves_drawn(page: Page, server: str, name: str) -> None:
    opened(page, f"/ops/{name}")
    answer = http.get(f"{server}/ops/{name}.json").json()
    drawn = curves(page)
    for name in ("forward", "numerical", "analytical"):  # what came with the page has the digits that can be seen
        assert drawn[name][0] == pytest.approx(answer["columns"]["x"], abs=1e-8)
    assert close(drawn["forward"][1], answer["columns"]["forward"])
    assert close(drawn["numerical"][1], answer["columns"]["numerical"])
    kinks = [mark["x"] for mark in answer["marks"] if mark["kind"] == "kink"]
    rows = zip(answer["columns"]["x"], answer["columns"]["analytical"], strict=True)
    assert close(drawn["analytical"][1], [None if x in kinks else y for x, y in rows])
    assert ("surrogate" in drawn) == (answer["columns"]["surrogate"] is not None)
    expect(page.locator("#verdict .word")).to_have_text(verdict_name(answer["verdict"]["word"], answer["claim"]))
    expect(page.locator("#plot .js-line").nth(1)).to_be_attached()


def test_clamp_with_grad_has_one_one_sided_clamp_for_each_sign_as_its_surrogate(page: Page) -> None:
    opened(page, "/ops/clamp_with_grad")
    positive = curves(page)["surrogate"]
    assert (value_at(positive, -3), value_at(positive, 3)) == (-1, 3)
    page.get_by_role("button", name="Flip sign").click()
    shows(page, "/ops/clamp_with_grad?grad_output=-1")
    negative = curves(page)["surrogate"]
    assert (value_at(negative, -3), value_at(negative, 3)) == (-3, 1)
    expect(page.locator("#verdict")).to_contain_text("differs by design", ignore_case=True)


def test_incorrect_clipped_relu_is_shaded_exactly_outside_its_bounds(page: Page) -> None:
    opened(page, "/ops/incorrect_clipped_relu")
    shapes = page.evaluate("() => document.querySelector('#plot').layout.shapes.map(({x0, x1}) => [x0, x1])")
    assert len(shapes) == 4
    for (low, high), (start, stop) in zip(sorted(shapes), [(-1, 0), (-1, 0), (2, 3), (2, 3)], strict=True):
        assert math.isclose(low, start, abs_tol=1e-6)
        assert math.isclose(high, stop, abs_tol=1e-6)
    expect(page.locator("#verdict .word")).to_have_text("differs")
    expect(page.locator("#verdict use")).to_have_attribute("href", "#mark-differs")


def test_the_kink_of_the_absolute_product_is_marked_though_the_central_difference_agrees(page: Page) -> None:
    opened(page, "/ops/abs_product")
    assert curves(page)["kink slopes"] == ([0], [0])
    assert curves(page)["subgradients"] == ([0, 0, None], [-2, 2, None])
    row = page.get_by_role("table", name="Kinks and jumps").get_by_role("row").nth(1)
    expect(row).to_contain_text("kink")
    expect(row).to_contain_text("−2")


def test_jumps_have_open_and_closed_ends_and_no_line_across(page: Page) -> None:
    opened(page, "/ops/round_straight_through")
    drawn = curves(page)
    assert drawn["closed ends"] == ([-1.5, -0.5, 0.5, 1.5], [-2, 0, 0, 2])
    assert sorted(set(drawn["open ends"][0])) == [-1.5, -0.5, 0.5, 1.5]
    assert value_at(drawn["forward"], 0.5) is None


def test_a_constant_gradient_looks_flat(page: Page) -> None:
    opened(page, "/ops/double")
    low, high = page.evaluate("() => document.querySelector('#plot').layout.yaxis2.range")
    assert low < 0 < 2 < high
    assert high - low > 2


def test_overlaid_puts_everything_in_one_panel(page: Page) -> None:
    opened(page, "/ops/exp")
    page.get_by_label("overlaid").check()
    shows(page, "/ops/exp?layout=overlaid")
    axes = page.evaluate("() => [...new Set(document.querySelector('#plot').data.map(({yaxis}) => yaxis))]")
    assert axes == ["y"]
    page.reload()
    shows(page, "/ops/exp?layout=overlaid")
    expect(page.get_by_label("overlaid")).to_be_checked()


def test_the_figure_follows_the_colour_scheme_live(page: Page) -> None:
    opened(page, "/ops/exp")
    ink = "() => document.querySelector('#plot').data.find(({name}) => name === 'forward').line.color"
    light = page.evaluate(ink)
    page.emulate_media(color_scheme="dark")
    page.wait_for_function(f"light => ({ink})() !== light", arg=light)


def test_plotlys_own_rules_are_admitted_and_maplibres_are_not_asked_for(page: Page) -> None:
    opened(page, "/ops/exp")
    assert page.locator(f"template[id='{TEMPLATE}']").count() == 1
    rules = page.evaluate("() => [...document.styleSheets].filter(s => !s.href).map(s => s.cssRules.length)")
    assert rules == [66]


def test_a_picture_can_be_saved(page: Page) -> None:
    opened(page, "/ops/clamp_with_grad")
    with page.expect_download() as download:
        page.get_by_text("Export").click()
        page.locator(".tools").get_by_role("link", name="PNG").click()
    assert download.value.suggested_filename == "clamp_with_grad.png"
    assert download.value.path().read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"


def test_source_formulas_and_prose_stand_on_the_page(page: Page) -> None:
    opened(page, "/ops/clamp_with_grad")
    expect(page.locator(".source")).to_contain_text("class ClampWithGrad(torch.autograd.Function)")
    assert page.locator(".formulas math").count() == 3
    expect(page.get_by_text("Flip the sign and watch")).to_have_count(1)  # the docstring is read once
    lines = [int(line) for line in page.locator(".source .line").evaluate_all("lines => lines.map(e => e.id.slice(1))")]
    assert lines[:2] == [1, 2]
    assert lines[2] > 3
    assert page.locator(f"#L{lines[-1]}").get_attribute("data-line") == str(lines[-1])
    assert page.locator("h1 .unbroken").count() == 0


@pytest.mark.parametrize("width", [360, 2560])
@pytest.mark.parametrize("address", ["/", "/ops/functional_linear", "/ops/nope"])
def test_nothing_is_wider_than_the_window(page: Page, width: int, address: str) -> None:
    page.set_viewport_size({"width": width, "height": 800})
    page.goto(address)
    if address == "/ops/functional_linear":
        shows(page, address)
    assert page.evaluate("() => document.documentElement.scrollWidth") <= width


def test_the_page_answers_while_torch_is_loading_and_the_curves_follow_by_themselves(
    browser: Browser, running: InThread
) -> None:
    with torch_loading(running) as loaded, serving_in_thread() as starting, alone(browser, starting.url) as page:
        page.goto("/ops/exp", wait_until="commit")
        expect(page.get_by_text("torch is still loading")).to_be_visible()
        loaded()
        shows(page, "/ops/exp")
        assert "analytical" in curves(page)
