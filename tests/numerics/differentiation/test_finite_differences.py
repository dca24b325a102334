from functools import cache

import mpmath
import numpy as np
import pytest
import torch
from functions.random_functions import random_function
from functions.smooth import SMOOTH, on_tensors
from functions.tails import FAINT
from support.sampling import sampled
from support.sections import look, op_of, written

from gradloupe.server.numerics.differentiation.finite_differences import EVIDENCE_BOUNDS, PointKind, differentiate

mpmath.mp.dps = 40


@cache
def slopes_of(name, count=1001):
    """The slopes of a smooth function at points at random, and what they are."""
    function, derivative, start, stop = SMOOTH[name]
    spacing = (stop - start) / count
    x = np.linspace(start, stop, count) + np.random.default_rng(1).uniform(-0.3, 0.3, count) * spacing
    forward = on_tensors(function)
    truth = np.array([float(derivative(mpmath.mpf(float(each)))) for each in x])
    return differentiate(forward, x, forward(x), stop - start), truth


@pytest.mark.parametrize("name", SMOOTH)
def test_a_smooth_slope_is_right_to_one_part_in_a_million_million_and_its_bound_holds_and_is_not_vain(name):
    slopes, truth = slopes_of(name)
    error = np.abs(slopes.value - truth)
    assert error.max() <= 1e-12 * np.abs(truth).max()
    assert np.mean(error <= slopes.error) >= 0.97
    assert np.median(slopes.error / np.maximum(error, 1e-300)) <= 100
    assert not slopes.kind.any()  # no kinks, no jumps


@pytest.mark.parametrize("name", SMOOTH)
def test_a_smooth_slope_costs_some_eight_forwards_a_point(name):
    assert slopes_of(name)[0].forwards <= 8.5


def test_no_value_is_given_where_the_forward_is_not_finite():
    x = np.linspace(-1, 1, 201)
    forward = on_tensors(torch.log)
    slopes = differentiate(forward, x, forward(x), 2.0)
    assert np.isnan(slopes.value[x < 0]).all()
    assert (slopes.kind[x < 0] == PointKind.NONFINITE).all()


@pytest.mark.parametrize("seed", sampled(range(40), range(20)))
def test_a_function_drawn_at_random_has_its_slopes_within_ten_error_bounds(seed):
    function, x = random_function(seed), np.linspace(-3.0, 3.0, 101)
    forward = on_tensors(function.value)
    slopes, step = differentiate(forward, x, forward(x), 6.0), mpmath.mpf(10) ** -16
    for row in np.random.default_rng(seed).choice(np.flatnonzero(slopes.kind == PointKind.SMOOTH), 8, replace=False):
        with mpmath.workdps(60):
            at = mpmath.mpf(float(x[row]))
            slope = float((function.exact(at + step) - function.exact(at - step)) / (2 * step))
        assert abs(slopes.value[row] - slope) <= EVIDENCE_BOUNDS * slopes.error[row] + 1e-15 * abs(slope)


# What is wide, or few, or not finite among the differences of a ladder.


def measured(function, x, reach, count=401):
    """The numerical slope at the middle of a range, and its error bound."""
    points = np.linspace(x - reach, x + reach, count)
    slopes = differentiate(function, points, function(points), 2 * reach)
    row = count // 2
    return slopes.value[row], slopes.error[row], slopes.kind[row]


def test_an_aliased_wide_step_does_not_win():
    # The widest step, of 0.9, is half a period of this wave, and the next ones whole parts of it.
    value, error, _ = measured(lambda t: np.sin(2 * np.pi / 0.9 * t), 0.1, 225.0)
    assert abs(value - 2 * np.pi / 0.9 * np.cos(2 * np.pi / 0.9 * 0.1)) <= EVIDENCE_BOUNDS * error or np.isnan(value)


def test_a_level_that_is_not_finite_is_left_out():
    value, error, kind = measured(lambda t: np.where(np.abs(t) < 0.008, np.exp(t), np.nan), 0.0, 3.0, 3001)
    assert (abs(value - 1) <= EVIDENCE_BOUNDS * error <= 1e-5, kind) == (True, PointKind.SMOOTH)


@pytest.mark.parametrize(
    ("function", "precision"),
    [
        (lambda x: torch.tanh(x.float()).double(), 2.0**-24),
        (torch.tanh, 2.0**-53),
        (lambda x: 2 * x, 2.0**-53),
        (torch.floor, 2.0**-53),
        (lambda x: torch.round(80 * x), 2.0**-53),
    ],
)
def test_a_forward_that_rounds_to_float32_inside_is_recognised_and_no_other_is_mistaken_for_one(function, precision):
    for reach, count in ((3.0, 401), (4.0, 257)):
        assert look(op_of(function), -reach, reach, count)[0].numerical.slopes.precision == precision


@pytest.mark.parametrize("size", [1e-10, 1e-12])
def test_the_noise_of_a_forward_is_measured_and_bounds_the_error(size):
    rng = np.random.default_rng(0)
    x = np.linspace(-3, 3, 401)

    def forward(t):
        return np.sin(t) + rng.normal(0, size, t.size)

    slopes = differentiate(forward, x, forward(x), 6.0)
    off = np.abs(slopes.value - np.cos(x))
    assert np.nanmax(off) < 1e4 * size
    assert np.mean(off <= EVIDENCE_BOUNDS * slopes.error) > 0.99


# Right Functions where little is left of them: nobody may be accused for what rounding did to their values.


@pytest.mark.parametrize("name", FAINT)
def test_a_right_gradient_is_not_accused_for_what_rounding_did_to_the_values(name):
    function, ranges = FAINT[name]
    for range_, dtype in zip(ranges, (torch.float64, torch.float32), strict=True):
        assert look(op_of(function), *range_, dtype=dtype)[1].word in ("matches", "undecided"), (range_, dtype)


@pytest.mark.parametrize(
    ("value", "derivative", "start", "stop"),
    [
        (torch.tanh, lambda x: 1 / torch.cosh(x) ** 2, 5.0, 12.0),
        (torch.sigmoid, lambda x: torch.exp(-x.abs()) / (1 + torch.exp(-x.abs())) ** 2, -40.0, -20.0),
        (torch.erf, lambda x: 2 / torch.pi**0.5 * torch.exp(-x * x), 2.0, 4.5),
    ],
)
def test_a_wrong_gradient_is_caught_where_values_are_faint_too(value, derivative, start, stop):
    assert look(written(value, derivative), start, stop)[1].word == "matches"
    _, verdict = look(written(value, lambda x: 1.5 * derivative(x)), start, stop)
    assert verdict.word == "differs"
    assert sum(high - low for low, high in verdict.against.intervals) > (stop - start) / 2
