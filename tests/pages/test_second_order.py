"""``order=2`` in the address: the same page, picture, table and file, of what backward returns and its derivative."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect
from support import http
from support.axe import violations
from support.browser import alone, close, curves, opened, shows
from support.exports import from_disk
from support.page_parts import PIECES, WORDS

from gradloupe.server.protocol.views import VIEW_NAMES

SINH = "/ops/sinh?order=2"
LOST = "/ops/sinh_on_ctx?order=2"
ADDRESSES = (
    SINH,
    LOST,
    "/ops/clamp_with_grad?grad_output=-2.5&order=2",
    "/ops/clamp_with_grad?wrt=min&order=2",
    "/ops/functional_linear?order=2",
    "/ops/heaviside_triangle?order=2&layout=overlaid",
)


def got(server: str, address: str) -> dict[str, Any]:
    answer = http.get(server + address)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def verdict(server: str, address: str) -> dict[str, Any]:
    found: dict[str, Any] = got(server, address.replace("?", ".json?"))["verdict"]
    return found


def test_the_first_derivative_goes_without_saying(server: str) -> None:
    said = got(server, "/ops/sinh.json?order=1")
    assert (said["address"], said["order"], said["gradgradcheck"]) == ("/ops/sinh", 1, None)
    said = got(server, "/ops/sinh.json?order=2")
    assert (said["address"], said["order"], said["of"], said["wrt"]) == (SINH, 2, "y", "x")


@pytest.mark.parametrize("order", ["0", "3", "second", "", "2.0"])
def test_there_is_no_other_order(server: str, order: str) -> None:
    answer = http.get(f"{server}/ops/sinh.json?order={order}")
    assert answer.status_code == 422
    assert answer.json()["detail"] == f"order={order} is not one of its words; allowed: 1, 2."


def test_the_columns_hold_what_backward_returns_and_its_derivative(server: str) -> None:
    columns = got(server, "/ops/cube.json?order=2&grad_output=-2")["columns"]
    assert close(columns["forward"], [-6 * x * x for x in columns["x"]])
    for name in ("analytical", "numerical", "left", "right"):
        assert close(columns[name], [-12 * x for x in columns["x"]])
    table = list(csv.DictReader(io.StringIO(http.get(f"{server}/ops/cube.csv?order=2&grad_output=-2").text)))
    assert [float(row["analytical"]) for row in table] == columns["analytical"]


def test_a_lost_history_is_named_with_what_forward_kept(server: str) -> None:
    found = verdict(server, LOST)
    assert found["word"] == "differs"
    assert found["sentence"].startswith(
        "The first derivative is right, but autograd’s second derivative is 0 anywhere on "
    )
    assert re.search(r"differences of grad_x say −?3\.627\.$", found["sentence"])
    assert found["explanation"]["kind"] == "no history"
    assert "ctx.rising and ctx.falling, is a plain number to autograd" in found["explanation"]["sentence"]
    assert "declare @once_differentiable" in found["explanation"]["sentence"]


def test_half_of_the_truth_is_called_so(server: str) -> None:
    found = verdict(server, "/ops/cube_wrong_double_backward?order=2")
    assert found["word"] == "differs"
    assert found["sentence"].startswith("The first derivative is right, but double backward does not return")
    assert found["explanation"]["sentence"].startswith(
        "Double backward returns 0.5 times the slope of grad_x everywhere"
    )


def test_what_is_declared_unsupported_is_neither_drawn_nor_accused(server: str) -> None:
    said = got(server, "/ops/tanh_once_differentiable.json?order=2")
    assert said["verdict"]["word"] == "unsupported"
    assert said["columns"]["analytical"] is None
    for part in ("@once_differentiable", ".backward() through it raises", "silently gives 0", "say −0.7698 to 0.7698"):
        assert part in said["verdict"]["sentence"]
    assert said["verdict"]["intervals"] == []
    assert said["gradgradcheck"]["passed"] is False
    assert said["gradgradcheck"]["sentence"].endswith("That is all that can be said of a backward with this decorator.")
    for view in ("area", "wide"):
        other = got(server, f"/ops/tanh_once_differentiable.json?order=2&view={view}")
        assert "declared unsupported" in other["sentence"]


def test_no_history_is_right_where_nothing_bends(server: str) -> None:
    found = verdict(server, "/ops/clamp_with_grad_that_works?order=2")
    assert found["word"] == "matches"
    assert "grad_input jumps at −1 and 1" in found["sentence"]
    assert found["sentence"].endswith(
        "Autograd sees no path from grad_input to input and takes the derivative as 0, which is right here."
    )


def test_a_right_second_derivative_does_not_whitewash_the_first(server: str) -> None:
    found = verdict(server, "/ops/incorrect_clipped_relu?order=2")
    assert found["word"] == "matches"
    assert "That says nothing about grad_input itself: the first derivative differs." in found["sentence"]


def test_a_parameter_has_no_second_derivative(server: str) -> None:
    said = got(server, "/ops/clamp_with_grad.json?wrt=min&order=2")
    assert said["verdict"]["word"] == "no gradient"
    assert said["verdict"]["sentence"].startswith("There is no second derivative: backward returns no gradient for min")
    assert said["columns"]["x"] == []


def test_with_grad_output_0_all_is_easily_right(server: str) -> None:
    found = verdict(server, "/ops/cube?order=2&grad_output=0")
    assert found["word"] == "matches"
    assert found["sentence"].endswith("That says little: with grad_output 0 every gradient is 0.")


@pytest.mark.parametrize("name", ["sinh_on_ctx", "clamp_with_grad", "gradient_none_added"])
@pytest.mark.parametrize("view", VIEW_NAMES)
def test_every_view_has_something_true_to_say(server: str, name: str, view: str) -> None:
    said = got(server, f"/ops/{name}.json?order=2&view={view}")
    assert (said["view"], said["order"]) == (view, 2)
    text = said["verdict"]["sentence"] if view == "curves" else said["sentence"]
    if said["failure"] or view in ("contract", "node"):
        return
    assert text
    if view in ("area", "wide", "step", "curves"):
        ours = re.sub(r"\.backward\(\)|with @once.*|backward is decorated|What backward", "", text)
        assert not re.search(r"\bforward\b|(?<!ouble )\bbackward\b", ours), text
    else:
        assert text.startswith("Shown for the first derivative, whatever the order of the curves.")


def test_the_picture_says_what_it_shows(server: str) -> None:
    text = http.get(f"{server}/ops/sinh_on_ctx.svg?order=2").text
    for said in (
        "grad_x and its gradient with respect to x",
        ">grad_x<",
        ">second grad of x<",
        ">returned by backward<",
    ):
        assert said in text
    for said in ("analytical, by double backward", "implied by double backward", " · second derivative · float64"):
        assert said in text
    assert ">forward<" not in text


@pytest.mark.parametrize("address", ADDRESSES)
def test_the_server_and_the_script_say_the_same(page: Page, browser: Browser, server: str, address: str) -> None:
    verdict(
        server, address
    )  # a page does not wait for the first time that torch loads what it differentiates twice with
    with alone(browser, server, java_script_enabled=False) as plain:
        plain.goto(address)
        page.goto(address)
        expect(page.locator("html[data-ready]")).to_be_attached()
        for place in (*WORDS, ".opening"):
            said, told = (each.locator(place).evaluate_all(PIECES) for each in (plain, page))
            assert told == said, place


def test_the_control_leads_there_and_back(page: Page) -> None:
    opened(page, "/ops/sinh")
    expect(page.locator(".opinion")).to_be_hidden()
    page.get_by_role("radio", name="first").press("ArrowRight")
    shows(page, SINH)
    expect(page.locator("#verdict")).to_contain_text("Double backward returns the derivative of grad_x")
    expect(page.locator(".opinion")).to_contain_text("gradgradcheck passes at x = −1.32, 0 and 1.32.")
    expect(page.locator(".eyebrow .of-first")).to_be_visible()
    expect(page.locator(".eyebrow")).to_contain_text("first order: exact")
    expect(page.locator("#upper-words")).to_have_text("grad_x")
    expect(page.locator("#lower-words")).to_have_text("second grad of x")
    expect(page.locator("[data-curve='forward']")).to_have_text("returned by backward")
    expect(page.locator("[data-curve='analytical']")).to_have_text("analytical, by double backward")
    drawn = curves(page)
    assert close(drawn["analytical"][1], drawn["numerical"][1])
    page.locator("#cursor").press("ArrowRight")
    expect(page.locator("#cursor")).to_have_attribute("aria-valuetext", re.compile("grad_x 1"))
    page.get_by_role("radio", name="second").press("ArrowLeft")
    shows(page, "/ops/sinh")
    expect(page.locator(".eyebrow .of-first")).to_be_hidden()
    expect(page.locator(".eyebrow .of-any")).to_be_visible()
    expect(page.locator("#upper-words")).to_have_text("y")
    expect(page.locator("[data-curve='forward']")).to_have_text("forward")


def test_the_tangent_lies_on_the_curve_whatever_grad_output(page: Page) -> None:
    opened(page, "/ops/cube?grad_output=-2&order=2")
    page.locator("#cursor").focus()
    page.locator("#cursor").press("End")
    slope = """name => { const line = document.querySelector(name), at = key => Number(line.getAttribute(key));
        return (at("y2") - at("y1")) / (at("x2") - at("x1")); }"""
    expect(page.locator(".tangent.analytical")).to_have_attribute("x1", re.compile(r"\d"))
    down = page.evaluate(slope, ".tangent.analytical")
    assert down > 0  # pixels grow downwards, and grad_x falls
    assert page.evaluate(slope, ".tangent.numerical.left") == pytest.approx(down, rel=1e-3)


def test_the_companion_speaks_of_the_second_order_too(page: Page) -> None:
    page.goto(f"{SINH}&view=area")
    expect(page.locator("html")).to_have_attribute("data-ready", f"{SINH}&view=area")
    expect(page.locator("#companion-title")).to_have_text("Area check: change of grad_x vs integral of double backward")
    expect(page.locator("#companion-sentence")).to_contain_text(
        "Between neighbouring points grad_x changes by the integral"
    )
    page.get_by_role("radio", name="Step", exact=True).check()
    expect(page.locator("#companion")).to_contain_text("remainder with double backward")
    page.get_by_role("radio", name="first").check()
    expect(page.locator("#companion")).to_contain_text("Taylor remainder with backward")


def test_where_nothing_can_be_drawn_the_page_says_so(page: Page) -> None:
    page.goto("/ops/clamp_with_grad?wrt=min&order=2")
    expect(page.locator("#verdict")).to_contain_text("There is no second derivative")
    page.get_by_role("radio", name="first").check()
    shows(page, "/ops/clamp_with_grad?wrt=min")


def test_without_javascript_the_form_asks_for_it(browser: Browser, server: str) -> None:
    verdict(server, SINH)  # a page without scripts does not wait long for it
    with alone(browser, server, java_script_enabled=False) as plain:
        plain.goto("/ops/sinh")
        plain.get_by_role("radio", name="second").check()
        plain.get_by_role("button", name="Draw").click()
        expect(plain.locator("#verdict")).to_contain_text("Double backward returns the derivative of grad_x")
        expect(plain.get_by_role("radio", name="second")).to_be_checked()
        expect(plain).to_have_url(re.compile("order=2"))


def test_the_embed_has_the_control_too(page: Page) -> None:
    page.goto("/embed/sinh?order=2")
    shows(page, SINH)
    page.get_by_role("radio", name="first").check()
    shows(page, "/ops/sinh")
    expect(page.locator("#controls [name=order]")).to_have_count(2)


def test_the_file_keeps_its_order(browser: Browser, server: str, tmp_path: Path) -> None:
    path = tmp_path / "sinh.html"
    path.write_bytes(http.get(f"{server}/ops/sinh.html?order=2&sliders=grad_output:3").content)
    with from_disk(browser, path) as page:
        shows(page, SINH)
        page.locator("#slider-grad_output").press("Home")
        shows(page, "/ops/sinh?grad_output=-1&order=2")
        expect(page.locator("#verdict")).to_contain_text("Double backward returns the derivative of grad_x")
        expect(page.locator("#summary")).to_contain_text("grad_x, what backward returns for grad_output −1,")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_violation(page: Page, scheme: str) -> None:
    page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
    opened(page, LOST)
    assert violations(page) == []
