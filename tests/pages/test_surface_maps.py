"""The maps of a surface on the page: linked, read, clicked, zoomed, and for everybody."""

import re
from typing import Any

import pytest
from playwright.sync_api import FloatRect, Page, expect
from support.browser import opened, place_of, shows

MAPS = ("forward", "returned", "numerical", "difference")
DRAWN = """map => {
const {data, layout, _fullLayout: {xaxis, yaxis}} = document.querySelector(`[data-map=${map}] .map`);
return {x: xaxis.range, y: yaxis.range, heat: data[0], names: data.map(({name}) => name), shapes: layout.shapes,
  arrows: data.find(({name}) => name === 'arrows')} }"""
HEIGHT = """([map, row, column, value]) =>
Math.abs(document.querySelector(`[data-map=${map}] .map`).data[0].z[row][column] - value) <= 1e-6"""
HAIRLINES = ".panel path.hairline:not([hidden])"


def height_at(page: Page, name: str, row: int, column: int, value: float) -> None:
    """Waits until a map has this number there."""
    page.wait_for_function(HEIGHT, arg=[name, row, column, value])


def drawn(page: Page, name: str) -> dict[str, Any]:
    found: dict[str, Any] = page.evaluate(DRAWN, name)
    return found


def inner(page: Page, name: str) -> FloatRect:
    """Where the panel of a map is, brought into sight."""
    return place_of(page.locator(f"[data-map={name}] .nsewdrag"))


def test_four_maps_have_equal_axes_both_gradients_one_scale_and_one_component(page: Page) -> None:
    opened(page, "/ops/abs_product")
    page.locator(".looks label", has_text="Surface").click()
    shows(page, "/ops/abs_product?view=surface")
    maps = {name: drawn(page, name) for name in MAPS}
    assert len({tuple(each["x"] + each["y"]) for each in maps.values()}) == 1
    returned, numerical = maps["returned"]["heat"], maps["numerical"]["heat"]
    assert (returned["zmin"], returned["zmax"]) == (numerical["zmin"], numerical["zmax"])
    assert (returned["zmin"], returned["zmax"]) == pytest.approx((-3, 3), rel=1e-9)
    assert (returned["z"][0][0], returned["z"][0][-1]) == (-3, 3)
    assert {value for row in maps["difference"]["heat"]["z"] for value in row} == {None}
    assert maps["forward"]["names"] == ["heat", "forward", "ridges", "arrows"]
    arrows = maps["forward"]["arrows"]["x"].count(None)
    assert 100 < arrows <= 16 * 16
    assert [each["y0"] for each in maps["returned"]["shapes"] if each["type"] == "line"] == [2, 2]
    expect(page.locator("#companion-sentence")).to_contain_text("one function")
    page.get_by_role("radio", name="∂/∂v").check()
    expect(page.locator("[data-map=returned] strong")).to_have_text("returned, ∂/∂v")
    for name in ("returned", "numerical"):
        height_at(page, name, 30, 60, 0)
    height_at(page, "returned", 60, 60, 3)
    page.get_by_role("radio", name="length").check()
    expect(page.locator("[data-map=returned] strong")).to_have_text("returned, length")
    height_at(page, "returned", 60, 60, 18**0.5)
    expect(page.locator("[data-map=difference] .key")).to_contain_text("none")
    page.locator(".looks label", has_text="Area").click()  # another look takes the maps away
    shows(page, "/ops/abs_product?view=area")
    expect(page.locator("[data-map]")).to_have_count(0)


def test_the_pointer_reads_all_maps_a_click_holds_the_point_and_an_arrow_key_moves_it(page: Page) -> None:
    opened(page, "/ops/abs_product?view=surface")
    box = inner(page, "numerical")
    x, y = box["x"] + box["width"] * (0.5 + 10 / 61), box["y"] + box["height"] * (0.5 + 15 / 61)
    page.mouse.move(x, y)
    reading = page.locator(".panel .reading")
    expect(reading).to_contain_text("u = 1.0, v = −1.5")
    expect(reading).to_contain_text("returned")
    expect(page.locator(HAIRLINES)).to_have_count(8)
    page.mouse.click(x, y)
    shows(page, "/ops/abs_product?v=-1.5")
    shows(page, "/ops/abs_product?v=-1.5&view=surface")
    expect(page.locator("#field-v")).to_have_value("−1.5")
    assert [each["y0"] for each in drawn(page, "forward")["shapes"] if each["type"] == "line"] == [-1.5, -1.5]
    page.mouse.move(5, 5)
    page.get_by_role("application").press("ArrowUp")
    expect(page.locator("#field-v")).to_have_value("−1.4")
    expect(reading).to_contain_text("v = −1.4")
    expect(page.locator(HAIRLINES)).to_have_count(8)


def test_a_drag_zooms_all_maps_and_the_curves_and_a_double_click_goes_back(page: Page) -> None:
    opened(page, "/ops/abs_product?view=surface")
    box = inner(page, "forward")
    page.mouse.move(box["x"] + box["width"] * 0.5, box["y"] + box["height"] * 0.9)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.9, box["y"] + box["height"] * 0.5, steps=4)
    page.mouse.up()
    expect(page.locator("html")).to_have_attribute("data-ready", re.compile("start=.*&view=surface.*&stop2="))
    x, y = drawn(page, "difference")["x"], drawn(page, "difference")["y"]
    assert (x[0], x[1], y[0], y[1]) == pytest.approx((0, 2.4, -2.4, 0), abs=0.1)
    stop = page.evaluate("() => document.querySelector('#plot')._fullLayout.xaxis.range[1]")
    assert stop == pytest.approx(2.4, abs=0.1)
    box = inner(page, "forward")
    page.mouse.dblclick(box["x"] + box["width"] * 0.3, box["y"] + box["height"] / 3)
    expect(page.locator("#field-start2")).to_have_value("")
    shows(page, "/ops/abs_product?view=surface")
    expect(page).to_have_url(re.compile("/ops/abs_product[?]view=surface$"))  # the point that is held has not moved


def test_another_element_is_chosen_by_the_field_or_in_the_table_of_pairs(page: Page) -> None:
    opened(page, "/ops/image_alpha?view=surface")
    page.locator("#field-wrt2").select_option("a")
    shows(page, "/ops/image_alpha?view=surface&wrt2=a")
    expect(page.locator("#field-wrt2 option:text-is('b')")).to_be_disabled()
    page.get_by_role("button", name="a, c").click()
    shows(page, "/ops/image_alpha?wrt=a&view=surface&wrt2=c")
    expect(page.get_by_role("table", name="Every pair of elements").get_by_role("row")).to_have_count(4)
    page.goto("/ops/exp?view=surface")  # of one number there are no maps
    expect(page.locator("#companion-sentence")).to_contain_text("a surface takes two")
    expect(page.locator("[data-map]")).to_have_count(0)
    expect(page.locator("#field-wrt2")).to_be_hidden()
