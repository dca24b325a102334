"""What the seed texts say of Functions with shapes, several inputs or several outputs; figures in float64."""

import math

import pytest
import torch
from torch.autograd.functional import hessian, jacobian

from gradloupe.ops import OPS

WEIGHT, BIAS = [[1.0, 2, 3], [-1, 0.5, 2]], [0.1, -0.2]
BATCH = [[1.0, 0, -1], [2, 1, 0.5]]


def tensor(values):
    return torch.tensor(values, dtype=torch.float64)


def leaf(values):
    return tensor(values).requires_grad_()


def close(actual, expected, atol=1e-9):
    torch.testing.assert_close(actual, torch.as_tensor(expected, dtype=actual.dtype), rtol=0, atol=atol)


def test_replace_grad_swaps_the_jacobians_of_its_arguments():
    forward, backward = leaf([-1.25, 0.25, 0.75]), leaf([1.0, 2.0, 3.0])
    y = OPS["replace_grad"](forward, backward)
    close(y, forward.tolist())
    y.backward(tensor([1.0, -1.0, 5.0]))
    assert forward.grad is None
    close(backward.grad, [1, -1, 5])


def test_replace_grad_of_round_x_and_x_is_the_straight_through_round():
    x = leaf([-1.25, -0.75, -0.25, 0.25, 0.75, 1.25])
    y = OPS["replace_grad"](x.round(), x)
    close(y, [-1, -1, 0, 0, 1, 1])
    for sign in (1.0, -1.0):
        close(torch.autograd.grad(y, x, torch.full_like(y, sign), retain_graph=True)[0], [sign] * 6)


@pytest.mark.parametrize(("out", "into", "sum_of_ones"), [((2, 3, 4), (3, 1), 8.0), ((5,), (1,), 5.0), ((), (), 1.0)])
def test_replace_grad_sums_the_gradient_to_the_shape_of_x_backward(out, into, sum_of_ones):
    x = torch.zeros(into, requires_grad=True)
    OPS["replace_grad"](torch.zeros(out), x).sum().backward()
    close(x.grad, torch.full(into, sum_of_ones))


def test_replace_grad_fails_in_backward_when_the_shapes_do_not_fit():
    y = OPS["replace_grad"](torch.zeros(3), torch.zeros(4, requires_grad=True))
    with pytest.raises(RuntimeError, match="not expandable"):
        y.sum().backward()


def test_kill_head_keeps_the_last_columns_and_their_gradients():
    def row(x):
        return OPS["kill_head"](x[None], 2)[0]

    x = tensor([1.0, 2, 3, 4])
    close(row(x), [0, 0, 3, 4])
    close(jacobian(row, x), torch.diag(tensor([0.0, 0, 1, 1])))
    for sign in (1.0, -1.0):
        x = leaf([1.0, 2, 3, 4])
        close(torch.autograd.grad(sign * row(x).sum(), x)[0], [0, 0, sign, sign])


@pytest.mark.parametrize(("n", "kept"), [(0, 8), (2, 6), (8, 0)])
def test_kill_head_kills_n_columns(n, kept):
    x = torch.ones(3, 8, requires_grad=True)
    OPS["kill_head"](x, n).sum().backward()
    close(x.grad.sum(), 3 * kept)


def test_kill_head_lowers_the_loss_by_the_closed_form_and_leaves_the_head_alone():
    i = torch.arange(8, dtype=torch.float64)
    target = torch.stack([0.1 * i - 0.7, 0.2 * i - 0.5, 0.3 - 0.1 * i])
    x = torch.stack([1 - 0.25 * i, 0.5 * (-1) ** i, 0.125 * i]).requires_grad_()
    head, losses = x[:, :2].tolist(), []
    optimizer = torch.optim.SGD([x], lr=1.0)
    for _ in range(5):
        loss = torch.nn.functional.mse_loss(OPS["kill_head"](x, 2), target)
        losses.append(loss.item())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    measured = [0.468723958333333, 0.402643048321759, 0.3471167281037, 0.300459195142693, 0.261253907029624]
    assert losses == pytest.approx(measured, abs=1e-13)
    assert losses == pytest.approx([0.055 + 0.4137239583333334 * (121 / 144) ** k for k in range(5)], abs=1e-13)
    assert x[:, :2].tolist() == head


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_abs_product_takes_the_middle_of_both_slopes_at_its_kink(sign):
    u, v, h = leaf([-2.0, -1, 0, 1, 2]), tensor(2.0), 1e-6
    y = OPS["abs_product"](u, v)
    close(y, [4, 2, 0, 2, 4])
    close(torch.autograd.grad(y, u, torch.full_like(y, sign))[0], [-2 * sign, -2 * sign, 0, 2 * sign, 2 * sign])
    with torch.no_grad():
        close((y - OPS["abs_product"](u - h, v)) / h, [-2, -2, -2, 2, 2], atol=1e-6)
        close((OPS["abs_product"](u + h, v) - y) / h, [-2, -2, 2, 2, 2], atol=1e-6)


