"""The Jacobian on the page: three heatmaps that are read and walked, cells that open, and what reaches what."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from axe_playwright_python.sync_playwright import Axe
from functions.jacobian_ops import BLOCKS, FORGETFUL, HALF_SOFTMAX
from playwright.sync_api import Browser, FloatRect, Page, expect
from support import http
from support.answers import answer
from support.browser import alone, place_of, shows
from support.own_server import showing_all
from support.servers import Server

from gradloupe.server.catalogue.op_description import parse_element
from gradloupe.server.protocol.question import Question

COLOR = """([x, y]) => { const seen = document.createElement('canvas').getContext('2d');
seen.drawImage(document.querySelector('#companion-panel canvas'), -x * devicePixelRatio, -y * devicePixelRatio);
return [...seen.getImageData(0, 0, 1, 1).data.slice(0, 3)]; }"""
MAPS = "() => document.querySelector('#companion-panel canvas').maps"
HERE = {"kill_head": ("x[0,3]", "y[0,3]"), "image_alpha": ("b", "img")}


def ask(op: str, wrt: str, of: str, **more: Any) -> Any:
    """The header and the columns of the view."""
    return answer(Question(op, parse_element(wrt), parse_element(of), -3.0, 3.0, view="jacobian", **more))


def asked(page: Page, address: str) -> None:
    page.goto(address)
    expect(page.locator("html")).to_have_attribute("data-ready", address, timeout=20_000)


def reads(page: Page, words: str) -> None:
    """Waits until the reading begins with these words."""
    expect(page.locator("#jacobian-reading")).to_have_text(re.compile(rf"^\s*{re.escape(words)}"))


def spot(page: Page, place: int, row: float, column: float, shape: tuple[int, int]) -> tuple[float, float]:
    """The middle of a cell of one of the three maps, on the canvas."""
    box = page.evaluate(MAPS)[place]
    return box["x"] + box["w"] * (column + 0.5) / shape[1], box["y"] + box["h"] * (row + 0.5) / shape[0]


def canvas(page: Page) -> FloatRect:
    return place_of(page.locator("#companion-panel canvas"))


def test_the_answer_has_every_cell_by_name_and_number() -> None:
    header, columns = ask("kill_head", *HERE["kill_head"])
    assert (header["rows"]["shape"], header["across"]["count"], header["pattern"]) == ([3, 8], 24, "diagonal")
    killed = np.diag(np.tile([0.0, 0.0, 1, 1, 1, 1, 1, 1], 3)).ravel()
    assert columns["numerical"] == pytest.approx(killed, abs=1e-12)
    assert (columns["returned"] == killed).all()
    assert (columns["row"][25], columns["column"][25]) == (1, 1)
    assert (header["differs"], header["worst"], header["elsewhere"]) == (0, None, None)


@pytest.mark.parametrize("grad_output", [-2.0, 0.0, 5.0])
def test_numbers_are_per_unit_of_grad_output(grad_output: float) -> None:
    _, columns = ask("kill_head", *HERE["kill_head"], grad_output=grad_output)
    assert columns["returned"].max() == 1


def test_the_table_calls_cells_by_their_elements(server: str) -> None:
    text = http.get(f"{server}/ops/kill_head.csv?view=jacobian").text
    rows = list(csv.DictReader(io.StringIO(text)))
    assert len(rows) == 576
    assert (rows[25]["row"], rows[25]["column"], rows[25]["status"]) == ("y[0,1]", "x[0,1]", "agrees")


def test_the_place_moves_the_swept_element_and_nothing_else() -> None:
    header, columns = ask("softmax", "x[0,1]", "y[0,0]", at=2.0)
    held, _ = ask("softmax", "x[0,1]", "y[0,0]")
    assert header["at"] == 2
    assert held["at"] != 2
    assert columns["numerical"].reshape(4, 4).sum(axis=0) == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize(
    ("loss", "arrives", "silent"),
    [("img", {"a", "b", "c"}, set()), ("alpha", {"b"}, {"a", "c"}), ("both", {"a", "b", "c"}, set())],
)
def test_image_and_alpha_reach_what_they_depend_on(loss: str, arrives: set[str], silent: set[str]) -> None:
    header, _ = ask("image_alpha", *HERE["image_alpha"])
    seen = header["influence"]
    (told,) = [each for each in seen["losses"] if each["name"] == loss]
    by_input = {name: {row[place] for row in told["links"]} for place, name in enumerate(seen["inputs"])}
    assert {name for name, links in by_input.items() if "arrives" in links} == arrives
    assert {name for name, links in by_input.items() if links == {"nothing"}} == silent
    assert told["failure"] is None


def test_gradients_that_are_dropped_or_unfounded_are_told_apart() -> None:
    header, _ = ask("replace_grad", "x_backward", "y")
    (loss,) = header["influence"]["losses"]
    assert loss["links"] == [["dropped", "unfounded"]]
    assert loss["returned"] == ["None", "gradient"]
    assert (
        "y moves with x_forward, but what comes back is None, which autograd takes for 0: dropped." in loss["sentence"]
    )
    assert header["designed"] is True


def test_an_integer_output_and_a_parameter_are_answers() -> None:
    header, _ = ask("max_pool_with_indices", "x[0,0]", "index[0,0]")
    assert "which carry no gradient" in header["sentence"]
    header, columns = ask("clamp_with_grad", "min", "y")
    assert "numerical sensitivity only" in header["sentence"]
    assert "returned" not in columns


@pytest.fixture(scope="module")
def special(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server with a wrong softmax, a Function that cannot bear None, and a Jacobian of 100 by 150."""
    ops = {"half_softmax": HALF_SOFTMAX, "forgetful": FORGETFUL, "blocks": BLOCKS}
    files = {f"{name}.py": text.replace("from .op import", "from gradloupe.ops import") for name, text in ops.items()}
    with showing_all(tmp_path_factory.mktemp("jacobians"), files) as server:
        yield server


