"""Outlines: what a curve looks like is kept, what cannot be seen is left out."""

import math
import re
from itertools import pairwise
from typing import Any

import pytest
from support.scenes import frame, made_up

from gradloupe.server.figure.axes import common_axis_ranges
from gradloupe.server.figure.inline_svg import static_figure
from gradloupe.server.figure.scene import build_scene, scene_document

XS = [row / 400 for row in range(401)]
Pieces = list[list[tuple[float, float]]]


def section(ys: list[float | None], xs: list[float] = XS, **more: Any) -> Any:
    """An answer with this forward, from 0 to 1, and flat gradients."""
    flat = dict.fromkeys(("analytical", "numerical", "error", "left", "right", "status"), [0] * len(xs))
    return frame(made_up(**flat | {"x": xs, "forward": ys, "start": 0.0, "stop": 1.0} | more))


HELD = common_axis_ranges([section([row / 400 for row in range(401)])])  # whatever is drawn, y goes from 0 to 1
LOW, HIGH = scene_document(build_scene(section([0.5] * 401), "stacked", HELD))["axes"]["stacked"]["upper"]["range"]


def path(answer: Any, kind: str = "line forward") -> str:
    """The outline of this kind in the picture, empty where there is none."""
    found = re.search(rf'<path class="{kind}" d="([^"]*)"', static_figure(build_scene(answer, "stacked", HELD)))
    return found[1] if found else ""


def points(d: str) -> Pieces:
    """The pieces of a path, as x and y."""
    pieces = []
    for piece in d.split("M")[1:]:
        (x, y), *steps = ([float(each) for each in pair] for pair in re.findall(r"(-?[\d.]+)[ l]?(-?[\d.]+)", piece))
        found = [(x, y)]
        for dx, dy in steps:
            x, y = x + dx, y + dy
            found.append((x, y))
        pieces.append([(x / 8000, LOW + (1 - y / 4000) * (HIGH - LOW)) for x, y in found])
    return pieces


def drawn(ys: list[float | None], xs: list[float] = XS) -> Pieces:
    return points(path(section(ys, xs)))


def inside(pieces: Pieces) -> bool:
    """Whether nothing is further from the panel than half its height."""
    half = (HIGH - LOW) / 2
    return all(LOW - half - 1e-9 <= y <= HIGH + half + 1e-9 for piece in pieces for _, y in piece)


def height(pieces: Pieces, x: float) -> float:
    """Of the outline at x."""
    for piece in pieces:
        for (left, low), (right, high) in pairwise(piece):
            if left <= x <= right and right > left:
                return low + (high - low) * (x - left) / (right - left)
    raise AssertionError(f"nothing is drawn at {x}")


@pytest.mark.parametrize("function", [math.sqrt, math.sin, lambda x: 0.5 + 0.4 * math.sin(40 * x), lambda x: x > 0.37])
def test_the_outline_is_where_the_curve_is(function):
    ys = [float(function(x)) for x in XS]
    pieces = drawn(ys)
    assert max(abs(height(pieces, x) - y) for x, y in zip(XS, ys, strict=True)) < 5e-4


def test_few_points_do_for_a_smooth_curve_and_two_for_a_straight_line():
    assert [len(piece) for piece in drawn([0.25 + x / 2 for x in XS])] == [2]
    assert sum(map(len, drawn([x * x for x in XS]))) < 60


def test_a_gap_breaks_the_outline_and_a_point_between_two_gaps_is_no_line():
    first, second = drawn([None if 0.4 < x < 0.6 else 0.5 for x in XS])
    assert (first[-1][0], second[0][0]) == (0.4, 0.6)
    assert drawn([0.5 if x == 0.5 else None for x in XS]) == []


def test_a_curve_that_leaves_the_panel_comes_back_with_the_same_slope():
    pieces = drawn([0.5 + (x - 0.5) * 100 for x in XS])
    assert [len(piece) for piece in pieces] == [2]
    assert inside(pieces)
    (left, low), (right, high) = pieces[0]
    assert high - low > 1.9 * (HIGH - LOW)
    assert (high - low) / (right - left) == pytest.approx(100, rel=0.02)


@pytest.mark.parametrize("far", [1.7e308, -1.7e308])
def test_numbers_as_large_as_there_are_stay_out_of_the_panel(far):
    pieces = drawn([far if 0.4 < x < 0.6 else 0.5 for x in XS])
    assert inside(pieces)
    assert len(pieces) == 2


def test_a_step_stays_upright():
    ((*_, (left, _), (right, _), _),) = drawn([float(x >= 0.5) for x in XS])
    assert right - left == pytest.approx(1 / 400, abs=2e-4)


def test_points_at_one_place_are_all_drawn():
    found = drawn([0.1, 0.9, 0.2, 0.4], [0.2, 0.2, 0.2, 0.8])
    assert found == [[(x, pytest.approx(y, abs=5e-4)) for x, y in ((0.2, 0.1), (0.2, 0.9), (0.2, 0.2), (0.8, 0.4))]]


def test_a_band_too_thin_to_be_seen_is_left_out():
    thin, wide = (
        path(section([0.5] * 401, error=[error] * 401, numerical=[0] * 401), "band") for error in (1e-9, 0.01)
    )
    assert thin == ""
    ((left, low), *_, (_, high)) = points(wide)[0]
    assert left == 0
    assert low != high


def test_marks_out_of_the_panel_are_left_out():
    marks = [
        {"kind": "kink", "x": x, "forward": y, "analytical": None, "left": 0.0, "right": 0.0}
        for x, y in ((0.1, 0.5), (0.2, 1.5), (0.3, None), (0.4, -1e300))
    ]
    picture = static_figure(build_scene(section([0.5] * 401, marks=marks), "stacked", HELD))
    upper = picture.partition('class="labels upper"')[2].partition('class="panel lower"')[0]
    assert re.findall(r'<svg x="([\d.]+)%"', upper) == ["10"]
