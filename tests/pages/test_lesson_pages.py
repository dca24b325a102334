import re

from playwright.sync_api import Page, expect
from support.browser import HIDDEN, curves, drag, enter, opened, passes_through, resized, settles, shows, visited

FRAME = """() => { const {xaxis, yaxis, yaxis2, margin} = document.querySelector('#plot').layout;
return [xaxis.range, yaxis.range, yaxis2.range, margin.l, yaxis.ticktext, yaxis2.ticktext]; }"""


def test_lessons_are_walked_by_keyboard(page: Page) -> None:
    page.goto("/lessons")
    page.get_by_role("link", name="What is a backward?").press("Enter")
    page.locator("html[data-ready]").wait_for()
    page.locator("body").press("ArrowRight")
    expect(page).to_have_url(re.compile("/lessons/grad_output"))
    page.locator("html[data-ready]").wait_for()
    before = curves(page)["analytical"]
    page.get_by_role("button", name="Flip sign").press("Enter")
    page.locator('html[data-ready="/ops/square?grad_output=-1"]').wait_for()
    assert curves(page)["analytical"] != before
    expect(page).to_have_url("/lessons/grad_output?grad_output=-1")
    page.get_by_role("slider", name="grad_output").press("ArrowRight")  # moves the slider, and turns no page
    expect(page).to_have_url(re.compile("/lessons/grad_output"))
    page.locator("#reveal > summary").press("Enter")
    expect(page.locator("#verdict .headline")).to_be_visible()
    page.locator("body").press("ArrowLeft")
    expect(page).to_have_url(re.compile("/lessons/backward$"))


def test_in_a_lesson_the_curve_moves_and_not_its_axis(page: Page) -> None:
    visited(page, "/lessons/grad_output")
    frame, before = page.evaluate(FRAME), curves(page)["analytical"]
    drag(page, page.get_by_role("slider", name="grad_output"), 0.9, lambda: page.mouse.move(5, 5))
    typed = page.locator("#field-grad_output")
    shows(page, f"/ops/square?grad_output={typed.input_value()}")
    assert page.evaluate(FRAME) == frame
    enter(typed, "2")
    shows(page, "/ops/square?grad_output=2")
    assert page.evaluate(FRAME) == frame
    assert passes_through(curves(page)["analytical"], before[0], [y and 2 * y for y in before[1]])
    visited(page, "/lessons/linear")  # on a range of its own, which is no zoom
    expect(page.get_by_role("button", name="Reset zoom")).to_be_hidden()
    page.locator("#canvas").dblclick(position={"x": 200, "y": 60})
    assert page.evaluate(FRAME)[0] == [-20, 20]


def test_a_lesson_in_a_frame_has_its_words_its_figure_and_its_control_and_fills_its_height(page: Page) -> None:
    page.goto("/embed/lessons/gradcheck?theme=dark&height=920")
    begins = "/ops/incorrect_clipped_relu?clip="
    shows(page, f"{begins}1.5")
    expect(page).to_have_url("/embed/lessons/gradcheck?theme=dark&height=920")
    for width in (320, 704, 1000):
        resized(page, width, 920)
        settles(lambda: page.evaluate(HIDDEN), [0, 0])
        expect(page.locator("#canvas")).to_be_in_viewport(ratio=1)
    page.get_by_role("slider", name="clip").press("Home")
    shows(page, f"{begins}0")
    expect(page).to_have_url("/embed/lessons/gradcheck?clip=0&theme=dark&height=920")
    page.get_by_role("button", name="Reset clip to 1.5").click()  # where the lesson begins, not where its Function does
    shows(page, f"{begins}1.5")
    expect(page.get_by_role("navigation")).to_have_count(0)


def test_a_lesson_in_a_frame_leaves_out_what_would_tell(page: Page) -> None:
    page.goto("/embed/lessons/gradcheck?hide=numerical,implied,shading,verdict,open")
    slider = page.get_by_role("slider", name="clip")
    for clip in ("1.5", "0"):  # as it comes, and as it is asked for
        shows(page, f"/ops/incorrect_clipped_relu?clip={clip}")
        assert {"numerical", "implied"}.isdisjoint(curves(page))
        slider.press("Home")
    page.get_by_text("What happened, and why").click()
    expect(page.locator("#verdict")).to_have_count(0)
    expect(page.get_by_role("link", name="Open in Gradloupe")).to_have_count(0)


def test_a_term_says_what_it_means_to_pointer_keyboard_and_finger(page: Page) -> None:
    opened(page, "/ops/clamp_with_grad")
    term, definition = page.locator("#verdict .term").first, page.locator("#definition:popover-open")
    term.hover()
    expect(definition).to_contain_text("loss changes")
    page.locator("h1").hover()
    expect(definition).to_have_count(0)
    page.locator("#details").focus()
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Shift+Tab")
    expect(definition).to_contain_text("loss changes")
    page.keyboard.press("Escape")
    expect(definition).to_have_count(0)
    term.evaluate("(link) => link.click()")
    expect(definition).to_be_visible()
    assert len(page.context.pages) == 1
