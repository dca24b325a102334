"""Outlines: what a curve looks like is kept, what cannot be seen is left out."""

from __future__ import annotations

import math
import re
from itertools import pairwise

import pytest

from gradloupe.server.figure.scene import Axis
from gradloupe.server.figure.svg_paths import PathGrid, area_path, curve_path, mark_positions
from gradloupe.server.figure.traces import Layer

GRID = PathGrid(1000, 1000, digits=2)
ACROSS = Axis((0.0, 1.0), (), "x")
UP = Axis((0.0, 1.0), (), "y")
XS = [row / 400 for row in range(401)]


def drawn(ys: list[float | None], xs: list[float] = XS) -> str:
    return curve_path(Layer("forward", "line", False, list(xs), ys), ACROSS, UP, GRID)


def points(d: str) -> list[list[tuple[float, float]]]:
    """The pieces of a path, in shares of the panel."""
    pieces = []
    for piece in d.split("M")[1:]:
        start, *steps = re.findall(r"-?[\d.]+", piece.replace("l", " "))[:2], *re.findall(r"-?[\d.]+", piece)[2:]
        x, y = map(float, start)
        found = [(x, y)]
        for dx, dy in zip(steps[::2], steps[1::2], strict=True):
            x, y = x + float(dx), y + float(dy)
            found.append((x, y))
        pieces.append([(x / 1000, 1 - y / 1000) for x, y in found])
    return pieces


def height(pieces: list[list[tuple[float, float]]], x: float) -> float:
    """Of the outline at x."""
    for piece in pieces:
        for (left, low), (right, high) in pairwise(piece):
            if left <= x <= right and right > left:
                return low + (high - low) * (x - left) / (right - left)
    raise AssertionError(f"nothing is drawn at {x}")


@pytest.mark.parametrize("function", [math.sqrt, math.sin, lambda x: 0.5 + 0.4 * math.sin(40 * x), lambda x: x > 0.37])
def test_the_outline_is_where_the_curve_is(function):
    ys = [float(function(x)) for x in XS]
    pieces = points(drawn(ys))
    assert max(abs(height(pieces, x) - y) for x, y in zip(XS, ys, strict=True)) < 2e-4


def test_a_straight_line_needs_no_points_between_its_ends():
    assert drawn([0.25 + x / 2 for x in XS]) == "M0 750l1000-500"


def test_a_smooth_curve_needs_few():
    assert sum(map(len, points(drawn([x * x for x in XS])))) < 60


def test_a_gap_breaks_the_outline():
    first, second = points(drawn([None if 0.4 < x < 0.6 else 0.5 for x in XS]))
    assert (first[-1][0], second[0][0]) == (0.4, 0.6)


def test_a_point_between_two_gaps_is_no_line():
    assert drawn([0.5 if x == 0.5 else None for x in XS]) == ""


def test_a_curve_that_leaves_the_panel_comes_back_with_the_same_slope():
    pieces = points(drawn([0.5 + (x - 0.5) * 100 for x in XS]))
    assert [len(piece) for piece in pieces] == [2]
    (left, low), (right, high) = pieces[0]
    assert (low, high) == (-0.5, 1.5)
    assert (left, right) == (0.49, 0.51)


@pytest.mark.parametrize("far", [1.7e308, -1.7e308])
def test_numbers_as_large_as_there_are_stay_out_of_the_panel(far):
    pieces = points(drawn([far if 0.4 < x < 0.6 else 0.5 for x in XS]))
    assert all(-0.5 <= y <= 1.5 for piece in pieces for _, y in piece)
    assert len(pieces) == 2


def test_a_step_stays_upright():
    ((*_, (left, _), (right, _), _),) = points(drawn([float(x >= 0.5) for x in XS]))
    assert right - left == pytest.approx(1 / 400, abs=2e-5)


def test_points_at_one_place_are_all_drawn():
    d = drawn([0.1, 0.9, 0.2, 0.4], [0.2, 0.2, 0.2, 0.8])
    assert points(d) == [
        [
            (0.2, pytest.approx(y)) if x == 0 else (0.8, pytest.approx(y))
            for x, y in ((0, 0.1), (0, 0.9), (0, 0.2), (1, 0.4))
        ]
    ]


def test_a_band_too_thin_to_be_seen_is_left_out():
    def band(error: float) -> str:
        x, y = [*XS, *XS[::-1]], [0.5 + error for _ in XS] + [0.5 - error for _ in XS]
        return area_path(Layer("error band", "area", True, [*x, None], [*y, None]), ACROSS, UP, GRID)

    assert band(1e-6) == ""
    assert band(0.1) == "M0 400l1000 0 0 200-1000 0z"


def test_marks_out_of_the_panel_are_left_out():
    layer = Layer("kinks", "diamonds", False, [0.1, 0.2, 0.3, 0.4], [0.5, 1.5, None, -1e300])
    assert mark_positions(layer, ACROSS, UP) == [(0.1, 0.5)]
