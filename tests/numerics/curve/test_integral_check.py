"""The area check: what forward rises by is the area under what backward returns, and where it is not."""

import numpy as np
import pytest
import torch
from support.sections import look, op_of, written

from gradloupe.server.numerics.status import Status

F = torch.nn.functional
SMOOTH = (torch.sin, torch.exp, torch.tanh, torch.sigmoid, F.gelu, F.silu, F.mish, F.softplus)


def bump(x, low, high):
    return ((x > low) & (x < high)).to(x.dtype)


@pytest.mark.parametrize("function", SMOOTH)
def test_the_area_under_a_right_backward_is_what_forward_rises_by(function):
    for dtype, share in ((torch.float64, 1e-12), (torch.float32, 3e-4)):
        area = look(op_of(function), -5.0, 5.0, dtype=dtype)[0].area
        width = area.right - area.left
        assert np.abs(area.residual / width).max() <= share * np.abs(area.area / width).max()


@pytest.mark.parametrize("factor", [0.0, 1.01])
def test_an_error_half_as_wide_as_the_distance_of_two_points_is_found_wherever_it_is(factor):
    """Between two rows and the three nodes no gap is as wide: one of them always meets it."""
    cell = 6.0 / 400
    for low in np.random.default_rng(7).uniform(-3.0, 3.0 - cell / 2, 12):
        with_fault = written(
            torch.sin, lambda x, low=low: torch.where((x >= low) & (x <= low + cell / 2), factor, 1.0) * torch.cos(x)
        )
        assert look(with_fault, -3.0, 3.0, 401)[1].word == "differs", low


def test_an_error_narrower_than_the_distance_of_two_points_is_found_between_them():
    op = written(torch.sin, lambda x: torch.cos(x) + bump(x, 0.7052, 0.7068))
    verdict = look(op)[1]
    assert verdict.word == "differs"
    ((low, high),) = verdict.forward.intervals
    assert low <= 0.7052 < 0.7068 <= high
    assert high - low < 0.05


def test_a_forward_that_is_another_one_in_float32_is_judged_as_the_one_it_is():
    op = written(lambda x: torch.sin(x) if x.dtype == torch.float64 else torch.sin(1.01 * x), torch.cos)
    assert look(op)[1].word == "matches"
    assert look(op, dtype=torch.float32)[1].word == "differs"


@pytest.mark.parametrize(("wrong", "offset"), [(1e-3, 0.0), (-1e-3, 100.0), (0.0009, 0.0), (0.0009, 100.0)])
def test_in_float32_a_thousandth_everywhere_is_seen_over_long_runs(wrong, offset):
    op = written(lambda x: torch.tanh(x) + offset, lambda x: (1 - torch.tanh(x) ** 2) * (1 + wrong))
    assert look(op, dtype=torch.float32)[1].word == "differs"


def test_a_jump_that_no_point_has_seen_is_no_error_of_backward():
    def stairs(x):
        return torch.floor(37.0 * x) / 37

    evaluation, verdict = look(written(stairs, torch.zeros_like), count=50)
    assert verdict.word in ("matches", "undecided")
    assert evaluation.area.leaps.any() or evaluation.special


def test_a_straight_through_backward_leaves_a_residual_in_every_cell():
    op = written(torch.round, torch.ones_like)
    evaluation, verdict = look(op)
    inside = np.isfinite(evaluation.area.residual)
    assert (verdict.forward.cells[inside] == Status.DIFFERS).mean() > 0.95
    assert evaluation.area.residual[inside] == pytest.approx((evaluation.area.left - evaluation.area.right)[inside])


def test_where_both_halves_cancel_their_rounding_is_no_error_of_backward():
    def value(x):
        return torch.where(x.abs() < 1e-3, 0.5 - x**2 / 24, (1 - x.cos()) / x**2)

    def derivative(x):
        return torch.where(x.abs() < 1e-3, -x / 12 + x**3 / 180, x.sin() / x**2 - 2 * (1 - x.cos()) / x**3)

    assert look(written(value, derivative))[1].word == "matches"
    assert look(written(value, lambda x: 1.000001 * derivative(x)))[1].word == "differs"


@pytest.mark.parametrize("frequency", [20.0, 100.0, 130.0, 140.0, 300.0])
def test_a_forward_that_is_rounded_more_at_its_kinks_than_beside_them_is_right(frequency: float) -> None:
    triangle_wave = op_of(lambda x: torch.asin(torch.sin(frequency * x)))
    assert look(triangle_wave)[1].word == "matches"