def test_abs_product_broadcasts_and_has_the_hessian_of_minus_uv():
    u, v = leaf([[1.0], [-2], [3]]), leaf([[2.0, -1]])
    OPS["abs_product"](u, v).sum().backward()
    close(u.grad, [[3], [-3], [3]])
    close(v.grad, [[6, -6]])
    (uu, uv), (vu, vv) = hessian(OPS["abs_product"], (tensor(-2.0), tensor(3.0)))
    assert [uu.item(), uv.item(), vu.item(), vv.item()] == [0, -1, -1, 0]


@pytest.mark.parametrize(
    ("used", "to_a", "to_b", "to_c"),
    [
        ([1, 0], [0.5, 0.75], [-0.2, 0.05625], [0.5, 0.25]),
        ([0, 1], [0, 0], [0.25, 0.1875], [0, 0]),
        ([1, 1], [0.5, 0.75], [0.05, 0.24375], [0.5, 0.25]),
    ],
    ids=["img", "alpha", "both"],
)
def test_image_and_alpha_add_up_what_each_output_contributes(used, to_a, to_b, to_c):
    a, b, c = leaf([0.2, 0.8]), leaf([0, math.log(3)]), leaf([1, 0.5])
    outputs = OPS["image_alpha"](a, b, c)
    close(outputs[0], [0.6, 0.725])
    close(outputs[1], [0.5, 0.75])
    for sign in (1, -1):
        loss = sign * sum(output.sum() for output, use in zip(outputs, used, strict=True) if use)
        gradients = torch.autograd.grad(loss, (a, b, c), retain_graph=True)
        for gradient, expected in zip(gradients, (to_a, to_b, to_c), strict=True):
            close(gradient, [sign * each for each in expected])


def test_functional_linear_gives_the_golden_output_and_gradients():
    x, weight, bias = leaf(BATCH), leaf(WEIGHT), leaf(BIAS)
    y = OPS["functional_linear"](x, weight, bias, True)
    close(y, [[-1.9, -3.2], [5.6, -0.7]])
    y.sum().backward()
    close(x.grad, [[0, 2.5, 5]] * 2)
    close(weight.grad, [[3, 1, -0.5]] * 2)
    close(bias.grad, [2, 2])


@pytest.mark.parametrize("with_bias", [True, False])
def test_functional_linear_equals_torch_linear(with_bias):
    leaves = leaf(BATCH), leaf(WEIGHT), leaf(BIAS)
    used = leaves if with_bias else leaves[:2]
    ours = OPS["functional_linear"](*leaves, with_bias)
    theirs = torch.nn.functional.linear(*used)
    cotangent = tensor([[1.0, -2], [0.5, 3]])
    close(ours, theirs.tolist())
    for mine, other in zip(
        torch.autograd.grad(ours, used, cotangent), torch.autograd.grad(theirs, used, cotangent), strict=True
    ):
        close(mine, other.tolist())


def test_the_engine_sums_the_batch_that_functional_linear_leaves_in_front():
    x, weight, bias = torch.ones(4, 3, requires_grad=True), leaf(WEIGHT).float(), leaf(BIAS).float()
    y = OPS["functional_linear"](x, weight, bias, True)
    raw = OPS["functional_linear"].function.backward(y.grad_fn, torch.ones_like(y))
    assert [tuple(each.shape) for each in raw] == [(4, 3), (4, 2, 3), (4, 2)]
    summed = torch.autograd.grad(y.sum(), (x, weight, bias))
    assert [tuple(each.shape) for each in summed] == [(4, 3), (2, 3), (2,)]
    close(summed[1], raw[1].sum(0))


def test_functional_linear_without_bias_saves_none_and_returns_none():
    y = OPS["functional_linear"](leaf(BATCH), leaf(WEIGHT), leaf(BIAS), False)
    assert y.grad_fn.saved_tensors[2] is None
    assert y.grad_fn.needs_input_grad == (True, True, False)
    assert OPS["functional_linear"].function.backward(y.grad_fn, torch.ones_like(y))[2] is None
