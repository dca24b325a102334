"""The companion figure: five closer looks at the section above, one at a time."""

import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect
from support.browser import drag, enter, here, opened, place_of, settles, shows, zoom
from support.sampling import sampled

LOOKS = {
    "area": "Area",
    "map": "grad_output map",
    "precision": "Precision",
    "wide": "Whole range",
    "step": "Step",
}
OP = "incorrect_clipped_relu"
WRONG = f"/ops/{OP}"
ALIGNED = ("area", "map", "precision")
SPAN = """id => { const {xaxis, margin} = document.querySelector(id)._fullLayout;
return [...xaxis.range, xaxis._offset, xaxis._length].map(v => Math.round(v * 1e6) / 1e6) }"""


def look(page: Page, view: str) -> None:
    """Choose a view as a mouse would."""
    page.locator(".looks label", has_text=LOOKS.get(view, "Curves only")).click()


def drawn(page: Page) -> dict[str, dict[str, Any]]:
    """The companion's traces by name."""
    traces = "() => document.querySelector('#companion-plot').data.map(({name, x, y, z}) => ({name, x, y, z}))"
    return {each["name"]: each for each in page.evaluate(traces)}


def test_every_look_opens_below_the_figure_and_in_the_address_shows_what_is_wrong_and_follows_a_slider(
    page: Page,
) -> None:
    opened(page, WRONG)
    expect(page.locator("#companion")).to_be_hidden()
    shown = {}
    for view in LOOKS:
        look(page, view)
        shows(page, f"{WRONG}?view={view}")
        expect(page).to_have_url(f"{WRONG}?view={view}")
        expect(page.get_by_role("region").filter(has=page.locator("#companion-plot"))).to_be_visible()
        expect(page.locator("#companion-sentence")).to_have_text(re.compile(".{20,}"))
        shown[view] = drawn(page)
        if view == "precision":
            table = page.get_by_role("table", name="Largest errors in this range")
            for dtype in ("float64", "float32", "bfloat16", "float16"):
                expect(table.get_by_role("row").filter(has_text=dtype).first).to_be_visible()
        if view == "wide":
            labels = page.locator("#companion-plot .xtick text").all_text_contents()
            assert any(each.startswith("−10") for each in labels)
            assert len(set(labels)) == len(labels) > 4
    wrong = [x for x in shown["area"]["differs"]["x"] if x is not None]
    assert (min(wrong), max(wrong)) == (-1, 3)
    assert not [x for x in wrong if 0.01 < x < 1.99]
    assert shown["wide"]["differs"]["x"]
    assert {"forward in float32", "gradient in float16"} <= shown["precision"].keys()
    page.get_by_role("radio", name="Curves only").focus()
    page.keyboard.press("ArrowRight")  # the looks are walked by keyboard too
    shows(page, f"{WRONG}?view=area")
    expect(page.locator("#companion-csv")).to_have_attribute("href", f"{WRONG.replace(OP, OP + '.csv')}?view=area")
    drag(page, page.get_by_role("slider", name="clip"), 0.4)  # which the companion follows
    shows(page, here(page))
    clip = float(page.locator("#field-clip").input_value().replace("−", "-"))
    beyond = [x for x in drawn(page)["differs"]["x"] if x is not None and x > 0.1]
    assert min(beyond) == pytest.approx(clip, abs=0.02)
    page.get_by_role("radio", name="Area").press("ArrowLeft")
    expect(page.locator("#companion")).to_be_hidden()


@pytest.mark.parametrize("view", sampled(ALIGNED, ALIGNED[:1]))
def test_features_line_up_with_those_above_where_they_stand_below_each_other(page: Page, view: str) -> None:
    page.set_viewport_size({"width": 800, "height": 900})
    opened(page, f"/ops/clamp_with_grad?view={view}")
    assert page.evaluate(SPAN, "#companion-plot") == page.evaluate(SPAN, "#plot")
    zoom(page, 0.5, 0.8)
    expect(page.locator("html")).not_to_have_attribute("data-ready", f"/ops/clamp_with_grad?view={view}")
    shows(page, here(page))
    assert page.evaluate(SPAN, "#companion-plot") == page.evaluate(SPAN, "#plot")


def test_the_map_shows_what_depends_on_grad_output_and_dragging_in_it_sets_that(page: Page) -> None:
    opened(page, "/ops/clamp_with_grad?view=map")
    ratio = drawn(page)["ratio"]
    assert (ratio["z"][0][0], ratio["z"][0][-1]) == (1, 0)
    assert (ratio["z"][-1][0], ratio["z"][-1][-1]) == (0, 1)
    box = place_of(page.locator("#companion-plot .nsewdrag"))
    page.mouse.move(box["x"] + 200, box["y"] + box["height"] / 2)
    page.mouse.down()
    page.mouse.move(box["x"] + 210, box["y"] + box["height"] * 5 / 6, steps=8)
    expect(page.locator("#json")).to_have_attribute("href", "/ops/clamp_with_grad.json?grad_output=-2")
    shows(page, "/ops/clamp_with_grad?view=map")
    settles(lambda: page.evaluate("() => document.querySelector('#companion-plot').layout.shapes[1].y0"), -2)
    page.mouse.up()
    shows(page, "/ops/clamp_with_grad?grad_output=-2&view=map")
    expect(page.locator("#field-grad_output")).to_have_value("−2")


def test_a_click_and_enter_choose_where_one_looks_and_the_last_good_look_stays_and_can_be_saved(
    page: Page,
) -> None:
    def click() -> None:
        box = place_of(page.locator("#canvas .nsewdrag[data-subplot='xy']"))
        page.mouse.click(box["x"] + box["width"] * 0.75, box["y"] + 40)

    opened(page, "/ops/exp")
    click()
    assert here(page) == "/ops/exp"
    look(page, "step")
    shows(page, "/ops/exp?view=step")
    click()
    shows(page, "/ops/exp?view=step&at=1")
    expect(page.locator("#field-at")).to_have_value("1")
    uprights = "() => document.querySelector('#plot').layout.shapes.map(({x0}) => x0)"
    settles(lambda: page.evaluate(uprights), [1, 1])
    page.get_by_role("slider", name="Trace").press("Home")
    page.get_by_role("slider", name="Trace").press("Enter")
    shows(page, "/ops/exp?view=step&at=-2")
    page.route("**/exp.json?view=step&at=1", lambda route: route.fulfill(status=422, json={"detail": "at: not there."}))
    enter(page.locator("#field-at"), "1")
    expect(page.locator("#companion-trouble")).to_have_text("at: not there.")
    shows(page, "/ops/exp?view=step&at=-2")  # the last good picture stays, and can be saved
    assert drawn(page)["central"]["x"]
    with page.expect_download() as download:
        page.locator("#companion-save").click()
    assert download.value.suggested_filename == "exp_step.png"
    assert download.value.path().read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    look(page, "curves")
    expect(page.locator("#companion")).to_be_hidden()
    expect(page).to_have_url("/ops/exp")


def test_on_a_phone_the_figure_makes_way_for_what_is_opened_below_it(page: Page) -> None:
    page.set_viewport_size({"width": 360, "height": 740})
    opened(page, "/ops/relu")
    figure = page.locator("main .figure").first
    expect(figure).to_have_css("position", "sticky")
    page.locator(".looks label", has_text="Step").click()
    expect(figure).to_have_css("position", "relative")
    page.locator(".looks label", has_text="Curves only").click()
    expect(figure).to_have_css("position", "sticky")
