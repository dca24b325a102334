"""Two ops side by side: the same axes, one cursor, one form, and an address that says all of it."""

import re

import pytest
from playwright.sync_api import Locator, Page, expect
from support import http
from support.browser import (
    curves,
    enter,
    here,
    opened,
    place_of,
    resized,
    settles,
    shows,
    value_at,
    warmed,
)

CLAMPS = "/compare?left=clamp_with_grad&right=clamp_with_grad_that_works"
SIDES = ("left", "right")
AXES = """side => { const {xaxis, yaxis, yaxis2} = document.querySelector(`#${side}-plot`)._fullLayout;
return [xaxis, yaxis, yaxis2].map(({range}) => range) }"""
PANELS = """side => ['xy', 'xy2'].map(name => {
const panel = document.querySelector(`#${side}-plot .nsewdrag[data-subplot=${name}]`);
const {x, y, width, height} = panel.getBoundingClientRect();
return {x, y, width, height} })"""
ALIGNED = f"""() => {{
const wide = document.querySelector('#left-plot').clientWidth;
const drawn = document.querySelector('#left-plot')._fullLayout.width;
const [left, right] = ['left', 'right'].map({PANELS});
const alike = (name) => left.every((panel, i) => Math.abs(panel[name] - right[i][name]) < 0.01);
return wide === drawn && ['y', 'width', 'height'].every(alike) }}"""


def returned(page: Page, x: float) -> list[float | None]:
    """What backward returns at x, on the left and on the right."""
    return [value_at(curves(page, f"#{side}-plot")["analytical"], x) for side in SIDES]


def axes(page: Page) -> list[list[list[float]]]:
    """Those of both figures, once they are the same."""
    settles(lambda: page.evaluate(AXES, "left") == page.evaluate(AXES, "right"), True)
    return [page.evaluate(AXES, side) for side in SIDES]


def cursor(page: Page, side: str) -> Locator:
    return page.locator(f"#{side}-cursor")


def zoom(page: Page, side: str, start: float, stop: float) -> None:
    box = page.evaluate(PANELS, side)[0]
    page.mouse.move(box["x"] + box["width"] * start, box["y"] + 20)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * stop, box["y"] + 30, steps=5)
    page.mouse.up()


def cells(page: Page, side: str) -> dict[str, str]:
    """What is read under a figure."""
    found = page.locator(f"#{side}-reading dl > div")
    return {str(each.get_attribute("data-name")): each.locator("dd").inner_text() for each in found.all()}


def test_both_figures_lie_in_the_same_rows_and_a_flip_a_zoom_and_back_move_both(page: Page) -> None:
    opened(page, CLAMPS)
    for width, height in ((1440, 900), (1000, 800)):
        resized(page, width, height)
        page.wait_for_function(ALIGNED)
        axes(page)
        left, right = (page.evaluate(PANELS, side) for side in SIDES)
        assert all(other["x"] > one["x"] + one["width"] for one, other in zip(left, right, strict=True))
    differs = page.locator("#told")
    expect(differs).to_contain_text("backward differs for input > 1")
    assert [returned(page, x) for x in (-2.0, 0.0, 2.0)] == [[0, 0], [1, 1], [1, 0]]
    page.get_by_role("button", name="Flip sign").click()
    shows(page, f"{CLAMPS}&grad_output=-1")
    expect(differs).to_contain_text("backward differs for input < −1")
    expect(page.locator("#left-verdict .word")).to_have_text("differs by design")
    expect(page.locator("#right-verdict .word")).to_have_text("matches")
    assert [returned(page, x) for x in (-2.0, 0.0, 2.0)] == [[-1, 0], [-1, -1], [0, 0]]
    axes(page)
    page.get_by_role("link", name="Swap sides").click()
    shows(page, "/compare?left=clamp_with_grad_that_works&right=clamp_with_grad&grad_output=-1")
    assert returned(page, -2.0) == [0, -1]
    page.go_back()
    shows(page, f"{CLAMPS}&grad_output=-1")
    assert returned(page, -2.0) == [-1, 0]
    zoom(page, "right", 0.5, 1)
    expect(page.locator("html")).to_have_attribute("data-ready", re.compile(r"&start=-?0(\.00\d)?(&stop=2\.99\d)?&"))
    settles(lambda: axes(page)[0][0] == pytest.approx([0, 3], abs=0.02), True)
    box = page.evaluate(PANELS, "left")[0]
    page.mouse.dblclick(box["x"] + 40, box["y"] + 40)
    shows(page, f"{CLAMPS}&grad_output=-1")
    settles(lambda: axes(page)[0][0], [-3, 3])


