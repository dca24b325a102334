"""The implied forward: the function whose gradient backward really returns."""

import numpy as np
import pytest
import torch
from support.sections import look, op_of, written

from gradloupe.server.numerics.studies.implied_forward import implied_forward


def implied_curve(op, *asked, **given):
    evaluation, verdict = look(op, *asked, **given)
    return evaluation.rows.x, evaluation.numerical.values, implied_forward(evaluation, verdict)


@pytest.mark.parametrize("grad_output", [1.0, -2.5])
@pytest.mark.parametrize("function", [torch.sin, torch.exp, torch.nn.functional.gelu, torch.relu])
def test_a_right_backward_implies_its_forward(function, grad_output):
    _, forward, found = implied_curve(op_of(function), grad_output=grad_output)
    assert found == pytest.approx(forward, abs=1e-12)


def test_a_straight_through_backward_implies_the_identity():
    x, _, found = implied_curve("round_straight_through")
    assert found == pytest.approx(x, abs=1e-2)
    assert np.diff(found) == pytest.approx(np.diff(x), abs=1e-12)


@pytest.mark.parametrize(
    ("grad_output", "clamped"), [(1.0, lambda x: np.maximum(x, -1)), (-1.0, lambda x: np.minimum(x, 1))]
)
def test_clamp_with_grad_implies_another_one_sided_clamp_for_each_sign(grad_output, clamped):
    x, _, found = implied_curve("clamp_with_grad", grad_output=grad_output)
    assert found == pytest.approx(clamped(x), abs=1e-9)


def test_a_surrogate_spike_implies_its_sigmoid():
    x, _, found = implied_curve("heaviside_sigmoid", -2.0, 2.0)
    assert found == pytest.approx(1 / (1 + np.exp(-4 * x)), abs=1e-9)


def test_it_lies_on_forward_where_the_two_agree():
    x, forward, found = implied_curve("incorrect_clipped_relu", -1.0, 3.0)
    assert found == pytest.approx(x, abs=1e-9)
    inside = (x >= 0) & (x <= 2)
    assert found[inside] == pytest.approx(forward[inside], abs=1e-9)


def test_it_goes_on_through_a_jump_of_forward():
    x, _, found = implied_curve(written(torch.sign, lambda x: (x.abs() < 1) * 1.0))
    assert np.ptp(found[x <= -1]) == pytest.approx(0, abs=1e-9)
    assert found[-1] - found[0] == pytest.approx(2, abs=1e-9)


def test_where_backward_is_no_number_there_is_nothing_to_imply():
    x, _, found = implied_curve(written(torch.square, lambda x: torch.where(x > 1, torch.nan, 2 * x)))
    assert np.isnan(found[x > 1.02]).all()
    assert found[x < 1] == pytest.approx(x[x < 1] ** 2, abs=1e-9)


def test_a_parameter_has_no_implied_forward():
    assert implied_curve("clamp_with_grad", wrt="min")[2] is None


def test_grad_output_zero_implies_nothing():
    assert implied_curve("exp", grad_output=0.0)[2] is None
