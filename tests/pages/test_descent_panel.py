import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect
from support.browser import asked, enter, here, opened, place_of, settles, shows

CLAMP = "/ops/clamp_with_grad?view=descent"
BALLS = """() => Object.fromEntries(document.querySelector('.descent .ground .plot').data
.filter(({name}) => name.startsWith('with') && !name.includes(',')).map(({name, x, y}) => [name, [x[0], y[0]]]))"""


LOSSES = """() => { const { data, _fullLayout: { yaxis } } = document.querySelector('.descent > .plot');
return { ys: data.filter(({name}) => !name.includes(',')).map(({y}) => y), labels: yaxis.ticktext } }"""


def scrubber(page: Page) -> Any:
    return page.get_by_role("slider", name="step", exact=True)


def read(page: Page) -> list[str]:
    """The cells of both runs at the step that is shown."""
    return page.locator(".descent .now tbody tr").all_inner_texts()


def test_the_slider_walks_through_the_steps_the_balls_follow_and_play_goes_to_the_end(page: Page) -> None:
    opened(page, CLAMP)
    expect(page.locator("#companion-sentence")).to_contain_text("stays at 3 forever")
    shown = page.locator(".descent output")
    expect(shown).to_have_text("12 of 12")
    panel = place_of(page.locator("#companion-panel"))
    for drawing in page.locator(".descent .plot:visible").all():  # each stands in its panel
        box = drawing.bounding_box()
        assert box
        assert panel["y"] < box["y"] < box["y"] + box["height"] < panel["y"] + panel["height"]
    scrubber(page).press("Home")
    settles(lambda: page.evaluate(BALLS), {"with this backward": [3, 1], "with the true derivative": [3, 1]})
    for _ in range(5):
        scrubber(page).press("ArrowRight")
    expect(shown).to_have_text("5 of 12")
    settles(lambda: page.evaluate(BALLS), {"with this backward": [0.5, 0.5], "with the true derivative": [3, 1]})
    assert [each.split("\t")[1:] for each in read(page)] == [["0.5", "0.25", "1"], ["3", "1", "0"]]
    assert "loss 0.25" in scrubber(page).get_attribute("aria-valuetext")
    assert here(page) == CLAMP
    scrubber(page).press("End")
    scrubber(page).press("ArrowLeft")
    play = page.get_by_role("button", name="Play")
    play.click()
    expect(shown).to_have_text("12 of 12")
    play.press("Space")  # again from the first on
    page.get_by_role("button", name="Pause").press("Space")
    expect(play).to_be_visible()
    play.click()
    page.locator(".looks label", has_text="Curves only").click()  # nothing goes on behind
    expect(page.locator(".descent")).to_have_count(0)


@pytest.mark.nightly
def test_where_motion_is_not_wanted_the_button_takes_single_steps(page: Page, server: str) -> None:
    page.emulate_media(reduced_motion="reduce")
    opened(page, f"{CLAMP}&steps=4")
    for text in ("0 of 4", "1 of 4", "2 of 4"):
        page.get_by_role("button", name="Next step").click()
        expect(page.locator(".descent output")).to_have_text(text)
    page.emulate_media(reduced_motion="no-preference")
    expect(page.get_by_role("button", name="Play")).to_be_visible()


def test_the_elements_of_a_matrix_are_fields_that_move_and_the_head_has_dots(page: Page) -> None:
    opened(page, "/ops/kill_head?view=descent")
    fields = page.locator(".descent .heat")
    expect(fields).to_have_count(2)
    assert [fields.nth(i).locator("circle:not([hidden])").count() for i in (0, 1)] == [6, 6]
    colours = "svg => [...svg.querySelectorAll('rect')].map(rect => getComputedStyle(rect).fill)"
    end = fields.nth(0).evaluate(colours)
    scrubber(page).press("Home")
    expect(page.locator(".descent output")).to_have_text(re.compile("^0 of"))
    start = fields.nth(0).evaluate(colours)
    moved = [i for i, (one, other) in enumerate(zip(start, end, strict=True)) if one != other]
    assert moved
    assert all(i % 8 >= 2 for i in moved)
    assert fields.nth(0).locator("circle:not([hidden])").count() == 0
    assert read(page)[0].split("\t")[1] == "0.4687"
    width = "field => field.clientWidth"  # that of a goal of many numbers is long
    assert page.locator("#field-goal").evaluate(width) > 2 * page.locator("#field-lr").evaluate(width)


def test_the_fields_ask_anew_and_a_refused_number_is_said_beside_its_field_and_asked_for_once(page: Page) -> None:
    opened(page, CLAMP)
    for name, text in {"at": "3", "lr": "0.25", "steps": "12", "goal": "0"}.items():
        expect(page.locator(f"#field-{name}")).to_have_attribute("placeholder", text)
    field, panel = page.locator("#field-lr"), page.locator("#companion-panel")
    beside = page.locator(".control:has(#field-lr) .trouble")
    with asked(page) as addresses:
        enter(field, "1e308")
        expect(beside).to_contain_text("out of bounds")
        expect(page.locator("#companion-trouble")).to_contain_text("out of bounds")
        expect(field).to_have_accessible_description(beside.inner_text())
        expect(panel).to_have_css("opacity", "0.45")
        expect(page.locator(".descent output")).to_have_text("12 of 12")  # the last good picture stays
    assert [each.split("lr=")[1] for each in addresses if "lr=" in each] == ["1e%2B308"]
    enter(page.locator("#field-min"), "-9")
    expect(page.locator("#trouble")).to_contain_text("min")
    enter(page.locator("#field-min"), "-1")
    expect(page.locator("#trouble")).to_be_empty()
    expect(field).to_have_attribute("aria-invalid", "true")  # though something else was wrong meanwhile
    enter(field, "0.5")
    shows(page, f"{CLAMP}&lr=0.5")
    expect(beside).to_have_count(0)
    expect(field).not_to_have_attribute("aria-invalid", "true")
    expect(panel).to_have_css("opacity", "1")
    enter(field, "")
    enter(page.locator("#field-goal"), "2")
    enter(page.locator("#field-at"), "-3")
    shows(page, "/ops/clamp_with_grad?view=descent&at=-3&goal=2")
    expect(page.locator("#companion-sentence")).to_contain_text("from −3 to 1.5 in 4 steps")


def test_losses_are_drawn_where_they_are_and_those_of_0_below_a_break_or_at_the_0_of_a_plain_axis(page: Page) -> None:
    opened(page, "/ops/square?view=descent&lr=10000000000&steps=50")
    assert page.evaluate(LOSSES)["ys"][0][:3] == pytest.approx([0.194, 42.796, 170.796], abs=0.001)
    opened(page, f"{CLAMP}&lr=0.4&steps=60&goal=0.5")
    drawn = page.evaluate(LOSSES)
    assert drawn["labels"][0] == "0"
    least = min(y for y in drawn["ys"][1] if y != drawn["ys"][1][-1])
    assert drawn["ys"][1][-1] < least - 3
    expect(page.locator(".descent .measured").last).to_contain_text("0 below")
    opened(page, "/ops/bernoulli_straight_through?view=descent")
    assert page.evaluate(LOSSES)["labels"] == ["0.0", "0.5", "1.0"]
