"""Second derivatives of the ops: which are right, which are 0, and which are silently missing."""

import pytest
import torch
from torch.autograd import gradcheck, gradgradcheck

from gradloupe.ops import OPS

X = [-1.2, 0.5, 2.0]
SINH = [-1.50946135541, 0.521095305494, 3.62686040785]
SECOND = {
    "square": [2.0, 2.0, 2.0],
    "cube": [-7.2, 3.0, 12.0],
    "exp": [0.301194211912, 1.6487212707, 7.38905609893],
    "sinh": SINH,
}


def leaf(values=X):
    return torch.tensor(values, dtype=torch.float64, requires_grad=True)


def value(name, x):
    outputs = OPS[name](x, *(each.default for each in OPS[name].parameters))
    return outputs[0] if isinstance(outputs, tuple) else outputs


def gradient(name, x):
    return torch.autograd.grad(value(name, x).sum(), x, create_graph=True)[0]


def slope_of_gradient(name, values=X):
    x, h = leaf(values).detach(), 1e-6
    above, below = (gradient(name, (x + move).requires_grad_()).detach() for move in (h, -h))
    return ((above - below) / (2 * h)).tolist()


@pytest.mark.parametrize("name", SECOND)
def test_the_second_derivative_is_the_golden_one(name):
    x = leaf()
    (second,) = torch.autograd.grad(gradient(name, x).sum(), x)
    assert second.tolist() == pytest.approx(SECOND[name], abs=1e-9)
    assert slope_of_gradient(name) == pytest.approx(SECOND[name], abs=1e-4)


@pytest.mark.parametrize("name", [*SECOND, "every output of sinh"])
def test_gradgradcheck_passes_where_double_backward_is_supported(name):
    assert gradgradcheck(OPS["sinh"] if name not in SECOND else lambda x: value(name, x), leaf())


def test_cube_differentiates_its_backward_by_its_own_function():
    assert type(gradient("cube", leaf()).grad_fn).__name__ == "CubeBackwardBackward"


def test_sinh_on_ctx_is_right_once_and_has_no_second_derivative():
    x = leaf()
    first = gradient("sinh_on_ctx", x)
    assert first.tolist() == gradient("sinh", leaf()).tolist()
    assert first.grad_fn is None
    with pytest.raises(RuntimeError, match="does not require grad"):
        torch.autograd.grad(first.sum(), x)
    assert slope_of_gradient("sinh_on_ctx") == pytest.approx(SINH, abs=1e-4)
    assert gradcheck(OPS["sinh_on_ctx"], leaf())
    assert not gradgradcheck(OPS["sinh_on_ctx"], leaf(), raise_exception=False)


@pytest.mark.parametrize("name", ["double", "clamp_with_grad", "clamp_with_grad_that_works", "clipped_relu"])
def test_a_piecewise_linear_op_has_no_second_graph_and_a_second_derivative_of_0(name):
    assert gradient(name, leaf([-1.2, 0.5, 2.5])).grad_fn is None
    assert slope_of_gradient(name, [-1.2, 0.5, 2.5]) == [0, 0, 0]


def test_functional_linear_refuses_a_second_backward_through_it():
    x, weight, bias = leaf([[1.0, 0, -1], [2, 1, 0.5]]), leaf([[1.0, 2, 3], [-1, 0.5, 2]]), leaf([0.1, -0.2])
    y = OPS["functional_linear"](x, weight, bias, True)
    cotangent = torch.ones_like(y).requires_grad_()
    (first,) = torch.autograd.grad(y, x, cotangent, create_graph=True)
    with pytest.raises(RuntimeError, match="differentiate twice"):
        first.sum().backward()


def test_the_decorator_of_functional_linear_does_not_stop_a_mixed_derivative_from_being_lost():
    def mixed(linear):
        x, weight = leaf([[1.0, 0, -1], [2, 1, 0.5]]), leaf([[1.0, 2, 3], [-1, 0.5, 2]])
        y = linear(x, weight, leaf([0.1, -0.2]))
        (first,) = torch.autograd.grad(y, x, torch.ones_like(y).requires_grad_(), create_graph=True)
        return torch.autograd.grad(first.sum(), weight, allow_unused=True)[0]

    assert mixed(torch.nn.functional.linear).tolist() == [[2.0] * 3] * 2
    assert mixed(OPS["functional_linear"].function.apply) is None
