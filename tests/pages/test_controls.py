import pytest
from playwright.sync_api import Browser, Page, Route, expect
from support.browser import (
    alike,
    curves,
    enter,
    here,
    opened,
    ordinary,
    shows,
    value_at,
    visitor,
    zoom,
)


@pytest.mark.nightly
def test_a_browser_that_has_had_enough_of_new_addresses_gets_the_last_one_later(browser: Browser, server: str) -> None:
    with ordinary(browser) as another, visitor(another, server) as page:
        opened(page, "/ops/clamp_with_grad")
        page.evaluate("() => { for (let i = 0; i < 300; i += 1) history.replaceState(null, '', `?count=${9 + i}`) }")
        enter(page.locator("#field-min"), "-0.5")
        shows(page, "/ops/clamp_with_grad?min=-0.5")
        expect(page).to_have_url("/ops/clamp_with_grad?min=-0.5")


def test_grad_output_is_flipped_typed_and_reset_and_a_number_written_as_the_server_does(page: Page) -> None:
    opened(page, "/ops/exp")
    page.get_by_role("button", name="Flip sign").click()
    shows(page, "/ops/exp?grad_output=-1")
    assert (value_at(curves(page)["analytical"], 0) or 0) < 0
    # As it is typed, and as the server writes it in an address.
    for text, written in (
        *(("1e-5", "1e-5"), ("0.00002", "2e-5"), ("1E+21", "1e21"), ("-.5", "-0.5"), ("+3", "3")),
        ("−1e-3", "-0.001"),
    ):
        enter(page.locator("#field-grad_output"), text)
        shows(page, f"/ops/exp?grad_output={written}")
    page.get_by_role("button", name="Reset grad_output to 1").click()
    shows(page, "/ops/exp")
    enter(page.locator("#field-grad_output"), "")
    page.get_by_role("button", name="Flip sign").click()  # that of the default
    expect(page.locator("#field-grad_output")).to_have_value("−1")


def test_a_copied_link_shows_the_same_picture_to_somebody_else(page: Page, server: str) -> None:
    address = "/ops/clamp_with_grad?min=-2&start=-5&stop=4&count=91&grad_output=-1&layout=overlaid"
    opened(page, "/ops/clamp_with_grad")
    for name, text in {"min": "−2", "start": "-5", "stop": "4", "count": "91"}.items():
        enter(page.locator(f"#field-{name}"), text)
    page.get_by_role("button", name="Flip sign").click()
    page.get_by_label("overlaid").check()
    shows(page, address)
    expect(page).to_have_url(server + address)
    mine = curves(page)
    page.reload()
    shows(page, address)
    assert alike(curves(page), mine)
    expect(page.locator("#field-min")).to_have_value("−2")


def test_a_zoom_is_a_new_range_and_a_double_click_goes_back(page: Page) -> None:
    opened(page, "/ops/exp")
    low, high = page.evaluate("() => document.querySelector('#plot').layout.xaxis.range")
    box = zoom(page, 0.25, 0.5)
    expect(page.locator("#field-start")).not_to_have_value("−2")
    start, stop = (float(page.locator(f"#field-{name}").input_value().replace("−", "-")) for name in ("start", "stop"))
    assert (start, stop) == pytest.approx(((3 * low + high) / 4, (low + high) / 2), abs=0.05)
    shows(page, here(page))
    xs = curves(page)["forward"][0]
    assert (xs[0], xs[-1]) == (start, stop)
    page.mouse.dblclick(box["x"] + 200, box["y"] + 60)
    shows(page, "/ops/exp")


def test_a_swept_parameter_has_a_sensitivity_and_no_gradient(page: Page) -> None:
    opened(page, "/ops/clamp_with_grad")
    page.get_by_label("with respect to").select_option("min")
    shows(page, "/ops/clamp_with_grad?wrt=min")
    assert "analytical" not in curves(page)
    expect(page.locator("#lower-words")).to_have_text("sensitivity to min")
    expect(page.locator("#verdict .word")).to_have_text("no gradient")
    expect(page.get_by_role("slider", name="min", exact=True)).to_be_hidden()


def test_a_dtype_and_a_tolerance_are_chosen_and_an_arrow_key_steps_a_number(page: Page) -> None:
    opened(page, "/ops/exp")
    page.get_by_text("Step and tolerances").click()
    assert float(page.get_by_label("rtol").get_attribute("placeholder") or "") > 0  # what was chosen for it
    enter(page.get_by_label("rtol"), "0.5")
    shows(page, "/ops/exp?rtol=0.5")
    enter(page.get_by_label("rtol"), "")
    page.get_by_label("dtype").select_option("float16")
    shows(page, "/ops/exp?dtype=float16")
    # e² = 7.38906… lies between two float16 that are 1/256 apart
    assert value_at(curves(page)["analytical"], 2) == pytest.approx(7.38906, abs=1 / 256)
    assert value_at(curves(page)["analytical"], 2) != pytest.approx(7.38906, abs=1e-4)
    page.locator("#field-grad_output").press("ArrowDown")
    page.locator("#field-grad_output").press("Shift+ArrowUp")
    shows(page, "/ops/exp?grad_output=1.9&dtype=float16")


def test_a_proxy_that_writes_a_date_when_to_come_back_is_not_asked_for_ever(page: Page) -> None:
    opened(page, "/ops/exp")
    busy = {"status": 429, "headers": {"Retry-After": "Wed, 21 Oct 2015 07:28:00 GMT"}, "json": {"detail": "Too busy."}}
    asked: list[Route] = []

    def refuse(route: Route) -> None:
        asked.append(route)
        route.fulfill(**busy)

    page.route("**/exp.page.json?grad_output=-1", refuse)
    page.get_by_role("button", name="Flip sign").click()
    expect(page.locator("#trouble")).to_have_text("Too busy.")
    enter(page.locator("#field-grad_output"), "2")
    shows(page, "/ops/exp?grad_output=2")
    assert len(asked) == 1


def test_a_lower_bound_above_the_upper_one_is_said_beside_it(page: Page) -> None:
    opened(page, "/ops/clamp_with_grad")
    said = page.locator(".above[data-below=max]")
    expect(said).to_be_hidden()
    place = page.locator("#field-max").bounding_box()
    enter(page.locator("#field-max"), "-2.35")
    shows(page, "/ops/clamp_with_grad?max=-2.35")
    expect(said).to_be_visible()
    assert page.locator("#field-max").bounding_box() == pytest.approx(place, abs=1)
    page.get_by_role("button", name="Reset max to 1").click()
    expect(said).to_be_hidden()
    page.goto("/ops/clamp_with_grad?min=2")
    expect(said).to_be_visible()
