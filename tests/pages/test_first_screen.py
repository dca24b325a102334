import pytest
from playwright.sync_api import Page, ViewportSize, expect
from support.browser import drag, opened, shows
from support.sampling import sampled

SCREENS: list[ViewportSize] = [
    {"width": 1280, "height": 720},
    {"width": 1440, "height": 900},
    {"width": 390, "height": 844},
]
SHOWN = ("functional_linear", "clamp_with_grad", "incorrect_clipped_relu")
SEEN = ("#title", ".lede", ".headline", "#upper-words", "#lower-words", "#canvas", "#reading")


@pytest.mark.parametrize("name", sampled(SHOWN, SHOWN[:1]))
def test_the_first_screen_holds_why_the_verdict_and_the_whole_figure(page: Page, name: str) -> None:
    opened(page, f"/ops/{name}")
    for screen in SCREENS:
        page.set_viewport_size(screen)
        for each in SEEN:
            expect(page.locator(each)).to_be_in_viewport(ratio=0.98)
        figure, controls = (page.locator(each).bounding_box() for each in ("#canvas", "#controls"))
        beside = controls["x"] + controls["width"] < figure["x"]
        assert beside or 0 <= controls["y"] - figure["y"] - figure["height"] < 120


PLACES = """() => ['#canvas', '#controls'].map(each => {
  const boxes = [each, '#title'].map(one => document.querySelector(one).getBoundingClientRect());
  const [{top, height}, {top: title}] = boxes;
  return [top - title, height];
})"""


HIDDEN_PIXELS = "(box) => [box.scrollHeight - box.clientHeight, box.scrollWidth - box.clientWidth]"


@pytest.mark.parametrize("width", sampled([1280, 390], [390]))
def test_details_stay_open_and_whole_and_nothing_moves_while_verdicts_change(page: Page, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 1400})
    opened(page, "/ops/clamp_with_grad")
    page.locator("#details").click()
    assert page.locator(".found > div").evaluate(HIDDEN_PIXELS) == [0, 0]
    places = page.evaluate(PLACES)
    drag(page, page.get_by_role("slider", name="max"), 0.9)
    expect(page.locator(".held")).to_have_count(0)
    page.get_by_role("button", name="Reset max to 1").click()
    shows(page, "/ops/clamp_with_grad")
    assert page.locator(".found > div").evaluate(HIDDEN_PIXELS) == [0, 0]
    page.get_by_role("button", name="Flip sign").click()
    expect(page.locator(".headline")).to_contain_text("negative")
    expect(page.locator("#verdict .sentence")).to_be_visible()
    assert page.evaluate(PLACES) == places


def test_a_view_that_the_address_names_or_a_link_opens_is_brought_into_sight(page: Page) -> None:
    page.set_viewport_size(SCREENS[0])
    page.goto("/ops/clamp_with_grad?view=area")
    for each in ("#companion-title", "#companion .still"):
        expect(page.locator(each)).to_be_in_viewport(ratio=1)
    shows(page, "/ops/clamp_with_grad?view=area")
    page.set_viewport_size(SCREENS[2])
    page.locator(".looks label", has_text="Curves only").click()
    expect(page.locator("#companion")).to_be_hidden()
    page.locator(".looks label", has_text="Area").click()
    for each in (page.get_by_role("slider", name="max"), page.locator("#companion .still")):
        expect(each).to_be_in_viewport(ratio=0.98)