def test_a_slider_moves_both_and_the_axes_do_not_shrink_while_it_is_held(page: Page) -> None:
    pair = "/compare?left=clipped_relu&right=clipped_relu"
    opened(page, pair)
    before = axes(page)[0][1]
    slider = place_of(page.locator("[data-slider=clip]"))
    page.mouse.move(slider["x"] + slider["width"] / 2, slider["y"] + slider["height"] / 2)
    page.mouse.down()
    page.mouse.move(slider["x"] + slider["width"] / 4, slider["y"] + slider["height"] / 2, steps=4)
    clip = page.locator("#field-clip").input_value()
    shows(page, f"{pair}&clip={clip}")
    assert axes(page)[0][1] == before
    page.mouse.up()
    settles(lambda: axes(page)[0][1][1] < before[1], True)
    settles(lambda: {value_at(curves(page, f"#{side}-plot")["forward"], 3.0) for side in SIDES}, {float(clip)})


def test_what_stands_under_alone_holds_for_that_side_only_and_is_refused_beside_its_field(page: Page) -> None:
    opened(page, CLAMPS)
    page.get_by_text("Range, precision, one side alone").click()
    low = page.locator("[id='field-right.min']")
    enter(low, "-2")
    shows(page, f"{CLAMPS}&right.min=-2")
    assert [value_at(curves(page, f"#{side}-plot")["forward"], -3.0) for side in SIDES] == [-1, -2]
    expect(page.locator("#right-own")).to_have_text("min = −2")
    expect(page.locator("#left-own")).to_have_text("min = −1")
    enter(low, "")
    shows(page, CLAMPS)
    expect(page.locator("#right-own")).to_be_empty()
    enter(low, "9")
    expect(page.locator("#trouble")).to_contain_text("right.min=9")
    expect(low).to_have_attribute("aria-invalid", "true")
    expect(page.locator("#field-min")).not_to_have_attribute("aria-invalid", "true")
    assert here(page) == CLAMPS
    enter(low, "")
    page.locator("[id='field-right.wrt']").select_option("min")
    shows(page, f"{CLAMPS}&right.wrt=min")
    expect(low).to_be_hidden()  # there is no field for what is swept


def test_the_cursor_of_one_figure_is_that_of_both_and_stays_when_the_sign_flips(page: Page) -> None:
    opened(page, CLAMPS)
    box = page.evaluate(PANELS, "left")[1]
    page.mouse.move(box["x"] + box["width"] * 5 / 6, box["y"] + 20)
    expect(page.locator("#right-canvas")).to_have_class(re.compile("traced"))
    settles(lambda: cells(page, "left").get("x") == cells(page, "right").get("x"), True)
    left, right = (cells(page, side) for side in SIDES)
    assert abs(float(left["x"]) - 2) < 0.02
    assert (left["analytical"], right["analytical"]) == ("1", "0")
    page.mouse.move(5, 5)
    expect(page.locator(".traced")).to_have_count(0)
    cursor(page, "right").press("End")
    for side in SIDES:
        expect(page.locator(f"#{side}-canvas")).to_have_class(re.compile("traced"))
        assert float(cells(page, side)["x"]) == 3
    spoken = cursor(page, "right").get_attribute("aria-valuetext") or ""
    assert re.search(r"analytical 0,.*\. Clamp with grad: .*analytical 1,", spoken)
    box = page.evaluate(PANELS, "left")[0]
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 20)
    settles(lambda: {cells(page, side).get("x") for side in SIDES}, {"0.000"})
    page.mouse.move(5, 5)
    settles(lambda: {cells(page, side).get("x") for side in SIDES}, {"3.000"})  # where the keyboard is
    page.evaluate("() => document.querySelector('[data-flip]').click()")
    shows(page, f"{CLAMPS}&grad_output=-1")
    settles(lambda: [cells(page, side).get("analytical") for side in SIDES], ["0", "0"])


