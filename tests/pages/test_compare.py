"""Two ops side by side: the same axes, one cursor, one form, and an address that says all of it."""

import re

import pytest
from playwright.sync_api import Browser, Locator, Page, expect
from support import http
from support.browser import (
    alone,
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
TWICE = "/compare?left=clamp_with_grad&right=clamp_with_grad"
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


def test_both_figures_have_the_same_axes_and_lie_in_the_same_rows(page: Page) -> None:
    opened(page, CLAMPS)
    for width, height in ((1440, 900), (1000, 800)):
        resized(page, width, height)
        page.wait_for_function(ALIGNED)
        axes(page)
        left, right = (page.evaluate(PANELS, side) for side in SIDES)
        assert all(other["x"] > one["x"] + one["width"] for one, other in zip(left, right, strict=True))


def test_flip_sign_moves_both_and_the_sentence_says_what_differs(page: Page) -> None:
    opened(page, CLAMPS)
    told = page.locator("#told")
    expect(told).to_contain_text("backward differs for input > 1")
    assert [returned(page, x) for x in (-2.0, 0.0, 2.0)] == [[0, 0], [1, 1], [1, 0]]
    page.get_by_role("button", name="Flip sign").click()
    shows(page, f"{CLAMPS}&grad_output=-1")
    expect(told).to_contain_text("backward differs for input < −1")
    expect(page.locator("#left-verdict .word")).to_have_text("differs by design")
    expect(page.locator("#right-verdict .word")).to_have_text("matches")
    assert [returned(page, x) for x in (-2.0, 0.0, 2.0)] == [[-1, 0], [-1, -1], [0, 0]]
    axes(page)


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
    enter(page.locator("[id='field-right.min']"), "-2")
    shows(page, f"{CLAMPS}&right.min=-2")
    assert [value_at(curves(page, f"#{side}-plot")["forward"], -3.0) for side in SIDES] == [-1, -2]
    expect(page.locator("#right-own")).to_have_text("min = −2")
    expect(page.locator("#left-own")).to_have_text("min = −1")
    axes(page)
    enter(page.locator("[id='field-right.min']"), "")
    shows(page, CLAMPS)
    expect(page.locator("#right-own")).to_be_empty()
    enter(page.locator("[id='field-right.min']"), "9")
    expect(page.locator("#trouble")).to_contain_text("right.min=9")
    expect(page.locator("[id='field-right.min']")).to_have_attribute("aria-invalid", "true")
    expect(page.locator("#field-min")).not_to_have_attribute("aria-invalid", "true")
    assert here(page) == CLAMPS
    assert returned(page, 2.0) == [1, 0]


def test_a_field_for_what_is_swept_is_not_there(page: Page) -> None:
    opened(page, f"{CLAMPS}&left.wrt=min")
    page.get_by_text("Range, precision, one side alone").click()
    field = {name: page.locator(f"[id='field-{name}']") for name in ("min", "left.min", "right.min", "left.input")}
    assert {name: each.is_visible() for name, each in field.items()} == {
        **{"min": True, "left.min": False, "right.min": True, "left.input": True}
    }
    page.locator("[id='field-right.wrt']").select_option("min")
    shows(page, f"{CLAMPS}&wrt=min")
    expect(field["min"]).to_be_hidden()


def test_a_parameter_that_only_one_has_moves_only_that(page: Page) -> None:
    pair = "/compare?left=clipped_relu&right=sinh"
    opened(page, pair)
    expect(page.locator("[data-control=clip] .hint")).to_have_text("Clipped ReLU only")
    before = curves(page, "#right-plot")["forward"]
    enter(page.locator("#field-clip"), "1")
    shows(page, f"{pair}&clip=1")
    assert value_at(curves(page, "#left-plot")["forward"], 3.0) == 1
    assert curves(page, "#right-plot")["forward"] == before


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


def test_a_zoom_in_one_zooms_both_and_a_double_click_goes_back(page: Page) -> None:
    opened(page, CLAMPS)
    zoom(page, "right", 0.5, 1)
    expect(page.locator("html")).to_have_attribute("data-ready", re.compile(r"&start=-?0(\.00\d)?(&stop=2\.99\d)?$"))
    settles(lambda: axes(page)[0][0] == pytest.approx([0, 3], abs=0.02), True)
    box = page.evaluate(PANELS, "left")[0]
    page.mouse.dblclick(box["x"] + 40, box["y"] + 40)
    shows(page, CLAMPS)
    settles(lambda: axes(page)[0][0], [-3, 3])


def test_back_and_reload_show_what_was_there(page: Page) -> None:
    opened(page, CLAMPS)
    page.get_by_role("button", name="Flip sign").click()
    shows(page, f"{CLAMPS}&grad_output=-1")
    page.reload()
    shows(page, f"{CLAMPS}&grad_output=-1")
    page.get_by_role("link", name="Swap sides").click()
    shows(page, "/compare?left=clamp_with_grad_that_works&right=clamp_with_grad&grad_output=-1")
    assert returned(page, -2.0) == [0, -1]
    page.go_back()
    shows(page, f"{CLAMPS}&grad_output=-1")
    assert returned(page, -2.0) == [-1, 0]


def test_a_function_that_fails_leaves_the_other_as_it_is(page: Page) -> None:
    opened(page, "/compare?left=one_gradient_too_few&right=exp")
    expect(page.locator("#left-verdict .word")).to_have_text("failed")
    expect(page.locator("#right-verdict .word")).to_have_text("matches")
    assert curves(page, "#right-plot").keys() - curves(page, "#left-plot").keys() == {"analytical"}
    axes(page)


def test_the_second_derivative_tells_apart_what_the_first_does_not(page: Page) -> None:
    pair = "/compare?left=sinh&right=sinh_on_ctx"
    opened(page, pair)
    expect(page.locator("#told")).to_contain_text("the same in both")
    page.get_by_text("Range, precision, one side alone").click()
    page.get_by_label("second").check()
    shows(page, f"{pair}&order=2")
    expect(page.locator("#told")).to_contain_text("double backward differs")
    axes(page)


def test_a_refusal_leads_back_to_the_choice(server: str) -> None:
    for address in (f"{CLAMPS}&right.min=abc", "/compare?min=1"):
        refused = http.get(server + address)
        assert (refused.status_code, refused.headers["content-type"].split(";")[0]) == (422, "text/html")
        assert '<a href="/compare">Choose' in refused.text


def test_the_head_says_what_the_page_is(server: str) -> None:
    text = http.get(f"{server}{CLAMPS}&right.min=-1&utm_source=x").text
    title = "Clamp with grad vs. Clamp with grad that works"
    assert f"<title>{title}" in text
    address = re.escape(CLAMPS).replace("&", "&amp;")
    assert re.search(f'<link rel="canonical" href="[^"]*{address}">'.replace("\\&amp;", "&amp;"), text)
    assert f'<meta property="og:title" content="{title}">' in text


def test_without_javascript_both_pictures_the_words_and_the_form_are_there(browser: Browser, server: str) -> None:
    with alone(browser, server, java_script_enabled=False) as page:
        warmed(server, f"{CLAMPS}&grad_output=-1")
        page.goto(f"{CLAMPS}&grad_output=-1")
        expect(page.locator("#told")).to_contain_text("input < −1")
        for side in SIDES:
            expect(page.locator(f"#{side}-still .line.analytical")).to_have_count(1)
        for width in (1000, 1300):
            page.set_viewport_size({"width": width, "height": 800})
            expect(page.locator("html")).to_have_js_property("clientWidth", width)
            panels = [page.locator(f"#{side}-still > .panel.lower").bounding_box() for side in SIDES]
            assert panels[0]["y"] == panels[1]["y"]
        labels = [page.locator(f"#{side}-still .labels:not(.below) text").all_inner_texts() for side in SIDES]
        assert labels[0] == labels[1]
        page.locator("#field-max").fill("2")
        page.get_by_role("button", name="Draw").click()
        expect(page).to_have_url(re.compile("max=2"))
        expect(page.locator("#told")).to_contain_text("input < −1")
        expect(page.locator("#field-max")).to_have_value("2")


def test_a_long_line_goes_on_below_and_what_follows_stays_beside_what_it_stood_beside(page: Page) -> None:
    opened(page, "/compare?left=gradient_changed_in_place&right=clamp_with_grad")
    long = page.locator("[id^=right-L]", has_text="return grad_output * (").get_attribute("id") or ""
    for width, wrapped in ((1000, ("left-L2", long)), (360, ("left-L1", long))):
        resized(page, width, 740)
        lines = page.locator(".sources .line")
        assert lines.evaluate_all("lines => lines.every((line) => line.scrollWidth <= line.clientWidth)")
        heights = [page.evaluate("id => document.getElementById(id).clientHeight", each) for each in wrapped]
        single = page.locator("[id^=left-L]", has_text="@staticmethod").first
        assert min(heights) > 1.9 * single.evaluate("line => line.clientHeight")
    resized(page, 1000, 740)
    tops = [page.locator(f"[id^={side}-L]", has_text="@staticmethod").first.bounding_box() for side in SIDES]
    assert tops[0]["y"] == tops[1]["y"]
    assert (
        page.evaluate("(id) => getComputedStyle(document.getElementById(id), '::before').content", long)
        == f'"{long[7:]}"'
    )


def test_the_page_of_an_op_leads_here_with_what_it_shows(page: Page) -> None:
    page.goto("/ops/clamp_with_grad?grad_output=-1")
    page.locator("html[data-ready]").wait_for()
    enter(page.locator("#field-min"), "-2")
    shows(page, "/ops/clamp_with_grad?min=-2&grad_output=-1")
    page.locator("#compare").click()
    expect(page.get_by_label("Left")).to_have_value("clamp_with_grad")
    page.get_by_label("Right").select_option("clamp_with_grad_that_works")
    page.get_by_role("button", name="Compare").click()
    shows(page, f"{CLAMPS}&min=-2&grad_output=-1")