def test_a_backward_that_cannot_bear_none_is_a_result(special: Server) -> None:
    document = special.get("/ops/Forgetful.json?view=jacobian").json()
    losses = {each["name"]: each for each in document["influence"]["losses"]}
    assert "NoneType" in losses["double"]["failure"]
    assert "set_materialize_grads(False)" in losses["double"]["sentence"]
    assert losses["both"]["failure"] is None
    assert losses["both"]["links"] == [["arrives"], ["arrives"]]
    assert document["failure"]["phase"] == "backward"
    assert document["columns"]["numerical"] == pytest.approx([2.0], abs=1e-12)
    assert document["columns"]["returned"] is None


def test_a_wrong_index_is_refused_with_what_is_allowed(special: Server) -> None:
    response = special.get("/ops/Blocks.json?view=jacobian&of=y[0,100]")
    assert response.status_code == 422
    assert "allowed are y[0,0] to y[0,99]" in response.json()["detail"]


def test_the_maps_are_coloured_read_walked_and_opened(browser: Browser, special: Server) -> None:
    with alone(browser, special.url) as page:
        asked(page, "/ops/HalfSoftmax?view=jacobian")
        shape = (4, 4)
        expect(page.locator("#companion-sentence")).to_contain_text("backward returns the diagonal alone")
        low, high = (page.evaluate(COLOR, [*spot(page, 0, row, 3, shape)]) for row in (0, 3))
        assert low[0] > low[2]  # negative is brown, positive is blue
        assert high[2] > high[0]
        blank, off = (page.evaluate(COLOR, [*spot(page, 2, row, 3, shape)]) for row in (3, 0))
        assert blank == [254, 254, 253]
        assert off[2] > off[0]
        box = canvas(page)
        x, y = spot(page, 1, 2, 1, shape)
        page.mouse.move(box["x"] + x, box["y"] + y)
        reads(page, "y[0,2] by x[0,1]")
        expect(page.locator("#jacobian-reading")).to_have_text(re.compile("returned 0 .*They differ\\.$"))
        page.mouse.click(box["x"] + x, box["y"] + y)
        shows(page, "/ops/HalfSoftmax?wrt=x[0,1]&of=y[0,2]")
        expect(page.locator("html")).to_have_attribute(
            "data-ready", "/ops/HalfSoftmax?wrt=x[0,1]&of=y[0,2]&view=jacobian", timeout=20_000
        )
        page.locator("#companion-panel canvas").focus()
        page.keyboard.press("ArrowUp")
        page.keyboard.press("End")
        reads(page, "y[0,1] by x[0,3]:")
        page.keyboard.press("Enter")
        shows(page, "/ops/HalfSoftmax?wrt=x[0,3]&of=y[0,1]")
        page.get_by_role("button", name="Worst").click()
        expect(page.get_by_role("button", name="Worst")).to_have_count(0)


