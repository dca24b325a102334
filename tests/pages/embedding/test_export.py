"""The figure as one file: it opens from a disk, asks nobody, and its sliders move the curves to what was computed."""

from __future__ import annotations

import asyncio
import json
import re
import threading
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from functions.misbehaving_op import OWN
from playwright.sync_api import Browser, Page, expect
from support import event_loop
from support.browser import curves, drag, resized, settles, shows
from support.exports import from_disk, got, stored, words_astray
from support.own_server import showing

from gradloupe.server.cache import AnswerCache, Visitor
from gradloupe.server.html.assets import STYLE_SHEETS, Assets
from gradloupe.server.html.pages import Pages
from gradloupe.server.protocol.errors import EngineBusy
from gradloupe.server.standalone.export import CONCURRENT_ESTIMATES, CONCURRENT_FILES, ExportWriter
from gradloupe.server.supervisor.engine import Engine
from gradloupe.server.url import Address, BadQuery, default_address

CLAMP = "/ops/clamp_with_grad.html?sliders=min:7,grad_output:3"


@pytest.fixture(scope="module")
def clamp(server: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with two sliders, saved as a browser would."""
    response = got(server, CLAMP)
    name = re.fullmatch(r'attachment; filename="(\w+\.html)"', response.headers["content-disposition"])
    assert name is not None
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
        assert drawn[name][0] == pytest.approx(columns["x"], abs=1e-8)
        assert [y is None for y in drawn[name][1]] == [y is None for y in columns[name]]
        there = [(ours, theirs) for ours, theirs in zip(drawn[name][1], columns[name], strict=True) if ours is not None]
        assert [ours for ours, _ in there] == pytest.approx([theirs for _, theirs in there], rel=1e-6, abs=1e-6)


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
        page.get_by_label("overlaid").check()
        expect(page.locator("figure")).to_have_attribute("data-layout", "overlaid")


def test_a_file_reads_its_curves_by_pointer_keyboard_table_and_ear(browser: Browser, clamp: Path) -> None:
    with from_disk(browser, clamp) as page:
        shows(page, "/ops/clamp_with_grad")
        box = page.locator("#canvas").bounding_box()
        assert box is not None
        page.mouse.move(box["x"] + box["width"] * 0.7, box["y"] + 80)
        expect(page.locator("#reading [data-name=analytical] dd")).to_have_text("1")
        page.get_by_role("slider", name="Trace").focus()
        page.keyboard.press("End")
        expect(page.locator("#reading [data-name=x] dd")).to_have_text(re.compile(r"^3\.0+$"))
        page.locator("#values summary").click()
        expect(page.locator("#values tbody tr")).to_have_count(23)
        page.get_by_role("button", name="Listen").click()
        expect(page.get_by_role("button", name="Stop")).to_be_visible()
        page.keyboard.press("Escape")
        expect(page.get_by_role("button", name="Listen")).to_be_visible()


def test_a_file_is_not_zoomed_and_points_nowhere_else(browser: Browser, clamp: Path) -> None:
    with from_disk(browser, clamp) as page:
        shows(page, "/ops/clamp_with_grad")
        page.evaluate("document.querySelector('#plot').on('plotly_relayout', () => console.error('zoomed'))")
        box = page.locator("#canvas").bounding_box()
        assert box is not None
        page.mouse.move(box["x"] + box["width"] * 0.4, box["y"] + 80)
        page.mouse.down()
        page.mouse.move(box["x"] + box["width"] * 0.7, box["y"] + 90, steps=5)
        page.mouse.up()
        shown = page.evaluate("() => document.querySelector('#plot').layout.xaxis.range")
        assert shown == [-3, 3]
        page.mouse.move(5, 5)
        expect(page.locator("#keys")).to_be_visible()
        expect(page.locator("#keys")).not_to_contain_text("zoom")


def test_legends_and_tools_of_a_file_lie_beside_its_curves_at_every_width(browser: Browser, clamp: Path) -> None:
    with from_disk(browser, clamp) as page:
        shows(page, "/ops/clamp_with_grad")
        for layout in ("stacked", "overlaid"):
            page.get_by_label(layout).check()
            for width in (1280, 700, 390):
                resized(page, width, 800)
                settles(lambda: words_astray(page), [])


def test_in_a_low_frame_the_sliders_of_a_file_are_in_sight_with_its_curves(browser: Browser, clamp: Path) -> None:
    with from_disk(browser, clamp) as page:
        shows(page, "/ops/clamp_with_grad")
        for width in (1280, 700):
            resized(page, width, 560)
            expect(page.locator("#plot .nsewdrag").first).to_be_in_viewport(ratio=1)
            for name in ("min", "grad_output"):
                expect(slider(page, name)).to_be_in_viewport(ratio=1)


def test_a_file_may_fetch_nothing(browser: Browser, clamp: Path) -> None:
    with from_disk(browser, clamp) as page:
        shows(page, "/ops/clamp_with_grad")
        policy = page.locator("meta[http-equiv='Content-Security-Policy']").get_attribute("content") or ""
        assert "default-src 'none'" in policy
        assert not re.search(r"https?:|'self'|unsafe|\*", policy)


def test_a_file_shows_its_figure_without_javascript(browser: Browser, clamp: Path) -> None:
    with from_disk(browser, clamp, java_script_enabled=False) as page:
        expect(page.locator("#still svg").first).to_be_visible()
        expect(page.locator("#verdict .word")).to_have_text("differs by design")
        page.locator("#values summary").click()
        expect(page.locator("#values tbody tr")).to_have_count(23)


def test_a_file_has_the_styles_of_the_page_and_fits_a_phone(browser: Browser, server: str, clamp: Path) -> None:
    assert set(STYLE_SHEETS["op"]) - {"views/companion", "copied", "no_script"} <= set(STYLE_SHEETS["export"])
    with from_disk(browser, clamp) as page:
        page.set_viewport_size({"width": 360, "height": 740})
        shows(page, "/ops/clamp_with_grad")
        page.wait_for_function("document.documentElement.scrollWidth === 360")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_violation_in_a_file(browser: Browser, clamp: Path, scheme: Any) -> None:
    with from_disk(browser, clamp, color_scheme=scheme) as page:
        shows(page, "/ops/clamp_with_grad")
        page.locator("#values summary").click()
        found = Axe().run(page).response["violations"]
        assert [(each["id"], [node["html"] for node in each["nodes"]]) for each in found] == []


def test_a_file_without_its_reading_has_no_values_and_no_sound(browser: Browser, server: str, tmp_path: Path) -> None:
    path = tmp_path / "exp.html"
    path.write_bytes(got(server, "/ops/exp.html?hide=reading,title&sliders=grad_output:3").content)
    with from_disk(browser, path) as page:
        shows(page, "/ops/exp")
        slider(page, "grad_output").press("ArrowRight")
        shows(page, "/ops/exp?grad_output=3")
        page.get_by_role("slider", name="Trace").press("h")
        for part in ("#values", "#reading", "#listen", "#heard"):
            expect(page.locator(part)).to_have_count(0)


def test_what_sections_share_is_kept_once(server: str) -> None:
    answers = stored(got(server, "/ops/clamp_with_grad.html?sliders=grad_output:9").text)
    forward = answers["parts"].index("columns.forward")
    assert len({document[forward] for document in answers["documents"]}) == 1
    assert len({json.dumps(each) for each in answers["pool"]}) == len(answers["pool"])


def test_a_file_is_not_sent_twice(server: str) -> None:
    first = got(server, "/ops/sinh.html")
    again = got(server, "/ops/sinh.html", **{"if-none-match": first.headers["etag"]})
    assert (first.status_code, again.status_code) == (200, 304)


def test_the_address_in_an_answer_is_that_of_what_it_says(server: str) -> None:
    asked = "/ops/exp.json?layout=overlaid&view=map&stop=1.0"
    assert got(server, asked).json()["address"] == "/ops/exp?stop=1&layout=overlaid&view=map"


def test_the_size_of_a_file_is_kept_and_is_nobody_elses(server: str) -> None:
    address = "/ops/sinh.size.json?sliders=grad_output:3"
    told = got(server, address, origin="https://school.example")
    assert "access-control-allow-origin" not in told.headers
    assert told.headers["cache-control"] == "public, max-age=0, s-maxage=60"
    assert got(server, address, **{"if-none-match": told.headers["etag"]}).status_code == 304


Run = Callable[[ExportWriter, dict[str, Any], dict[str, Any], Address], Awaitable[None]]


def with_exports(run: Run, seconds: float, patience: float = 60) -> None:
    """Calls ``run`` with what has ``seconds`` for each file, and the question for a file with sliders."""

    async def main() -> None:
        engine, assets = Engine.spawn(), Assets()
        await engine.connect()
        try:
            op, device = (await engine.catalogue())["clamp_with_grad"], await engine.device()
            address = replace(default_address(op), sliders=(("min", 9), ("grad_output", 9)))
            await run(ExportWriter(AnswerCache(engine), Pages(assets), assets, seconds, patience), op, device, address)
        finally:
            await engine.close()

    event_loop.run(main())


async def stays() -> bool:
    return False


def visitor(number: int) -> Visitor:
    return Visitor(f"192.0.2.{number}", stays)


def test_a_file_and_its_size_have_so_many_seconds_and_no_more() -> None:
    async def run(exports: ExportWriter, op: dict[str, Any], device: dict[str, Any], address: Address) -> None:
        for _ in range(CONCURRENT_ESTIMATES + 1):  # each place is free again
            with pytest.raises(BadQuery, match=r"could not be computed in 0\.05 s; give fewer values"):
                await exports.size(op, device, address, visitor(1))
            with pytest.raises(BadQuery, match="give fewer values"):
                await exports.file(op, device, address, "", visitor(1))
        with pytest.raises(EngineBusy):  # without a slider there is nothing to give less of
            await exports.file(op, device, replace(default_address(op), question=slow(op)), "", visitor(1))

    def slow(op: dict[str, Any]) -> Any:
        return replace(default_address(op).question, count=5001)

    with_exports(run, 0.05)


def test_there_are_places_for_so_many_files_and_sizes_at_once() -> None:
    async def run(exports: ExportWriter, op: dict[str, Any], device: dict[str, Any], address: Address) -> None:
        asked = [exports.file(op, device, address, "", visitor(n)) for n in range(CONCURRENT_FILES + 1)]
        asked += [exports.size(op, device, address, visitor(n)) for n in range(CONCURRENT_ESTIMATES + 1)]
        found = await asyncio.gather(*asked, return_exceptions=True)
        refused = [place for place, each in enumerate(found) if isinstance(each, EngineBusy)]
        assert refused == [CONCURRENT_FILES, CONCURRENT_FILES + 1 + CONCURRENT_ESTIMATES]
        assert len([each for each in found if isinstance(each, tuple)]) == CONCURRENT_FILES + CONCURRENT_ESTIMATES

    with_exports(run, 60, patience=0.0)


def test_a_visitor_has_one_place_and_who_finds_none_waits() -> None:
    async def run(exports: ExportWriter, op: dict[str, Any], device: dict[str, Any], address: Address) -> None:
        plain, ended = replace(address, sliders=()), []

        async def file(whose: Visitor, of: Address) -> None:
            assert (await exports.file(op, device, of, "", whose))[1]
            ended.append(whose.address)

        await asyncio.gather(*(file(visitor(1), each) for each in (address, address)), file(visitor(2), plain))
        assert ended == ["192.0.2.2", "192.0.2.1", "192.0.2.1"]
        await asyncio.gather(*(file(visitor(n), plain) for n in range(6)))

    with_exports(run, 60)


def test_a_file_of_a_failure_is_not_kept(tmp_path: Path) -> None:
    with showing(tmp_path, text=OWN) as server:
        file = server.get("/ops/Misbehaving.html?deed=raise&sliders=grad_output:2")
        assert file.headers["cache-control"] == "no-store"
        assert stored(file.text)["documents"]
        size = server.get("/ops/Misbehaving.size.json?deed=raise&sliders=grad_output:2")
        assert size.headers["cache-control"] == "no-store"


def test_others_are_served_while_a_file_is_made(server: str) -> None:
    made = threading.Thread(target=got, args=(server, "/ops/square.html?sliders=grad_output:41&count=3001"))
    made.start()
    served = 0
    while made.is_alive():
        assert got(server, f"/ops/exp.json?count={300 + served}").status_code == 200
        served += 1
    assert served > 5