def test_the_second_derivative_tells_apart_what_the_first_does_not(page: Page) -> None:
    opened(page, "/compare?left=sinh&right=sinh_on_ctx")
    expect(page.locator("#told")).to_contain_text("the same in both")
    page.get_by_text("Range, precision, one side alone").click()
    page.get_by_label("second").check()
    shows(page, "/compare?left=sinh&right=sinh_on_ctx&order=2")
    expect(page.locator("#told")).to_contain_text("double backward differs")


def test_a_refusal_leads_back_to_the_choice_and_the_head_says_what_the_page_is(server: str) -> None:
    for address in (f"{CLAMPS}&right.min=abc", "/compare?min=1"):
        refused = http.get(server + address)
        assert (refused.status_code, refused.headers["content-type"].split(";")[0]) == (422, "text/html")
        assert '<a href="/compare">Choose' in refused.text
    text = http.get(f"{server}{CLAMPS}&right.min=-1&utm_source=x").text
    title = "Clamp with grad vs. Clamp with grad that works"
    assert f"<title>{title}" in text
    assert re.search(f'<link rel="canonical" href="[^"]*{re.escape(CLAMPS.replace("&", "&amp;"))}">', text)
    assert f'<meta property="og:title" content="{title}">' in text


def test_without_javascript_both_pictures_the_words_and_the_form_are_there(plain: Page, server: str) -> None:
    warmed(server, f"{CLAMPS}&grad_output=-1")
    plain.goto(f"{CLAMPS}&grad_output=-1")
    expect(plain.locator("#told")).to_contain_text("input < −1")
    for side in SIDES:
        expect(plain.locator(f"#{side}-still .line.analytical")).to_have_count(1)
    panels = [plain.locator(f"#{side}-still > .panel.lower").bounding_box() for side in SIDES]
    assert panels[0]["y"] == panels[1]["y"]
    labels = [plain.locator(f"#{side}-still .labels:not(.below) text").all_inner_texts() for side in SIDES]
    assert labels[0] == labels[1]
    plain.locator("#field-max").fill("2")
    plain.get_by_role("button", name="Draw").click()
    expect(plain).to_have_url(re.compile("max=2"))
    expect(plain.locator("#told")).to_contain_text("input < −1")
    expect(plain.locator("#field-max")).to_have_value("2")


def test_a_long_line_goes_on_below_and_what_follows_stays_beside_what_it_stood_beside(page: Page) -> None:
    opened(page, "/compare?left=gradient_changed_in_place&right=clamp_with_grad")
    long = page.locator("[id^=right-L]", has_text="return grad_output * (")
    marks = [page.locator(f"[id^={side}-L]", has_text="@staticmethod").first for side in SIDES]
    high, lines = "line => line.clientHeight", page.locator(".sources .line")
    for width in (360, 1000):
        resized(page, width, 740)
        assert lines.evaluate_all("lines => lines.every((line) => line.scrollWidth <= line.clientWidth)")
        assert long.evaluate(high) > 1.9 * marks[0].evaluate(high)
    assert marks[0].bounding_box()["y"] == marks[1].bounding_box()["y"]


def test_the_page_of_an_op_leads_here_with_what_it_shows(page: Page) -> None:
    opened(page, "/ops/clamp_with_grad?grad_output=-1")
    enter(page.locator("#field-min"), "-2")
    shows(page, "/ops/clamp_with_grad?min=-2&grad_output=-1")
    page.locator("#compare").click()
    expect(page.get_by_label("Left")).to_have_value("clamp_with_grad")
    page.get_by_label("Right").select_option("clamp_with_grad_that_works")
    page.get_by_role("button", name="Compare").click()
    shows(page, f"{CLAMPS}&min=-2&grad_output=-1")
