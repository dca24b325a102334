import numpy as np
import pytest
import torch
from support.answers import document
from support.sections import written


def implied(op, *range_, **asked):
    """x, forward, and the implied one; None where there is none."""
    _, columns = document(op, "curves", *range_, **asked)
    return columns["x"], columns["forward"], columns.get("implied")


def test_a_straight_through_backward_implies_the_identity():
    x, _, found = implied("round_straight_through")
    assert found == pytest.approx(x, abs=1e-2)
    assert np.diff(found) == pytest.approx(np.diff(x), abs=1e-12)


@pytest.mark.parametrize(
    ("grad_output", "clamped"), [(1.0, lambda x: np.maximum(x, -1)), (-1.0, lambda x: np.minimum(x, 1))]
)
def test_clamp_with_grad_implies_another_one_sided_clamp_for_each_sign(grad_output, clamped):
    x, _, found = implied("clamp_with_grad", grad_output=grad_output)
    assert found == pytest.approx(clamped(x), abs=1e-9)


@pytest.mark.parametrize("grad_output", [1.0, -2.5])
def test_it_lies_on_forward_where_the_two_agree(grad_output):
    x, forward, found = implied("incorrect_clipped_relu", -1.0, 3.0, grad_output=grad_output)
    assert found == pytest.approx(x, abs=1e-9)
    inside = (x >= 0) & (x <= 2)
    assert found[inside] == pytest.approx(forward[inside], abs=1e-9)


def test_it_goes_on_through_a_jump_of_forward():
    x, _, found = implied(written(torch.sign, lambda x: (x.abs() < 1) * 1.0))
    assert np.ptp(found[x <= -1]) == pytest.approx(0, abs=1e-9)
    assert found[-1] - found[0] == pytest.approx(2, abs=1e-9)


def test_where_backward_is_no_number_there_is_nothing_to_imply():
    x, _, found = implied(written(torch.square, lambda x: torch.where(x > 1, torch.nan, 2 * x)))
    assert np.isnan(found[x > 1.02]).all()
    assert found[x < 1] == pytest.approx(x[x < 1] ** 2, abs=1e-9)


def test_where_backward_is_right_and_where_nothing_comes_back_nothing_is_implied():
    for asked in (
        {"op": "exp"},
        {"op": "clamp_with_grad", "wrt": "min"},
        {"op": "clamp_with_grad", "grad_output": 0.0},
    ):
        assert implied(**asked)[2] is None
