"""What is drawn of a section: the ranges of its axes, their labels, curves, marks and stripes."""

import random
import re
from collections.abc import Callable
from math import tanh
from typing import Any

import pytest
from playwright.sync_api import Page
from support import http
from support.scenes import MADE_UP, frame, made_up

from gradloupe.server.figure.axes import fitting_ticks, ticks
from gradloupe.server.figure.scene import build_scene, scene_document

TICKS = """async ([files, asked]) => {
  const { fittingTicks, ticks } = await import(`${files}/js/figure/axes.js`);
  return asked.map(([low, high, count, room]) => [ticks([low, high], count), fittingTicks([low, high], count, room)]);
}"""


@pytest.fixture(scope="module")
def files(server: str) -> str:
    """Where the modules lie."""
    found = re.search(r"/static/\w+", http.get(f"{server}/ops/exp").text)
    assert found
    return found[0]


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


def scene(**changed: Any) -> dict[str, Any]:
    """The scene of a parabola, with what is changed of it."""
    return scene_document(build_scene(frame(made_up(**changed)), "stacked"))


def drawn(found: dict[str, Any]) -> list[str]:
    return [curve[0] for curve in found["curves"]]


def test_a_step_of_a_gradient_is_a_gap_and_a_steep_slope_is_a_line() -> None:
    xs = made_up()["columns"]["x"]

    def gaps(gradient: Callable[[float], float]) -> list[int]:
        told = scene(analytical=list(map(gradient, xs)))
        return next(list(rows) for name, _, _, rows in told["curves"] if name == "analytical")

    assert gaps(lambda x: 2 * x) == []
    assert gaps(lambda x: tanh(10 * x)) == []
    assert [xs[row] for row in gaps(lambda x: 1.0 if x > 0.1 else 0.0)] == [min(x for x in xs if x > 0.1)]
    assert gaps(lambda x: 1.0 if x < 2 else 0.0) == [len(xs) - 1]


def test_an_axis_shows_every_value_and_air_around() -> None:
    upper, lower = (scene()["axes"]["stacked"][panel]["range"] for panel in ("upper", "lower"))
    assert upper == pytest.approx((-0.44, 4.44))
    assert lower == pytest.approx((-4.88, 4.88))
    both = scene()["axes"]["overlaid"]
    assert both["lower"] is None
    assert both["upper"]["range"] == pytest.approx((-4.88, 4.88))


def test_rounding_noise_is_not_zoomed_into() -> None:
    noise = [1 + 1e-13 * (row % 2) for row in range(101)]
    assert scene(forward=noise)["axes"]["stacked"]["upper"]["range"] == pytest.approx((0.39, 1.61), abs=0.01)


def test_a_pole_neither_flattens_the_rest_nor_is_drawn() -> None:
    found = scene_document(build_scene(frame(MADE_UP["hyperbola"]()), "stacked"))
    low, high = found["axes"]["stacked"]["upper"]["range"]
    assert -30 < low < high < 30
    assert found["gaps"] == [52, 53, 54]
    assert [start < at < stop for (start, stop), at in zip(found["steep"], (-1.0, 0.12), strict=True)] == [True, True]
    assert [mark[0] for mark in found["marks"]] == ["subgradients", "kinks", "kink slopes"]


def test_the_gap_of_a_pole_at_an_end_lies_within_the_curve() -> None:
    ends = [{"kind": "pole", "x": x, "forward": None, "analytical": None, "left": None, "right": None} for x in (-3, 3)]
    found = scene(marks=ends)
    assert found["gaps"] == [0, 1, 99, 100]


def test_the_slopes_stop_at_a_kink_and_its_mark_says_what_backward_chose() -> None:
    mark = {"kind": "kink", "x": 0.0, "forward": 0.0, "analytical": 0.5, "left": -1.0, "right": 1.0}
    found = scene(marks=[mark])
    assert {name: cut for name, _, _, cut in found["curves"]} == {"numerical": [], "forward": [], "analytical": [50]}
    assert found["marks"][0] == ("subgradients", True, [0.0, 0.0, None], [-1.0, 1.0, None])
    assert found["marks"][2] == ("kink slopes", True, [0.0], [0.5])
    assert found["legend"]["bends"] == "kink"


def test_a_jump_has_open_and_closed_ends_and_a_single_point_that_differs_is_seen() -> None:
    found = scene_document(build_scene(frame(MADE_UP["jumpy"]()), "stacked"))
    assert drawn(found) == ["numerical", "implied", "surrogate", "forward", "surrogate slope", "analytical"]
    assert found["marks"] == [
        ("open ends", False, [0.52, 0.52], [0.0, 1.0]),
        ("closed ends", False, [0.52], [0.5]),
    ]
    assert found["stripes"][0] == (-2.0, -1.0)
    assert found["stripes"][1] == pytest.approx((0.988, 1.012))


def test_what_backward_implies_is_drawn_only_where_an_eye_can_tell_it_from_forward() -> None:
    forward = made_up()["columns"]["forward"]
    for far, seen in ((1e-9, False), (1.0, True)):
        found = scene(implied=[y + far for y in forward], word="differs")
        assert ("implied" in drawn(found)) is seen
        assert ("implied" in found["legend"]["curves"]) is seen


@pytest.mark.parametrize("name", MADE_UP)
def test_every_axis_has_a_range_and_labels_within_it(name: str) -> None:
    for axes in scene_document(build_scene(frame(MADE_UP[name]()), "stacked"))["axes"].values():
        for axis in filter(None, (axes["upper"], axes["lower"])):
            low, high = axis["range"]
            assert low < high
            assert all(low <= value <= high for value, _ in axis["ticks"])
            assert len({text for _, text in axis["ticks"]}) == len(axis["ticks"]) > 1
