import re

import pytest
from playwright.sync_api import Locator, Page, expect
from support.browser import opened, place_of, shows, spoken


def cursor(page: Page) -> Locator:
    return page.get_by_role("slider", name="Trace")


def cell(page: Page, name: str) -> Locator:
    return page.locator(f"#reading [data-name='{name}'] dd")


def point_at(page: Page, share: float) -> None:
    """Move the mouse over the upper panel."""
    box = place_of(page.locator("#canvas .nsewdrag[data-subplot='xy']"))
    page.mouse.move(box["x"] + box["width"] * share, box["y"] + box["height"] / 2)


def rise(line: Locator) -> float:
    """Pixels up for a pixel to the right, as soon as it is drawn."""
    expect(line).to_have_attribute("x1", re.compile(r"\d"))
    x1, x2, y1, y2 = (float(line.get_attribute(name) or "nan") for name in ("x1", "x2", "y1", "y2"))
    return (y1 - y2) / (x2 - x1)


def test_pointing_reads_the_row_and_lays_both_tangents_and_e_goes_to_the_largest_differences(page: Page) -> None:
    opened(page, "/ops/incorrect_clipped_relu")
    point_at(page, 0.1)
    expect(cell(page, "analytical")).to_have_text("1")
    expect(cell(page, "numerical")).to_have_text(re.compile(r"0( ± \S+)?"))
    expect(cell(page, "status")).to_have_text("differ")
    tangent = page.locator(".tangent.analytical")
    assert rise(tangent) > 0.1
    assert rise(page.locator(".tangent.numerical.left")) == pytest.approx(0, abs=1e-9)
    point_at(page, 0.5)
    expect(cell(page, "status")).to_have_text("agree")
    assert rise(page.locator(".tangent.numerical.right")) == pytest.approx(rise(tangent), rel=1e-6)
    expect(page.locator("#keys")).to_be_hidden()
    page.mouse.move(5, 5)  # which leaves the figure
    expect(page.locator("#keys")).to_be_visible()
    expect(page.locator("#overlay")).to_be_hidden()
    places = []
    for key in ("e", "e", "e", "Shift+E"):
        cursor(page).press(key)
        expect(cell(page, "status")).to_have_text("differ")
        places.append(float((cell(page, "x").text_content() or "").replace("−", "-")))
    low, high, *again = places
    assert low < 0 < 2 < high
    assert again == [low, high]
    expect(page.locator("#reading [data-name='status']")).to_have_text("theydiffer")
    expect(cell(page, "x")).to_have_text(re.compile(r"^2\.00\d+$"))  # beside a mark, which is elsewhere
    cursor(page).press("ArrowLeft")
    expect(cell(page, "x")).to_have_text("2.00")
    cursor(page).press("e")
    expect(cell(page, "numerical")).not_to_contain_text("⁻³²")  # a bound below all normal numbers is none


def test_the_tangent_is_a_slope_of_forward_whatever_grad_output_is_and_c_has_another_curve_spoken_first(
    page: Page,
) -> None:
    opened(page, "/ops/exp")
    point_at(page, 0.7)
    before = rise(page.locator(".tangent.analytical"))
    for grad_output in ("-3", "0"):
        page.locator("#field-grad_output").fill(grad_output)
        shows(page, f"/ops/exp?grad_output={grad_output}")
        point_at(page, 0.7)
        expect(page.locator(".tangent.analytical")).to_be_visible(visible=grad_output != "0")
        if grad_output != "0":
            assert rise(page.locator(".tangent.analytical")) == pytest.approx(before)
    cursor(page).press("End")
    firsts = []
    for _ in range(6):
        firsts.append(spoken(page).split(",")[0])
        cursor(page).press("c")
    assert [each.split()[0] for each in firsts] == ["x", "y", "analytical", "numerical", "they", "x"]


def test_a_click_keeps_the_reading_and_hands_the_keys_to_the_curves(page: Page) -> None:
    opened(page, "/ops/exp?view=step")
    point_at(page, 0.75)
    page.mouse.down()
    page.mouse.up()
    shows(page, "/ops/exp")
    expect(cursor(page)).to_be_focused()
    expect(page.locator("#field-at")).not_to_have_value("")
    read, at = cell(page, "x").text_content() or "", page.locator("#field-at").input_value()
    page.mouse.move(5, 5)
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    expect(cell(page, "x")).to_have_text(re.compile(r"^\d"))
    assert float(cell(page, "x").text_content() or "") > float(read)
    page.get_by_role("button", name="numerical", exact=False).first.click()  # it lies on the plot
    expect(page.locator("#plot .scatterlayer path").first).to_be_visible()
    expect(page.locator("#field-at")).to_have_value(at)


def test_the_keyboard_walks_the_curves_and_is_spoken(page: Page) -> None:
    opened(page, "/ops/clamp_with_grad")
    cursor(page).focus()
    expect(cursor(page)).to_have_attribute("aria-valuetext", re.compile(r"^input\s0\.000"))
    for key, x in [("ArrowRight", "0.015"), ("Shift+ArrowRight", "0.165"), ("Home", "−3.000"), ("End", "3.000")]:
        cursor(page).press(key)
        expect(cell(page, "x")).to_contain_text(x[:4])
    assert re.fullmatch(r"input 3.000, y 1, analytical 1, numerical 0( ± \S+)?, they differ.*", spoken(page))
    expect(cell(page, "forward")).to_have_text("1")
    for name, value in [("valuenow", "3"), ("valuemin", "-3"), ("valuemax", "3")]:
        expect(cursor(page)).to_have_attribute(f"aria-{name}", value)
    page.evaluate("() => document.querySelector('[data-set][value=\"-1\"]').click()")
    shows(page, "/ops/clamp_with_grad?grad_output=-1")
    expect(cell(page, "analytical")).to_have_text("0")
    expect(cell(page, "x")).to_have_text("3.000")  # it stays where it is while the curves change


def test_m_goes_from_mark_to_mark(page: Page) -> None:
    opened(page, "/ops/abs_product")
    cursor(page).focus()
    cursor(page).press("Home")
    cursor(page).press("m")
    assert spoken(page).split(", ")[:5] == ["u 0.000", "y 0", "analytical 0", "numerical −2 left", "2 right"]
    assert "−2 to 2 is right" in spoken(page)
    opened(page, "/ops/round_straight_through")
    cursor(page).focus()
    cursor(page).press("Home")
    for x in ("−1.50", "−0.50", "0.50", "1.50", "−1.50"):
        cursor(page).press("m")
        expect(cell(page, "x")).to_have_text(x)
    expect(cell(page, "status")).to_contain_text("forward jumps")
    cursor(page).press("Shift+M")
    expect(cell(page, "x")).to_have_text("1.50")
