"""The map of what backward returns for many grad_outputs: every column of one colour where it is linear."""

import numpy as np
import pytest
import torch
from functions.basics import with_backward
from support.answers import document
from support.sections import op_of, written


def mapped(op, **asked):
    """x, the grad_outputs, and a row of ratios for each of them."""
    header, columns = document(op, "map", -2.0, 2.0, **{"count": 9} | asked)
    return columns["x"], columns["grad_output"], columns["ratio"].reshape(header["shape"])


@pytest.mark.parametrize(
    ("grad_output", "reach"),
    [
        (1.0, 3),
        (0.0, 3),
        (0.001, 3),
        (1e-300, 3),
        (2, 3),
        (2.1, 4),
        (-2.5, 4),
        (10, 15),
        (-700.0, 1500),
        (1e308, 1.79e308),
    ],
)
def test_the_axis_ends_at_a_round_number_and_holds_zero_and_the_grad_output_asked_for(grad_output, reach):
    _, values, ratio = mapped("exp", grad_output=grad_output)
    assert (values.size, values[40]) == (81, 0)
    assert (np.diff(values) > 0).all()
    assert (values == -values[::-1]).all()
    assert grad_output in values
    assert values[-1] == pytest.approx(reach, rel=0.01)
    assert np.isnan(ratio[40]).all()  # there is no ratio to a grad_output of zero


def test_what_is_not_finite_has_no_colour():
    x, _, ratio = mapped(written(torch.log, lambda x: 1 / x))
    assert np.isnan(ratio[:, x <= 0]).all()
    assert ratio[-1, x > 0] == pytest.approx(1 / x[x > 0])


def test_the_grad_output_is_the_one_the_dtype_holds():
    x, _, ratio = mapped("square", dtype="bfloat16", grad_output=0.3)
    assert np.delete(ratio, 40, 0) == pytest.approx(np.tile(2 * x, (80, 1)), rel=2**-8)


def test_a_row_that_backward_refuses_is_empty_and_a_forward_that_fails_has_no_map():
    def only_positive(g, x):
        if (g < 0).any():
            raise ValueError("only positive, please")
        return g

    def fails(x):
        raise ValueError("too large")

    _, values, ratio = mapped(op_of(with_backward(torch.clone, only_positive).apply))
    assert np.isnan(ratio[values < 0]).all()
    assert (ratio[values > 0] == 1).all()
    header, columns = document(op_of(fails), "map")
    assert (header["failure"]["message"], columns) == ("too large", {})


def test_a_parameter_has_no_map():
    header, columns = document("clamp_with_grad", "map", wrt="min")
    assert ("no gradient for min" in header["sentence"], columns) == (True, {})
