import pytest
import torch

from gradloupe.ops import OPS

X = [-1.2, 0.5, 2.0]


def leaf(values=X):
    return torch.tensor(values, dtype=torch.float64, requires_grad=True)


def value(name, x):
    outputs = OPS[name](x, *(each.default for each in OPS[name].parameters))
    return outputs[0] if isinstance(outputs, tuple) else outputs


def gradient(name, x):
    return torch.autograd.grad(value(name, x).sum(), x, create_graph=True)[0]


def test_cube_differentiates_its_backward_by_its_own_function():
    assert type(gradient("cube", leaf()).grad_fn).__name__ == "CubeBackwardBackward"


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
