"""The numerical derivative against closed forms computed with 40 digits."""

import mpmath
import numpy as np
import pytest
import torch
from functions.random_functions import random_function
from functions.smooth import SMOOTH, on_tensors

from gradloupe.server.numerics.differentiation.finite_differences import EVIDENCE_BOUNDS, PointKind, differentiate
from gradloupe.server.numerics.differentiation.noise import COARSE_PROBES, FINE_PROBES, PROBED_PLACES

mpmath.mp.dps = 40


def slopes_of(name, count=1001):
    function, derivative, start, stop = SMOOTH[name]
    spacing = (stop - start) / count
    x = np.linspace(start, stop, count) + np.random.default_rng(1).uniform(-0.3, 0.3, count) * spacing
    forward = on_tensors(function)
    truth = np.array([float(derivative(mpmath.mpf(float(each)))) for each in x])
    return differentiate(forward, x, forward(x), stop - start), truth


@pytest.mark.parametrize("name", SMOOTH)
def test_a_smooth_slope_is_right_to_one_part_in_a_million_million(name):
    slopes, truth = slopes_of(name)
    assert np.abs(slopes.value - truth).max() <= 1e-12 * np.abs(truth).max()


@pytest.mark.parametrize("name", SMOOTH)
def test_the_error_bound_holds_and_is_not_vain(name):
    slopes, truth = slopes_of(name)
    error = np.abs(slopes.value - truth)
    assert np.mean(error <= slopes.error) >= 0.97
    assert np.median(slopes.error / np.maximum(error, 1e-300)) <= 100


@pytest.mark.parametrize("name", SMOOTH)
def test_a_smooth_slope_costs_some_eight_forwards_a_point(name):
    slopes, _ = slopes_of(name)
    probes = PROBED_PLACES * 2 * (FINE_PROBES + COARSE_PROBES)  # they weigh more on fewer points than on 1001
    assert slopes.forwards <= 8.5 + probes * (1 / slopes.value.size - 1 / 1001)


@pytest.mark.parametrize("name", SMOOTH)
def test_a_smooth_function_has_no_kinks_or_jumps(name):
    assert not slopes_of(name)[0].kind.any()


@pytest.mark.parametrize(
    ("function", "x", "kind", "left", "right"),
    [
        (torch.relu, 0.0, PointKind.KINK, 0.0, 1.0),
        (torch.abs, 0.0, PointKind.KINK, -1.0, 1.0),
        (lambda x: x.clamp(-1, 1), 1.0, PointKind.KINK, 1.0, 0.0),
        (lambda x: torch.maximum(x, x * x), 1.0, PointKind.KINK, 1.0, 2.0),
        (lambda x: (x >= 0).double(), 0.0, PointKind.JUMP, np.inf, 0.0),
        (lambda x: torch.sign(x), 0.0, PointKind.JUMP, np.inf, np.inf),
        (torch.round, 0.5, PointKind.JUMP, 0.0, np.inf),
        (lambda x: x.abs().sqrt(), 0.0, PointKind.KINK, -np.inf, np.inf),
    ],
)
def test_a_special_point_is_named_and_has_its_two_slopes(function, x, kind, left, right):
    points = np.linspace(-3, 3, 601)
    points[np.abs(points - x).argmin()] = x
    row = int(np.flatnonzero(points == x)[0])
    forward = on_tensors(function)
    slopes = differentiate(forward, points, forward(points), 6.0)
    assert slopes.kind[row] == kind
    assert (slopes.left[row], slopes.right[row]) == pytest.approx((left, right), abs=1e-9)


def test_the_edge_of_a_domain_has_the_slope_of_its_inner_side():
    x = np.linspace(0, 4, 401)
    forward = on_tensors(lambda t: torch.where(t < 0, torch.nan, t**1.5 + t))
    slopes = differentiate(forward, x, forward(x), 4.0)
    assert slopes.kind[0] == PointKind.EDGE
    assert slopes.value[0] == pytest.approx(1.0, abs=1e-4)


def test_where_only_the_curvature_jumps_the_point_is_smooth():
    x = np.linspace(-3, 3, 401)
    forward = on_tensors(torch.nn.functional.elu)
    slopes = differentiate(forward, x, forward(x), 6.0)
    assert slopes.kind[200] == PointKind.SMOOTH
    assert abs(slopes.value[200] - 1) <= slopes.error[200] <= 1e-8


def test_a_chosen_step_is_the_widest_one():
    x = np.linspace(-3, 3, 401)
    assert differentiate(np.sin, x, np.sin(x), 6.0, step=0.5).step == 0.5


def test_no_value_is_given_where_the_forward_is_not_finite():
    x = np.linspace(-1, 1, 201)
    forward = on_tensors(torch.log)
    slopes = differentiate(forward, x, forward(x), 2.0)
    assert np.isnan(slopes.value[x < 0]).all()
    assert (slopes.kind[x < 0] == PointKind.NONFINITE).all()


@pytest.mark.parametrize("seed", range(40))
def test_a_function_drawn_at_random_has_its_slopes_within_ten_error_bounds(seed):
    function, x = random_function(seed), np.linspace(-3.0, 3.0, 101)
    forward = on_tensors(function.value)
    slopes, step = differentiate(forward, x, forward(x), 6.0), mpmath.mpf(10) ** -16
    for row in np.random.default_rng(seed).choice(np.flatnonzero(slopes.kind == PointKind.SMOOTH), 8, replace=False):
        with mpmath.workdps(60):
            at = mpmath.mpf(float(x[row]))
            slope = float((function.exact(at + step) - function.exact(at - step)) / (2 * step))
        assert abs(slopes.value[row] - slope) <= EVIDENCE_BOUNDS * slopes.error[row] + 1e-15 * abs(slope)