def test_a_large_jacobian_is_walked_block_by_block(browser: Browser, special: Server) -> None:
    with alone(browser, special.url) as page:
        asked(page, "/ops/Blocks?view=jacobian")
        panel = page.locator("#companion-panel")
        expect(panel).to_contain_text("rows 0–63 of 100")
        expect(panel).to_contain_text("columns 0–63 of 150")
        expect(page.locator("#companion-sentence")).to_contain_text(
            "A quicker check of all 100 × 150 cells found 1 in which it differs, most at y[0,90] by x[0,140]"
        )
        page.get_by_role("button", name="next columns").click()
        expect(panel).to_contain_text("columns 64–127 of 150")
        reads(page, "y[0,0] by x[0,64]")
        page.get_by_role("button", name="Worst: y[0,90] by x[0,140]").click()
        expect(panel).to_contain_text("rows 64–99 of 100")
        expect(panel).to_contain_text("columns 128–149 of 150")
        expect(page.locator("#jacobian-reading")).to_contain_text("They differ.")
        expect(page.get_by_role("button", name="next rows")).to_be_disabled()


def test_the_picture_of_influence_follows_the_loss_and_the_pair_of_tensors(page: Page) -> None:
    asked(page, "/ops/image_alpha?view=jacobian")
    picture = page.get_by_role("img", name="Inputs on the left, outputs on the right.")
    expect(picture.locator(".link.arrives")).to_have_count(4)
    page.locator(".losses label", has_text="alpha").click()
    expect(picture.locator(".link.arrives")).to_have_count(1)
    expect(page.locator("#companion-panel .told")).to_have_text(
        "With the loss on alpha alone, a gradient arrives at b. a and c have no influence here, and no gradient."
    )
    expect(page.locator(".influence").get_by_role("row")).to_have_count(4)
    page.get_by_label("derivative of").last.select_option("alpha")
    expect(page.locator("html")).to_have_attribute(
        "data-ready", "/ops/image_alpha?of=alpha&view=jacobian", timeout=20_000
    )
    expect(page.locator(".losses :checked")).to_have_value("alpha")
    asked(page, "/ops/replace_grad?view=jacobian")
    expect(page.locator(".influence-picture .link.dropped")).to_have_count(1)
    expect(page.locator(".influence-picture .link.unfounded")).to_have_count(1)
    expect(page.locator(".influence table.unseen")).to_have_count(0)
    asked(page, "/ops/exp?view=jacobian")
    expect(page.locator(".influence table")).to_have_class("unseen")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("op", ["kill_head", "replace_grad"])
def test_on_a_phone_nothing_is_wider_than_it_and_axe_finds_nothing(page: Page, op: str, scheme: str) -> None:
    page.set_viewport_size({"width": 360, "height": 740})
    # Without motion what is drawn is never half faded in.
    page.emulate_media(color_scheme="dark" if scheme == "dark" else "light", reduced_motion="reduce")
    asked(page, f"/ops/{op}?view=jacobian")
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 360
    tops = [each["y"] for each in page.evaluate(MAPS)]
    assert tops == sorted(tops)
    assert len(set(tops)) == 3
    found = Axe().run(page).response["violations"]
    assert [(each["id"], [node["html"] for node in each["nodes"]]) for each in found] == []
