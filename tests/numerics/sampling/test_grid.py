"""The points of a section."""

import numpy as np
import pytest

from gradloupe.server.numerics.sampling.grid import Grid, grid_rows
from gradloupe.server.numerics.singularities.special_points import SpecialPoint


@pytest.mark.parametrize("place", [-1.0, 0.0, 0.3, 2.0])
def test_round_numbers_are_met_exactly(place):
    assert place in Grid(-3.0, 3.0, 601).points()


@pytest.mark.parametrize(("start", "stop"), [(-1e300, 1e300), (1e-300, 2e-300), (1e6, 1e6 + 1e-6)])
def test_extreme_ranges_still_have_increasing_points(start, stop):
    x = Grid(start, stop, 101).points()
    assert x.size == 101
    assert (np.diff(x) > 0).all()
    assert np.isfinite(x).all()


def test_a_kink_between_points_adds_one_row_and_a_jump_three():
    found = (SpecialPoint("kink", 0.05, 0.05, 0.05), SpecialPoint("jump", 1.55, 1.55 - 1e-13, 1.55 + 1e-13))
    at = grid_rows(np.linspace(0, 2, 21), found)
    assert at.x.size == 21 + 1 + 3
    assert at.x[at.gap].tolist() == [1.55]
    assert (np.diff(at.x) >= 0).all()
    assert (at.x[at.below][0], at.x[at.above][0]) == (1.55 - 1e-13, 1.55 + 1e-13)


def test_a_special_point_on_a_grid_point_takes_its_place():
    x = np.linspace(0, 2, 21)
    assert grid_rows(x, (SpecialPoint("kink", float(x[7]), 0.7, 0.7),)).x.tolist() == x.tolist()


@pytest.mark.parametrize(("kind", "gaps"), [("kink", []), ("cusp", []), ("pole", [0.05])])
def test_a_cusp_is_a_row_and_a_pole_a_gap(kind, gaps):
    at = grid_rows(np.linspace(0, 2, 21), (SpecialPoint(kind, 0.05, 0.049, 0.051),))
    assert at.x.size == 21 + 1
    assert at.x[at.gap].tolist() == gaps
    assert not (at.below | at.above).any()


def test_points_that_join_keep_the_rows_and_their_roles():
    at = grid_rows(np.linspace(0, 2, 21), (SpecialPoint("jump", 1.55, 1.55 - 1e-13, 1.55 + 1e-13),))
    full = at.joined(np.array([1.549, 0.01]))
    assert full.x.size == at.x.size + 2
    assert (np.diff(full.x) >= 0).all()
    for role in ("gap", "below", "above"):
        assert full.x[getattr(full, role)].tolist() == at.x[getattr(at, role)].tolist()
    assert at.joined(np.empty(0)) is at
