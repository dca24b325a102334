"""The companion figure: five closer looks at the section above, one at a time."""

import re

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
# Where the curves of the figure lie between the edges of the window, and those of the view below it.
ABOVE = """() => { const {xaxis} = document.querySelector("#plot")._fullLayout;
const left = document.querySelector("#plot").getBoundingClientRect().left + xaxis._offset;
return [left, left + xaxis._length].map(Math.round) }"""
BELOW = """() => { const {left, right} = document.querySelector("#companion svg.panel").getBoundingClientRect();
return [left, right].map(Math.round) }"""
# The ends of the boxes of one colour, as shares of the panel.
BOXES = """name => { const panel = document.querySelector("#companion svg.panel"), d = panel.querySelector(`.f-${name}`)
.getAttribute("d"); return [...d.matchAll(/M([\\d.]+) [^H]*H([\\d.]+)/g)].map(found =>
[found[1], found[2]].map(x => x / panel.viewBox.baseVal.width)) }"""
LINE = """() => { const panel = document.querySelector("#companion svg.panel");
return parseFloat(panel.querySelector(".s-ink").getAttribute("d").split(" ")[1]) / panel.viewBox.baseVal.height }"""


def look(page: Page, view: str) -> None:
    """Choose a view as a mouse would."""
    page.locator(".looks label", has_text=LOOKS.get(view, "Curves only")).click()


def boxes(page: Page, colour: str, start: float, stop: float) -> list[tuple[float, float]]:
    """What is drawn in one colour over an axis from start to stop: from where to where each."""
    return [(start + low * (stop - start), start + high * (stop - start)) for low, high in page.evaluate(BOXES, colour)]


def test_every_look_opens_below_the_figure_and_in_the_address_shows_what_is_wrong_and_follows_a_slider(
    page: Page,
) -> None:
    opened(page, WRONG)
    expect(page.locator("#companion")).to_be_hidden()
    for view in LOOKS:
        look(page, view)
        shows(page, f"{WRONG}?view={view}")
        expect(page).to_have_url(f"{WRONG}?view={view}")
        expect(page.get_by_role("img", name=page.locator("#companion-title").inner_text()).first).to_be_visible()
        expect(page.locator("#companion-sentence")).to_have_text(re.compile(".{20,}"))
        if view == "area":
            wrong = boxes(page, "disagreement", -1, 3)
            assert (wrong[0][0], wrong[-1][1]) == (-1, 3)
            assert not [low for low, _ in wrong if 0.01 < low < 1.99]
        if view == "precision":
            expect(page.locator("#companion .legend")).to_contain_text(["float16", ""])
            table = page.get_by_role("table", name="Largest errors in this range")
            for dtype in ("float64", "float32", "bfloat16", "float16"):
                expect(table.get_by_role("row").filter(has_text=dtype).first).to_be_visible()
        if view == "wide":
            labels = page.locator("#companion .below text:visible").all_text_contents()
            assert any(each.startswith("−10") for each in labels)
            assert len(set(labels)) == len(labels) > 4
            expect(page.locator("#companion .legend")).to_contain_text("differs")
    page.get_by_role("radio", name="Curves only").focus()
    page.keyboard.press("ArrowRight")  # the looks are walked by keyboard too
    shows(page, f"{WRONG}?view=area")
    expect(page.locator("#companion-csv")).to_have_attribute("href", f"{WRONG.replace(OP, OP + '.csv')}?view=area")
    drag(page, page.get_by_role("slider", name="clip"), 0.4)  # which the companion follows
    shows(page, here(page))
    clip = float(page.locator("#field-clip").input_value().replace("−", "-"))
    beyond = [low for low, _ in boxes(page, "disagreement", -1, 3) if low > 0.1]
    assert min(beyond) == pytest.approx(clip, abs=0.02)
    page.get_by_role("radio", name="Area").press("ArrowLeft")
    expect(page.locator("#companion")).to_be_hidden()


@pytest.mark.parametrize("view", sampled(ALIGNED, ALIGNED[:1]))
def test_features_line_up_with_those_above_where_they_stand_below_each_other(page: Page, view: str) -> None:
    page.set_viewport_size({"width": 800, "height": 900})
    opened(page, f"/ops/clamp_with_grad?view={view}")
    assert page.evaluate(BELOW) == page.evaluate(ABOVE)
    zoom(page, 0.5, 0.8)
    expect(page.locator("html")).not_to_have_attribute("data-ready", f"/ops/clamp_with_grad?view={view}")
    shows(page, here(page))
    assert page.evaluate(BELOW) == page.evaluate(ABOVE)


def test_the_map_shows_what_depends_on_grad_output_and_dragging_in_it_sets_that(page: Page) -> None:
    opened(page, "/ops/clamp_with_grad?view=map")
    full = boxes(page, "positive", -3, 3)  # below 0 up to 1, above 0 from −1 on
    assert {(round(low, 1), round(high, 1)) for low, high in full} == {(-3, 1), (-1, 3)}
    box = place_of(page.locator("#companion svg.panel"))
    page.mouse.move(box["x"] + 200, box["y"] + box["height"] / 2)
    page.mouse.down()
    page.mouse.move(box["x"] + 210, box["y"] + box["height"] * 5 / 6, steps=8)
    expect(page.locator("#json")).to_have_attribute("href", "/ops/clamp_with_grad.json?grad_output=-2")
    shows(page, "/ops/clamp_with_grad?view=map")
    settles(lambda: round(page.evaluate(LINE), 3), 0.833)
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
    page.route(
        "**/exp.page.json?view=step&at=1", lambda route: route.fulfill(status=422, json={"detail": "at: not there."})
    )
    enter(page.locator("#field-at"), "1")
    expect(page.locator("#companion-trouble")).to_have_text("at: not there.")
    shows(page, "/ops/exp?view=step&at=-2")  # the last good picture stays, and can be saved
    expect(page.locator("#companion svg.panel .s-numerical").first).to_be_visible()
    expect(page.locator("#companion-png")).to_have_attribute("href", "/ops/exp.png?view=step&at=1")
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
