"""The picture that the server draws is the figure that the browser draws: the same ranges, labels and curves."""

from __future__ import annotations

import random
import re
from typing import Any

import pytest
from functions.seeds import SEEDS
from playwright.sync_api import Page
from support import http
from support.scenes import MADE_UP, document, finite, frame

from gradloupe.server.figure.scene import Axis, Scene, build_scene
from gradloupe.server.figure.ticks import fitting_ticks, ticks

ADDRESSES = (
    *(f"/ops/{name}.json" for name in SEEDS),
    "/ops/clamp_with_grad.json?grad_output=-1",
    "/ops/exp.json?start=-700&stop=700",
    "/ops/exp.json?start=0.99999999&stop=1.00000001",
    "/ops/exp.json?grad_output=1e200",
    "/ops/exp.json?grad_output=-3e-7",
    "/ops/sinh.json?dtype=float16&count=101",
    "/ops/round_straight_through.json?start=-9.3&stop=8.1&count=500",
)
FIGURE = """async ([files, answer, layout, width]) => {
  const { figure } = await import(`${files}/js/figure/figure.js`);
  const palette = { size: 13, family: "serif" };
  const view = { layout, width, height: 500, rem: 16, gap: 40, held: null, zoomable: false, titles: true, at: null };
  return figure(answer, view, palette);
}"""
TICKS = """async ([files, asked]) => {
  const { fittingTicks, ticks } = await import(`${files}/js/figure/axes.js`);
  return asked.map(([low, high, count, room]) => [ticks([low, high], count), fittingTicks([low, high], count, room)]);
}"""
WIDE, NARROW = 800, 400


@pytest.fixture(scope="module")
def files(server: str) -> str:
    """Where the modules lie."""
    found = re.search(r"/static/\w+", http.get(f"{server}/").text)
    assert found
    return found[0]


def drawn_by_the_browser(page: Page, files: str, answer: dict[str, Any], layout: str, width: int) -> dict[str, Any]:
    if page.url == "about:blank":
        page.goto("/favicon.ico")
    figure: dict[str, Any] = page.evaluate(FIGURE, [files, answer, layout, width])
    return figure


def check(page: Page, files: str, answer: dict[str, Any], layout: str) -> None:
    wide = drawn_by_the_browser(page, files, answer, layout, WIDE)
    narrow = drawn_by_the_browser(page, files, answer, layout, NARROW)
    found = build_scene(frame(answer), layout)
    same_axis(found.many, wide["layout"]["xaxis"])
    same_axis(found.few, narrow["layout"]["xaxis"])
    same_axis(found.upper, wide["layout"]["yaxis"])
    assert (found.lower is None) == ("yaxis2" not in wide["layout"])
    if found.lower:
        same_axis(found.lower, wide["layout"]["yaxis2"])
    assert wide["layout"]["margin"]["l"] == round(16 * found.left)
    assert stripes(found) == [(each["x0"], each["x1"], each["opacity"]) for each in wide["layout"]["shapes"]]
    same_layers(found, wide["data"])


def same_axis(axis: Axis, plotted: dict[str, Any]) -> None:
    assert list(axis.span) == plotted["range"]
    assert [tick.value for tick in axis.ticks] == plotted["tickvals"]
    assert [tick.text for tick in axis.ticks] == plotted["ticktext"]
    assert axis.words == plotted["title"]["text"]


def stripes(found: Scene) -> list[tuple[float, float, float]]:
    panels = 1 if found.lower is None else 2
    return [(low, high, found.opacity) for low, high in found.stripes for _ in range(panels)]


def same_layers(found: Scene, plotted: list[dict[str, Any]]) -> None:
    assert [layer.name for layer in found.layers] == [trace["name"] for trace in plotted]
    for layer, trace in zip(found.layers, plotted, strict=True):
        assert finite(layer.x) == finite(trace["x"]), layer.name
        assert finite(layer.y) == finite(trace["y"]), layer.name
        assert (found.axis(layer) is found.lower) == (trace["yaxis"] == "y2"), layer.name


@pytest.mark.parametrize("layout", ["stacked", "overlaid"])
@pytest.mark.parametrize("address", ADDRESSES)
def test_a_section_is_the_same_scene(page: Page, server: str, files: str, address: str, layout: str) -> None:
    check(page, files, document(server, address), layout)


@pytest.mark.parametrize("layout", ["stacked", "overlaid"])
@pytest.mark.parametrize("name", MADE_UP)
def test_poles_cusps_gaps_and_huge_numbers_are_the_same_scene(page: Page, files: str, name: str, layout: str) -> None:
    check(page, files, MADE_UP[name](), layout)


def test_any_range_has_the_same_labels(page: Page, files: str) -> None:
    dice = random.Random(4)
    asked = []
    for _ in range(600):
        middle, length = dice.gauss(0, 1) * 10 ** dice.uniform(-12, 12), 10 ** dice.uniform(-9, 9)
        middle = 0.0 if dice.random() < 0.2 else middle
        if length > 1e-9 * abs(middle):
            asked.append([middle - length, middle + length * dice.random(), dice.randint(2, 9), dice.uniform(5, 40)])
    page.goto("/favicon.ico")
    for (low, high, count, room), told in zip(asked, page.evaluate(TICKS, [files, asked]), strict=True):
        ours = [ticks((low, high), count), fitting_ticks((low, high), count, room)]
        for mine, theirs in zip(ours, told, strict=True):
            assert [tick.value for tick in mine] == theirs["tickvals"]
            assert [tick.text for tick in mine] == theirs["ticktext"]
