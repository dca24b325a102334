"""The map of what backward returns for many grad_outputs: every column of one colour where it is linear."""

import numpy as np
import pytest
import torch
from support.sections import op_of, section, written

from gradloupe.server.numerics.studies.gradient_map import grad_output_axis, gradient_map
from gradloupe.server.runtime.batching import batched_section
from gradloupe.server.runtime.failure import FunctionFailed

X = np.linspace(-2, 2, 9)


def mapped(op, grad_outputs, x=X, **asked):
    cut = batched_section(section(op, **asked), x)
    return gradient_map(cut, x, np.array(grad_outputs))


@pytest.mark.parametrize("grad_output", [1.0, -1.0, 0.0, 0.3, 2.5, -700.0, 0.001, 1e-300, 1e308])
def test_the_axis_holds_zero_and_the_grad_output_asked_for(grad_output):
    values = grad_output_axis(grad_output)
    assert values.size == 81
    assert values[40] == 0
    assert (np.diff(values) > 0).all()
    assert (values == -values[::-1]).all()
    assert grad_output in values
    assert values[-1] >= max(3, min(1.5 * abs(grad_output), 1e308))


@pytest.mark.parametrize(("grad_output", "reach"), [(0.5, 3), (2, 3), (2.1, 4), (2.5, 4), (10, 15), (700, 1500)])
def test_the_axis_ends_at_a_round_number(grad_output, reach):
    assert grad_output_axis(grad_output)[-1] == reach


def test_a_linear_backward_has_columns_of_one_value():
    ratio = mapped("exp", [-3.0, 0.5, 2.0])
    assert ratio.shape == (3, 9)
    assert ratio == pytest.approx(np.tile(np.exp(X), (3, 1)))


def test_clamp_with_grad_is_two_one_sided_clamps():
    negative, positive = mapped("clamp_with_grad", [-2.0, 2.0])
    assert negative.tolist() == [float(x <= 1) for x in X]
    assert positive.tolist() == [float(x >= -1) for x in X]


def test_there_is_no_ratio_to_a_grad_output_of_zero():
    assert np.isnan(mapped("exp", [0.0])).all()


def test_what_is_not_finite_has_no_colour():
    ratio = mapped(written(torch.log, lambda x: 1 / x), [1.0, -1.0])
    assert np.isnan(ratio[:, X <= 0]).all()
    assert ratio[:, X > 0] == pytest.approx(np.tile(1 / X[X > 0], (2, 1)))


def test_the_grad_output_is_the_one_the_dtype_holds():
    ratio = mapped("square", [0.3], dtype=torch.bfloat16)
    assert ratio[0].tolist() == (2 * X).tolist()


class RefusesTheNegative(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        if (x > 100).any():
            raise ValueError("too large")
        return x.clone()

    @staticmethod
    def backward(ctx, grad_output):
        if (grad_output < 0).any():
            raise ValueError("only positive, please")
        return grad_output


def test_a_row_that_backward_refuses_is_empty():
    ratio = mapped(op_of(RefusesTheNegative.apply), [-1.0, 1.0])
    assert np.isnan(ratio[0]).all()
    assert ratio[1].tolist() == [1.0] * 9


def test_a_forward_that_fails_has_no_map():
    with pytest.raises(FunctionFailed, match="too large"):
        mapped(op_of(RefusesTheNegative.apply), [1.0], np.array([1.0, 200.0]))


def test_a_parameter_has_an_empty_map():
    assert np.isnan(mapped("clamp_with_grad", [1.0], wrt="min")).all()
