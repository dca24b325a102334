"""Between the rows there are as many points as the eye needs, and no more."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from support.sections import op_of, section, written

from gradloupe.server.numerics.sampling.grid import Grid, grid_rows
from gradloupe.server.numerics.sampling.refinement import kink_sides, refinement_points
from gradloupe.server.numerics.singularities.special_points import special_points

F = torch.nn.functional
PIXELS = 1000


def refined_rows(function, start=-3.0, stop=3.0, count=401, op=None, **asked):
    """The section, its special points, its rows, and the rows with the points between them."""
    cut = section(op or op_of(function), **asked)
    cut = cut if cut.stacked else _stacked(cut)
    double = cut.at(torch.float64, "cpu")
    x = np.unique(cut.snap(Grid(start, stop, count).points()))
    with np.errstate(all="ignore"):
        special = special_points(double.forward, x, double.forward(x))
        at = grid_rows(x, special)
        full = at.joined(kink_sides(cut, at, special))
        extra = refinement_points(
            cut, double, full, double.forward(full.x), cut.backward(full.x, 1.0).grad_input, special, 1.0
        )
    return cut, special, at, full.joined(extra)


def _stacked(cut):
    return replace(cut, stacked=tuple(name for name, _ in cut.inputs))


def off(values, special, full, hidden=()):
    """By how many pixels the lines through the rows miss the curve, allowing a tenth of a pixel sideways."""
    span = full.x[-1] - full.x[0]
    x = np.linspace(full.x[0], full.x[-1], 30011)[1:-1]
    with np.errstate(all="ignore"):
        at_rows = np.where(full.gap, np.nan, values(full.x))
        lines = np.interp(x, full.x, at_rows)
        wide = 0.11 * span / PIXELS
        near = [values(x + share * wide) for share in np.linspace(-1, 1, 11)]
        near += [values(np.where(np.abs(x - each.x) < wide, each.x, x)) for each in special]
        near = np.array([np.where(np.isfinite(each), each, near[5]) for each in near])
        missed = np.maximum(lines - near.max(axis=0), near.min(axis=0) - lines)
        shown = np.isfinite(lines) & np.isfinite(near).all(axis=0)
        for each in special:
            if each.kind in hidden:
                shown &= np.abs(x - each.x) > 1.01 * span / 400
        return max(missed[shown].max(), 0) / (np.ptp(lines[shown]) or 1) * PIXELS


STEEP = {
    "clamp": lambda x: x.clamp(0, 1.37),
    "floor": torch.floor,
    "tanh(100x)": lambda x: torch.tanh(100 * (x - 0.0123)),
    "gelu": F.gelu,
    "sigmoid(200x)": lambda x: torch.sigmoid(200 * x),
    "a narrow bump": lambda x: torch.exp(-1e4 * (x - 0.1) ** 2),
    "softplus of 50": lambda x: F.softplus(x, beta=50),
    "hardswish": F.hardswish,
    "staircase": lambda x: torch.floor(7 * x) / 7,
}


@pytest.mark.parametrize("name", STEEP)
def test_curve_and_gradient_are_drawn_to_half_a_pixel_with_a_thousand_points(name):
    cut, special, _, full = refined_rows(STEEP[name])
    assert full.x.size <= 1000
    assert off(cut.forward, special, full) <= 0.5
    assert off(lambda t: cut.backward(t, 1.0).grad_input, special, full) <= 0.5


@pytest.mark.parametrize("function", [torch.sqrt, lambda x: (x - 0.1234).abs().sqrt(), torch.special.entr])
def test_forward_is_drawn_right_up_to_a_cusp(function):
    cut, special, _, full = refined_rows(function)
    assert [each.kind for each in special] == ["cusp"]
    assert off(cut.forward, special, full) <= 0.5


@pytest.mark.parametrize("function", [lambda x: 1 / (x - 0.3075), torch.log, lambda x: x.abs().log()])
def test_forward_is_drawn_right_beside_a_pole(function):
    cut, special, _, full = refined_rows(function)
    assert [each.kind for each in special] == ["pole"]
    assert off(cut.forward, special, full, hidden=("pole",)) <= 0.5


SMOOTH = [torch.tanh, torch.exp, torch.sigmoid, F.gelu, F.silu, F.mish, F.elu, lambda x: x**3, lambda x: 0 * x + 1]


@pytest.mark.parametrize("function", SMOOTH)
def test_a_smooth_curve_needs_no_points(function):
    _, _, at, full = refined_rows(function)
    assert full is at


@pytest.mark.parametrize("slope", [2.0, 0.1, 1e-3, 3e4])
def test_the_rounding_of_a_slope_that_is_the_same_everywhere_is_not_chased(slope):
    _, _, at, full = refined_rows(lambda x: slope * x + 3.3)
    assert full.x.size == at.x.size


def test_a_smooth_curve_is_not_evaluated_again():
    calls = []

    def counted(x):
        calls.append(x.numel())
        return torch.tanh(x)

    cut = section(op_of(counted))
    x = Grid(-3.0, 3.0, 401).points()
    cut = _stacked(cut)
    at, values, gradient = grid_rows(x, ()), cut.forward(x), cut.backward(x, 1.0).grad_input
    calls.clear()
    assert refinement_points(cut, cut, at, values, gradient, (), 1.0).size == 0
    assert calls == []


def test_beside_a_kink_stand_two_points_between_which_the_gradient_leaps():
    _, special, at, full = refined_rows(torch.relu)
    assert special[0].x == 0.0
    assert np.setdiff1d(full.x, at.x) == pytest.approx([-6e-4, 6e-4])


def test_a_wrong_gradient_is_drawn_right_where_forward_is_smooth():
    op = written(torch.tanh, lambda x: torch.exp(-3e3 * (x - 1) ** 2))
    cut, special, at, full = refined_rows(None, op=op)
    assert full.x.size > at.x.size
    assert off(lambda t: cut.backward(t, 1.0).grad_input, special, full) <= 0.5


def test_the_slope_of_forward_is_drawn_right_where_backward_returns_a_constant():
    op = written(lambda x: torch.tanh(100 * (x - 0.0123)), torch.ones_like)
    _, special, _, full = refined_rows(None, op=op)
    assert off(lambda t: 100 / np.cosh(100 * (t - 0.0123)) ** 2, special, full) <= 0.5


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_the_rounding_of_a_short_dtype_is_not_chased(dtype):
    _, _, at, full = refined_rows(F.gelu, dtype=dtype)
    assert full.x.size == at.x.size


def test_points_are_numbers_of_the_dtype_and_none_twice():
    cut, _, at, full = refined_rows(lambda x: torch.tanh(100 * (x - 0.0123)), dtype=torch.float32)
    extra = np.setdiff1d(full.x, at.x)
    assert extra.size
    assert (cut.snap(extra) == extra).all()
    assert np.unique(full.x).size == full.x.size


@pytest.mark.parametrize("function", [lambda x: torch.sin(500 * x), torch.rand_like, lambda x: torch.sin(1 / x)])
def test_what_no_points_can_show_costs_no_more_than_some_hundred(function):
    _, _, at, full = refined_rows(function)
    assert full.x.size - at.x.size <= 600


def test_roles_stay_with_their_rows():
    x = np.linspace(-3, 3, 61)
    special = special_points(lambda t: np.floor(t), x, np.floor(x))
    at = grid_rows(x, special)
    full = at.joined(np.array([-2.9876, 0.0123, 0.0124]))
    assert (np.diff(full.x) >= 0).all()
    for role in ("gap", "below", "above"):
        assert (full.x[getattr(full, role)] == at.x[getattr(at, role)]).all()


def test_a_function_that_refuses_what_lies_between_the_rows_is_drawn_as_it_is():
    allowed = set(Grid(-3.0, 3.0, 401).points())

    def fussy(x):
        if not set(x.tolist()) <= allowed:
            raise ValueError("off the grid")
        return torch.tanh(100 * x)

    cut = _stacked(section(op_of(fussy)))
    x = Grid(-3.0, 3.0, 401).points()
    at = grid_rows(x, ())
    assert refinement_points(cut, cut, at, cut.forward(x), cut.backward(x, 1.0).grad_input, (), 1.0).size == 0


@pytest.mark.parametrize("count", [2, 3, 5, 9])
def test_few_rows_are_refined_without_failing(count):
    _, _, at, full = refined_rows(torch.relu, count=count)
    assert full.x.size >= at.x.size
