"""The step microscope: the V of the error, its two asymptotes, what is seen at special points, Taylor's line."""

import math

import numpy as np
import pytest
import torch
from support.sections import Counted

from gradloupe.server.numerics.studies.step_size import fit_power_law, study_step_size

STEPS = 0.3 * 8.0 ** (-np.arange(65) / 4)


def on_tensors(function):
    return lambda t: function(torch.from_numpy(np.ascontiguousarray(t))).numpy()


def at(function, x, derivative=None, span=6.0, **asked):
    return study_step_size(on_tensors(function), x, span, derivative, **asked)


SMOOTH = {
    "exp": (torch.exp, 1.0, math.e, math.e / 6),
    "sin": (torch.sin, 0.5, math.cos(0.5), -math.cos(0.5) / 6),
    "cube": (lambda x: x**3, 2.0, 12.0, 1.0),
    "1/x": (lambda x: 1 / x, 0.5, -4.0, -16.0),
    "tanh": (torch.tanh, 0.3, 1 - math.tanh(0.3) ** 2, None),
    "sin 50x": (lambda x: torch.sin(50 * x), 1.0, 50 * math.cos(50), -(50**3) * math.cos(50) / 6),
}


@pytest.mark.parametrize("name", SMOOTH)
def test_the_error_of_central_differences_falls_with_the_square_of_the_step(name):
    function, x, slope, third = SMOOTH[name]
    seen = at(function, x, slope)
    assert seen.kind == "smooth"
    assert abs(seen.best.value - slope) <= seen.best.error
    assert seen.order == pytest.approx(2, abs=0.03)
    if third is not None:
        # The line drawn, where the error is a thousandth of the slope's.
        step = math.sqrt(1e-6 * abs(slope / third))
        assert seen.law.at(np.array([step]))[0] == pytest.approx(abs(third) * step**2, rel=0.02)


@pytest.mark.parametrize("name", SMOOTH)
def test_the_v_has_its_tip_where_the_asymptotes_cross(name):
    function, x, slope, _ = SMOOTH[name]
    seen = at(function, x, slope)
    step, error = seen.least
    crossing = seen.steps[np.abs(np.log(seen.truncation / seen.rounding)).argmin()]
    assert 0.05 < step / crossing < 20
    assert error <= 3 * np.interp(step, seen.steps[::-1], np.maximum(seen.truncation, seen.rounding)[::-1])
    assert error < 1e-9 * abs(slope)


@pytest.mark.parametrize("name", SMOOTH)
def test_no_measured_error_leaves_its_asymptotes_far_behind(name):
    function, x, slope, _ = SMOOTH[name]
    seen = at(function, x, slope)
    narrow = seen.steps < 0.01
    assert (seen.central <= 8 * (seen.truncation + seen.rounding) + seen.best.error)[narrow].all()


def test_the_rounding_line_is_the_last_place_of_the_value_over_the_step():
    seen = at(torch.exp, 1.0)
    fine = seen.steps < 1e-3
    assert seen.rounding[fine] == pytest.approx(2.0**-53 * math.e / seen.steps[fine], rel=0.01)


@pytest.mark.parametrize("name", SMOOTH)
def test_no_error_is_drawn_below_the_bound_of_what_it_is_measured_against(name):
    function, x, slope, _ = SMOOTH[name]
    seen = at(function, x, slope)
    for error in (seen.central, seen.behind, seen.ahead):
        assert np.nanmin(error) >= seen.best.error > 0


def test_one_sided_differences_lose_a_whole_order():
    seen = at(torch.exp, 1.0)
    law = fit_power_law(seen.steps, seen.ahead, seen.rounding)
    assert law.order == pytest.approx(1, abs=0.03)
    assert law.coefficient == pytest.approx(math.e / 2, rel=0.05)


