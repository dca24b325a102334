"""The Jacobian on the page: three heatmaps that are read and walked, cells that open, and what reaches what."""

import re
from collections.abc import Iterator

import pytest
from functions.jacobian_ops import BLOCKS, FORGETFUL, HALF_SOFTMAX
from playwright.sync_api import Browser, Page, expect
from support.browser import alone, opened, place_of, resized, settles, shows
from support.own_server import showing_all
from support.servers import Server

MAPS = "#companion-panel .pictures svg.panel"
# The colours of what is painted over a point of a map, as shares of it.
COLORS = """(map, [x, y]) => { const box = map.viewBox.baseVal, point = new DOMPoint(x * box.width, y * box.height);
return [...map.querySelectorAll("path[class]")].filter(path => path.isPointInFill(point)).map(path =>
path.getAttribute("class")) }"""


def reads(page: Page, words: str) -> None:
    """Waits until the reading begins with these words."""
    expect(page.locator("#jacobian-reading")).to_have_text(re.compile(rf"^\s*{re.escape(words)}"))


def colors(page: Page, place: int, row: float, column: float) -> list[str]:
    """How a cell of one of the three maps, of four rows and columns, is painted."""
    found: list[str] = page.locator(MAPS).nth(place).evaluate(COLORS, [(column + 0.5) / 4, (row + 0.5) / 4])
    return found


def stacked(tops: list[float]) -> bool:
    """Whether one map begins below the other."""
    return tops == sorted(set(tops)) and len(tops) == 3


@pytest.fixture(scope="module")
def special(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server with a wrong softmax, a Function that cannot bear None, and a Jacobian of 100 by 150."""
    files = {"half_softmax.py": HALF_SOFTMAX, "forgetful.py": FORGETFUL, "blocks.py": BLOCKS}
    with showing_all(tmp_path_factory.mktemp("jacobians"), files) as server:
        yield server


def test_a_backward_that_cannot_bear_none_is_a_result_and_a_wrong_index_refused(special: Server) -> None:
    document = special.get("/ops/Forgetful.json?view=jacobian").json()
    losses = {each["name"]: each for each in document["influence"]["losses"]}
    assert "NoneType" in losses["double"]["failure"]
    assert "set_materialize_grads(False)" in losses["double"]["sentence"]
    assert (losses["both"]["failure"], losses["both"]["links"]) == (None, [["arrives"], ["arrives"]])
    assert document["failure"]["phase"] == "backward"
    assert document["columns"]["numerical"] == pytest.approx([2.0], abs=1e-12)
    assert document["columns"]["returned"] is None
    response = special.get("/ops/Blocks.json?view=jacobian&of=y[0,100]")
    assert response.status_code == 422
    assert "y[0,0] to y[0,99]" in response.json()["detail"]


def test_the_maps_are_coloured_read_walked_and_opened(browser: Browser, special: Server) -> None:
    with alone(browser, special.url) as page:
        opened(page, "/ops/HalfSoftmax?view=jacobian")
        expect(page.locator("#companion-sentence")).to_contain_text("diagonal")
        assert [colors(page, 0, row, 3)[-1] for row in (0, 3)] == ["f-negative", "f-positive"]
        blank, off = (colors(page, 2, row, 3) for row in (3, 0))
        assert blank == []
        assert off[-1] == "f-positive"
        box = place_of(page.locator(MAPS).nth(1))
        x, y = box["x"] + box["width"] * 1.5 / 4, box["y"] + box["height"] * 2.5 / 4
        page.mouse.move(x, y)
        reads(page, "y[0,2] by x[0,1]")
        expect(page.locator("#jacobian-reading")).to_have_text(re.compile("returned 0 .*They differ\\.$"))
        page.mouse.click(x, y)
        shows(page, "/ops/HalfSoftmax?wrt=x[0,1]&of=y[0,2]")
        shows(page, "/ops/HalfSoftmax?wrt=x[0,1]&of=y[0,2]&view=jacobian")
        page.locator("#companion-panel .pictures").focus()
        page.keyboard.press("ArrowUp")
        page.keyboard.press("End")
        reads(page, "y[0,1] by x[0,3]:")
        page.keyboard.press("Enter")
        shows(page, "/ops/HalfSoftmax?wrt=x[0,3]&of=y[0,1]")
        page.get_by_role("button", name="Worst").click()
        expect(page.get_by_role("button", name="Worst")).to_have_count(0)
        resized(page, 360, 740)  # where the maps stand one below the other
        settles(lambda: stacked([map.bounding_box()["y"] for map in page.locator(MAPS).all()]), True)


@pytest.mark.nightly
def test_a_large_jacobian_is_walked_block_by_block(browser: Browser, special: Server) -> None:
    with alone(browser, special.url) as page:
        opened(page, "/ops/Blocks?view=jacobian")
        panel = page.locator("#companion-panel")
        expect(panel).to_contain_text("rows 0–63 of 100")
        expect(page.locator("#companion-sentence")).to_contain_text("y[0,90] by x[0,140]")
        page.get_by_role("button", name="next columns").click()
        expect(panel).to_contain_text("columns 64–127 of 150")
        reads(page, "y[0,0] by x[0,64]")
        page.get_by_role("button", name="Worst: y[0,90] by x[0,140]").click()
        expect(panel).to_contain_text("rows 64–99 of 100")
        expect(panel).to_contain_text("columns 128–149 of 150")
        expect(page.get_by_role("button", name="next rows")).to_be_disabled()


def test_the_picture_of_influence_follows_the_loss_and_the_pair_of_tensors(page: Page) -> None:
    opened(page, "/ops/image_alpha?view=jacobian")
    arrives = page.get_by_role("img", name="Inputs on the left, outputs on the right.").locator(".link.arrives")
    expect(arrives).to_have_count(4)
    page.locator(".choices label", has_text="alpha").click()
    expect(arrives).to_have_count(1)
    expect(page.locator("#companion-panel .told")).to_contain_text("loss on alpha")
    expect(page.locator(".influence").get_by_role("row")).to_have_count(4)
    page.get_by_label("derivative of").last.select_option("alpha")
    shows(page, "/ops/image_alpha?of=alpha&view=jacobian")
    expect(page.locator(".choices :checked")).to_have_value("alpha")
    opened(page, "/ops/replace_grad?view=jacobian")
    for link in ("dropped", "unfounded"):
        expect(page.locator(f".influence-picture .link.{link}")).to_have_count(1)
