"""The figure as one file: it opens from a disk, asks nobody, and its sliders move the curves to what was computed."""

import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect
from support.axe import violations
from support.browser import curves, drag, passes_through, resized, settles, shows, zoom
from support.exports import from_disk, got, words_astray

CLAMP = "/ops/clamp_with_grad.html?sliders=min:7,grad_output:3"


@pytest.fixture(scope="module")
def clamp(server: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with two sliders, saved as a browser would."""
    response = got(server, CLAMP)
    name = re.fullmatch(r'attachment; filename="(\w+\.html)"', response.headers["content-disposition"])
    path = tmp_path_factory.mktemp("stick") / name[1]
    path.write_bytes(response.content)
    return path


def slider(page: Page, name: str) -> Any:
    return page.locator(f"[data-control={name}]").get_by_role("slider", name=name)


def expect_as_served(page: Page, server: str, address: str) -> None:
    """The curves drawn are those that the server has for this address."""
    shows(page, address)
    columns = got(server, address.replace("clamp_with_grad", "clamp_with_grad.json")).json()["columns"]
    drawn = curves(page)
    for name in ("forward", "numerical"):
        assert passes_through(drawn[name], columns["x"], columns[name])


def test_the_sliders_of_a_file_move_the_curves_to_those_of_the_server(
    browser: Browser, server: str, clamp: Path
) -> None:
    with from_disk(browser, clamp) as page:
        expect_as_served(page, server, "/ops/clamp_with_grad")
        slider(page, "min").press("ArrowLeft")
        expect(page.locator("output[name=min]")).to_have_text("−2")
        expect_as_served(page, server, "/ops/clamp_with_grad?min=-2")
        drag(page, slider(page, "grad_output"), 0.0)
        expect(page.locator("output[name=grad_output]")).to_have_text("−1")
        expect(slider(page, "grad_output")).to_have_attribute("aria-valuetext", "−1")
        expect_as_served(page, server, "/ops/clamp_with_grad?min=-2&grad_output=-1")
        expect(page.locator("#verdict .sentence")).to_contain_text("surrogate")
        expect(page.locator("#proof summary")).to_contain_text("but at −2 and 1")
        page.locator("summary", has_text="In words").click()
        expect(page.locator("#summary")).to_contain_text("With grad_output −1, backward returns a gradient")
        expect(page.locator("#marks tbody tr")).to_have_count(2)


def test_a_file_reads_its_curves_by_pointer_keyboard_table_and_ear_and_is_zoomed(browser: Browser, clamp: Path) -> None:
    with from_disk(browser, clamp, reduced_motion="reduce") as page:
        shows(page, "/ops/clamp_with_grad")
        policy = page.locator("meta[http-equiv='Content-Security-Policy']").get_attribute("content") or ""
        assert "default-src 'none'" in policy
        assert not re.search(r"https?:|'self'|unsafe|\*", policy)
        box = page.locator("#canvas").bounding_box()
        page.mouse.move(box["x"] + box["width"] * 0.7, box["y"] + 80)
        expect(page.locator("#reading [data-name=analytical] dd")).to_have_text("1")
        page.get_by_role("slider", name="Trace").press("End")
        expect(page.locator("#reading [data-name=x] dd")).to_have_text(re.compile(r"^3\.0+$"))
        page.locator("#values summary").focus()
        page.keyboard.press("Enter")
        expect(page.locator("#values tbody tr")).to_have_count(23)
        page.get_by_role("button", name="Listen").click()
        expect(page.get_by_role("button", name="Stop")).to_be_visible()
        page.keyboard.press("Escape")
        expect(page.get_by_role("button", name="Listen")).to_be_visible()
        zoom(page, 0.4, 0.7)
        shows(page, "/ops/clamp_with_grad?start=-0.6&stop=1.185")  # among the points that there are
        drawn = curves(page)["forward"][0]
        assert (drawn[0], drawn[-1]) == (-0.6, 1.185)
        page.locator("#unzoom").click()
        shows(page, "/ops/clamp_with_grad")
        assert violations(page) == []


def test_what_is_around_the_curves_of_a_file_lies_beside_them_at_every_width(browser: Browser, clamp: Path) -> None:
    with from_disk(browser, clamp) as page:
        shows(page, "/ops/clamp_with_grad")
        for width in (1280, 700, 360):
            resized(page, width, 700)
            settles(lambda: words_astray(page), [])
            page.wait_for_function("width => document.documentElement.scrollWidth === width", arg=width)
            for name in ("min", "grad_output"):
                expect(slider(page, name)).to_be_in_viewport(ratio=1)


def test_a_file_without_zoom_is_a_picture_that_is_read(browser: Browser, server: str, tmp_path: Path) -> None:
    path = tmp_path / "still.html"
    path.write_bytes(got(server, "/ops/clamp_with_grad.html?hide=zoom").content)
    assert path.stat().st_size < 300_000
    with from_disk(browser, path) as page:
        shows(page, "/ops/clamp_with_grad")
        expect(page.locator("#plot > *")).to_have_count(0)
        curve = page.locator("#still .panel.upper .line.forward").bounding_box()
        page.mouse.move(curve["x"] + curve["width"], curve["y"] + 5)
        expect(page.locator("#reading [data-name=x] dd")).to_have_text(re.compile(r"^3\.0+$"))
        dot = page.locator("#overlay .dot.forward").bounding_box()
        assert dot["y"] + dot["height"] / 2 == pytest.approx(curve["y"], abs=2)  # the end of the curve is its top


def test_a_file_without_its_reading_has_no_values_and_no_sound_and_one_of_order_2_keeps_it(
    browser: Browser, server: str, tmp_path: Path
) -> None:
    path = tmp_path / "sinh.html"
    path.write_bytes(got(server, "/ops/sinh.html?order=2&hide=reading,title&sliders=grad_output:3").content)
    with from_disk(browser, path) as page:
        shows(page, "/ops/sinh?order=2")
        slider(page, "grad_output").press("Home")
        shows(page, "/ops/sinh?grad_output=-1&order=2")
        expect(page.locator("#verdict")).to_contain_text("Double backward returns")
        page.get_by_role("slider", name="Trace").press("h")
        for part in ("#values", "#reading", "#listen", "#heard"):
            expect(page.locator(part)).to_be_hidden()