def test_the_steps_shown_as_chosen_are_those_of_the_ladder():
    assert at(torch.exp, 1.0).chosen == pytest.approx([0.012, 0.004, 0.012 / 9, 0.012 / 27])
    assert at(torch.exp, 1.0, step=0.3).chosen[0] == 0.3
    assert len(at(torch.relu, 0.0).chosen) == 4 + 7


@pytest.mark.parametrize("function", [lambda x: 2 * x + 1, lambda x: x * x, lambda x: 0 * x + 3])
def test_without_a_third_derivative_there_is_no_truncation(function):
    seen = at(function, 0.7)
    assert seen.law is None
    assert np.isnan(seen.truncation).all()
    assert seen.least[0] > 1  # the wider the better


@pytest.mark.parametrize(
    ("function", "x", "kind", "left", "right"),
    [
        (torch.relu, 0.0, "kink", 0.0, 1.0),
        (torch.abs, 0.0, "kink", -1.0, 1.0),
        (lambda x: torch.maximum(x, x * x), 1.0, "kink", 1.0, 2.0),
        (lambda x: x.abs().sqrt(), 0.0, "cusp", -np.inf, np.inf),
        (lambda x: x.sign() * x.abs() ** (1 / 3), 0.0, "cusp", np.inf, np.inf),
        (torch.sign, 0.0, "jump", np.inf, np.inf),
        (lambda x: (x >= 0).double(), 0.0, "jump", np.inf, 0.0),
        (torch.round, 0.5, "jump", 0.0, np.inf),
        (lambda x: 1 / x, 0.0, "pole", np.nan, np.nan),
        (lambda x: 1 / x**2, 0.0, "pole", np.nan, np.nan),
        (lambda x: x.abs().log(), 0.0, "pole", np.nan, np.nan),
        (torch.log, 0.0, "pole", np.nan, np.nan),
        (torch.tan, math.pi / 2, "pole", np.nan, np.nan),
        (torch.sqrt, 0.0, "edge", np.nan, np.inf),
        (torch.asin, 1.0, "edge", np.inf, np.nan),
        (lambda x: torch.where(x >= 0, x.sin(), torch.nan), 0.0, "edge", np.nan, 1.0),
        (torch.log, -1.0, "no value", np.nan, np.nan),
    ],
)
def test_a_special_point_is_named_and_has_what_slopes_it_has(function, x, kind, left, right):
    seen = at(function, x, 0.5)
    assert seen.kind == kind
    assert (seen.left.value, seen.right.value) == pytest.approx((left, right), abs=1e-9, nan_ok=True)
    if kind != "edge":
        assert math.isnan(seen.best.value)
        assert np.isnan(seen.central).all()
        assert seen.least is None
    assert seen.taylor_order is None


def test_at_a_kink_each_side_is_held_to_its_own_slope():
    seen = at(lambda x: torch.where(x > 0, x.exp(), 1 + 0 * x), 0.0, 0.5)
    assert seen.kind == "kink"
    assert (seen.left.value, seen.right.value) == pytest.approx((0, 1), abs=1e-9)
    assert np.nanmin(seen.ahead) < 1e-6
    assert np.nanmin(seen.ahead) >= seen.right.error > 0
    assert fit_power_law(seen.steps, seen.ahead, seen.rounding).order == pytest.approx(1, abs=0.03)


def test_at_the_edge_of_a_domain_the_side_there_is_has_its_v():
    seen = at(lambda x: torch.where(x >= 0, x.exp(), torch.nan), 0.0, 1.0)
    assert seen.kind == "edge"
    assert np.isnan(seen.behind).all()
    assert np.nanmin(seen.ahead) < 1e-6


def test_where_only_the_curvature_jumps_central_differences_lose_an_order():
    seen = at(torch.nn.functional.elu, 0.0, 1.0)
    assert seen.kind == "smooth"
    assert seen.order == pytest.approx(1, abs=0.05)
    assert seen.taylor_order == pytest.approx(2, abs=0.05)


