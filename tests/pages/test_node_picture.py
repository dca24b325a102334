"""The node on the page: its picture, the tables that say the same, and the place it is looked at."""

import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect
from support.browser import here, opened, place_of, shows

SIDEWAYS = "() => document.documentElement.scrollWidth - innerWidth"
BOXES = """() => [...document.querySelectorAll('.graph .vertex')].map(each => {
const { x, y, width, height } = each.getBBox(); return [x, y, x + width, y + height] })"""


def texts(page: Page, role: str) -> list[str]:
    """What is written in the picture."""
    return page.locator(f".graph {role}").all_text_contents()


def test_the_picture_shows_the_way_forward_and_what_came_back(page: Page) -> None:
    opened(page, "/ops/replace_grad?view=node")
    assert set(texts(page, ".called")) == {"x_forward", "x_backward", "ReplaceGrad", "y"}
    assert sorted(texts(page, ".node")) == ["AccumulateGrad", "AccumulateGrad", "ReplaceGradBackward"]
    assert sorted(texts(page, ".label")) == ["1", "1", "None"]
    assert (page.locator(".graph .way.back").count(), page.locator(".graph .way.back.none").count()) == (3, 1)
    expect(page.get_by_role("img", name="into ReplaceGrad")).to_be_visible()
    expect(page.locator("#companion-panel .legend")).to_contain_text("None came back")


def test_tables_say_what_arrived_what_left_what_is_kept_and_what_needs_no_gradient_is_dashed(page: Page) -> None:
    opened(page, "/ops/functional_linear?view=node")
    rows = page.get_by_role("table", name="Into forward, out of backward").get_by_role("row").all_inner_texts()
    assert "[2, 2, 3] float64" in rows[2]
    assert rows[2].rstrip().endswith("[2, 3] float64")
    kept = page.get_by_role("table", name="Saved for backward").get_by_role("row").all_inner_texts()
    _, _, size, shared, released = kept[3].split("\t")
    assert (size, shared.split(",")[0], released) == ("16", "shared with bias", "never")
    page.locator("summary", has_text="The graph as a table").click()
    expect(page.get_by_role("row", name="FunctionalLinear y [2, 2] [2, 2]")).to_be_visible()
    opened(page, "/ops/clamp_with_grad?view=node")
    assert texts(page, ".constant text") == ["min = −1", "max = 1"]
    dashes = page.locator(".graph .way.constant").evaluate("way => getComputedStyle(way).strokeDasharray")
    assert dashes != "none"


def test_a_click_in_the_figure_moves_the_place(page: Page) -> None:
    opened(page, "/ops/incorrect_clipped_relu?view=node")
    box = place_of(page.locator("#canvas .nsewdrag[data-subplot='xy']"))
    page.mouse.click(box["x"] + 0.9 * box["width"], box["y"] + 60)
    expect(page).to_have_url(re.compile("&at="))
    shows(page, here(page))
    at = float(page.locator("#field-at").input_value().replace("−", "-"))
    assert at == pytest.approx(2.6, abs=0.2)
    value = page.get_by_role("table", name="Into forward, out of backward").get_by_role("row").nth(1)
    expect(value).to_contain_text(f"{at:g}"[:4])


def test_nothing_in_the_picture_overlaps(page: Page) -> None:
    page.set_viewport_size({"width": 360, "height": 800})
    for op in ("functional_linear", "fused_multiply_add"):
        opened(page, f"/ops/{op}?view=node")
        boxes: list[Any] = page.evaluate(BOXES)
        across = {round((left + right) / 2) for left, _, right, _ in boxes}
        assert page.evaluate(SIDEWAYS) <= 0
        assert [
            (a, b)
            for i, a in enumerate(boxes)
            for b in boxes[:i]
            if a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]
        ] == []
        assert len(across) == 3  # three inputs beside each other, or one layer after the other