@pytest.mark.parametrize("name", SMOOTH)
@pytest.mark.parametrize(("factor", "order"), [(1, 2), (1.0009, 1), (0.9, 1), (0, 1), (-1, 1)])
def test_the_remainder_falls_with_the_square_only_where_the_slope_is_right(name, factor, order):
    function, x, slope, _ = SMOOTH[name]
    assert at(function, x, factor * slope).taylor_order == pytest.approx(order, abs=0.05)


def test_a_line_leaves_no_remainder_but_rounding():
    seen = at(lambda x: 3 * x, 0.7, 3.0)
    assert seen.taylor_order is None
    assert seen.taylor.max() < 1e-14
    assert at(lambda x: 3 * x, 0.7, 2.0).taylor_order == pytest.approx(1, abs=1e-3)


@pytest.mark.parametrize("derivative", [None, math.nan, math.inf])
def test_without_a_derivative_there_is_no_remainder(derivative):
    seen = at(torch.exp, 1.0, derivative)
    assert seen.taylor_order is None
    assert not np.isfinite(seen.taylor).any() or derivative == math.inf


def test_a_slope_found_by_widening_is_not_believed_where_a_finer_ladder_contradicts_it():
    seen = at(lambda x: x.clamp(min=0) ** 1.5, 0.0, 0.0)
    assert abs(seen.best.value) <= seen.best.error < 1e-4
    assert seen.taylor_order == pytest.approx(1.5, abs=0.05)


def test_in_float32_the_v_is_short_and_the_ladder_keeps_to_wide_steps():
    seen = at(lambda x: torch.tanh(x.float()).double(), 0.5, 1 - math.tanh(0.5) ** 2, precision=2.0**-24)
    assert seen.kind == "smooth"
    assert 1e-3 < seen.least[0] < 1e-1
    assert 1e-7 < seen.least[1] < 1e-4
    assert min(seen.chosen) > 1e-3
    assert seen.order == pytest.approx(2, abs=0.1)


def test_noise_is_not_called_a_jump():
    rng = np.random.default_rng(0)
    seen = study_step_size(lambda t: np.sin(t) + 1e-6 * rng.standard_normal(t.shape), 0.5, 6.0, math.cos(0.5))
    assert seen.kind == "unresolved"
    assert not math.isinf(seen.left.value)


def test_far_from_0_steps_that_do_not_move_x_are_no_steps():
    seen = at(torch.sin, 1e6, math.cos(1e6))
    assert seen.kind == "smooth"
    assert abs(seen.best.value - math.cos(1e6)) <= seen.best.error
    assert np.isnan(seen.central[-5:]).all()
    assert seen.order == pytest.approx(2, abs=0.03)


@pytest.mark.parametrize("span", [1e-6, 1.0, 1e6])
def test_the_picture_keeps_its_shape_at_every_scale(span):
    seen = study_step_size(lambda t: np.exp(t / span), 0.1 * span, span, math.exp(0.1) / span)
    assert seen.kind == "smooth"
    assert seen.order == pytest.approx(2, abs=0.03)
    assert seen.taylor_order == pytest.approx(2, abs=0.03)
    assert seen.least[0] / span == pytest.approx(1e-5, rel=0.9)


def test_the_microscope_costs_few_calls():
    exp = Counted(torch.exp)
    at(exp, 1.0, math.e)
    assert exp.calls <= 8


def test_a_law_is_fitted_where_it_stands_clear_of_noise():
    law = fit_power_law(STEPS, 5 * STEPS**3 + 1e-12, np.full(65, 1e-12))
    assert (law.order, law.coefficient) == pytest.approx((3, 5), rel=0.03)


def test_where_there_is_no_law_none_is_fitted():
    assert fit_power_law(STEPS, np.full(65, 1e-12), np.full(65, 1e-12)) is None
    assert fit_power_law(STEPS, np.full(65, 1e-3), np.full(65, 1e-12)) is None
    assert fit_power_law(STEPS, np.abs(np.sin(1 / STEPS)) * STEPS, np.full(65, 1e-18)) is None
