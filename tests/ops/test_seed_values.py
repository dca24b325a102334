"""What the seed texts say of their Functions, held against figures worked out independently, in float64."""

import ast
import inspect
import math

import pytest
import torch
from latex2mathml.converter import convert
from torch.autograd import gradcheck
from torch.autograd.functional import hessian

from gradloupe.ops import OPS

CLAMP = [-2, -1.5, -1, -0.5, 0, 0.5, 1, 1.5, 2]
CLAMPED = [-1, -1, -1, -0.5, 0, 0.5, 1, 1, 1]
CLIP = [-1, -0.5, 0, 0.5, 1, 1.5, 2, 2.5, 3]
CLIPPED = [0, 0, 0, 0.5, 1, 1.5, 2, 2, 2]
LEFT, RIGHT = [0, 0, 0, 1, 1, 1, 1, 0, 0], [0, 0, 1, 1, 1, 1, 0, 0, 0]
OPEN, CLOSED = [0, 0, 0, 1, 1, 1, 0, 0, 0], [0, 0, 1, 1, 1, 1, 1, 0, 0]
THREE = [-1.2, 0.5, 2]
EXP = [0.135335283237, 1, 2.71828182846, 7.38905609893]
SINH, COSH = [-1.50946135541, 0.521095305494, 3.62686040785], [1.81065556732, 1.12762596521, 3.76219569108]
CUBE, STEP = [4.32, 0.75, 12], [0.0706508249, 0.4199743416]
STAIRS = [-1.25, -0.75, -0.25, 0.25, 0.75, 1.25]

# op, parameters, x, forward, gradient at grad_output +1, gradient at −1, left slope, right slope
GOLDEN = [
    ("clamp_with_grad", (-1.0, 1.0), CLAMP, CLAMPED, [0, 0] + [1] * 7, [-1] * 7 + [0, 0], LEFT, RIGHT),
    ("clamp_with_grad_that_works", (-1.0, 1.0), CLAMP, CLAMPED, CLOSED, [-c for c in CLOSED], LEFT, RIGHT),
    ("clipped_relu", (2.0,), CLIP, CLIPPED, OPEN, [-o for o in OPEN], LEFT, RIGHT),
    ("incorrect_clipped_relu", (2.0,), CLIP, CLIPPED, [1] * 9, [-1] * 9, LEFT, RIGHT),
    ("double", (), [1, 2, 3], [2, 4, 6], [2] * 3, [-2] * 3, [2] * 3, [2] * 3),
    ("exp", (), [-2, 0, 1, 2], EXP, EXP, [-e for e in EXP], EXP, EXP),
    ("square", (), THREE, [1.44, 0.25, 4], [-2.4, 1, 4], [2.4, -1, -4], [-2.4, 1, 4], [-2.4, 1, 4]),
    ("cube", (), THREE, [-1.728, 0.125, 8], CUBE, [-c for c in CUBE], CUBE, CUBE),
    ("sinh", (), THREE, SINH, COSH, [-c for c in COSH], COSH, COSH),
    ("sinh_on_ctx", (), THREE, SINH, COSH, [-c for c in COSH], COSH, COSH),
    ("round_straight_through", (), STAIRS, [-1, -1, 0, 0, 1, 1], [1] * 6, [-1] * 6, [0] * 6, [0] * 6),
    ("heaviside_sigmoid", (4.0,), [-1, 0.5], [0, 1], STEP, [-s for s in STEP], [0, 0], [0, 0]),
]


def tensor(values):
    return torch.tensor(values, dtype=torch.float64)


def first(outputs):
    return outputs[0] if isinstance(outputs, tuple) else outputs


def gradient(name, x, *parameters, grad_output=1.0):
    x = tensor(x).requires_grad_()
    y = first(OPS[name](x, *parameters))
    return torch.autograd.grad(y, x, torch.full_like(y, grad_output))[0]


def close(actual, expected, atol=1e-9):
    torch.testing.assert_close(actual, torch.as_tensor(expected, dtype=actual.dtype), rtol=0, atol=atol)


@pytest.mark.parametrize(
    ("name", "parameters", "x", "y", "plus", "minus", "left", "right"), GOLDEN, ids=[row[0] for row in GOLDEN]
)
def test_forward_gradient_and_slopes_are_the_golden_ones(name, parameters, x, y, plus, minus, left, right):
    def forward(x):
        return first(OPS[name](x, *parameters))

    x, h = tensor(x), 1e-6
    close(forward(x), y)
    close(gradient(name, x.tolist(), *parameters), plus)
    close(gradient(name, x.tolist(), *parameters, grad_output=-1.0), minus)
    close((forward(x) - forward(x - h)) / h, left, atol=1e-5)
    close((forward(x + h) - forward(x)) / h, right, atol=1e-5)


def test_every_op_file_reads_as_a_textbook_page(subtests):
    for name, op in OPS.items():
        with subtests.test(name):
            last = ast.parse(inspect.getsource(inspect.getmodule(op.function))).body[-1]
            assert ast.unparse(last).startswith("op = Op(")
            assert all((op.doc, op.title, op.group, op.reference))
            for formula in (op.forward, op.backward, *([op.surrogate_formula] if op.surrogate else [])):
                assert convert(formula).startswith("<math")
                assert "\\" not in convert(formula)


def test_gradcheck_is_fooled_by_clamp_with_grad_below_the_range_but_not_above():
    def clamp(x):
        return OPS["clamp_with_grad"](x, -1.0, 1.0)

    assert gradcheck(clamp, tensor([-2, 0.5]).requires_grad_())
    assert not gradcheck(clamp, tensor([-2, 0.5, 2]).requires_grad_(), raise_exception=False)


@pytest.mark.parametrize(
    ("name", "x", "bounds", "which"),
    [
        ("clamp_with_grad", -2, (-1.0, 1.0), 0),
        ("clamp_with_grad_that_works", 2, (-1.0, 1.0), 1),
        ("clipped_relu", 3, (2.0,), 0),
    ],
)
def test_the_output_follows_a_bound_that_gets_no_gradient(name, x, bounds, which):
    above, below = list(bounds), list(bounds)
    above[which] += 1e-6
    below[which] -= 1e-6
    close((OPS[name](tensor(x), *above) - OPS[name](tensor(x), *below)) / 2e-6, 1, atol=1e-6)
    y = OPS[name](tensor(x).requires_grad_(), *bounds)
    assert OPS[name].function.backward(y.grad_fn, torch.ones_like(y))[1:] == (None,) * len(bounds)


def test_clamps_let_no_gradient_through_at_nan_and_only_one_at_infinity():
    ends = [math.nan, -math.inf, math.inf]
    close(gradient("clamp_with_grad", ends, -1.0, 1.0), [0, 0, 1])
    close(gradient("clamp_with_grad_that_works", ends, -1.0, 1.0), [0, 0, 0])
    close(gradient("clipped_relu", ends, 2.0), [0, 0, 0])
    assert OPS["clamp_with_grad"](tensor(math.nan), -1.0, 1.0).isnan()


def test_gradcheck_finds_the_missing_mask_unless_every_sample_lies_between_the_kinks():
    def clip(x):
        return OPS["incorrect_clipped_relu"](x, 1.5)

    with pytest.raises(RuntimeError, match="Jacobian mismatch"):
        gradcheck(clip, tensor([1.541, -0.2934, -2.1788, 0.5684, -1.0845]).requires_grad_())
    assert gradcheck(clip, tensor([1.452, 0.0504, 0.4962, 0.3959, 0.2918]).requires_grad_())


WEIGHT, BIAS = [[1.0, 2, 3], [-1, 0.5, 2]], [0.1, -0.2]
BATCH = [[1.0, 0, -1], [2, 1, 0.5]]


def leaf(values):
    return tensor(values).requires_grad_()


def test_replace_grad_swaps_the_jacobians_of_its_arguments():
    forward, backward = leaf([-1.25, 0.25, 0.75]), leaf([1.0, 2.0, 3.0])
    y = OPS["replace_grad"](forward, backward)
    close(y, forward.tolist())
    y.backward(tensor([1.0, -1.0, 5.0]))
    assert forward.grad is None
    close(backward.grad, [1, -1, 5])


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
    x = leaf([[1.0, 2, 3, 4], [5, 6, 7, 8]])
    close(OPS["kill_head"](x, 2), [[0, 0, 3, 4], [0, 0, 7, 8]])
    for n in (0, 1, 4):
        killed = torch.tensor([[0.0] * n + [1.0] * (4 - n)] * 2)
        for sign in (1.0, -1.0):
            close(torch.autograd.grad(sign * OPS["kill_head"](x, n).sum(), x)[0], (sign * killed).tolist())


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_abs_product_takes_the_middle_of_both_slopes_at_its_kink(sign):
    u, v = leaf([-2.0, -1, 0, 1, 2]), tensor(2.0)
    y = OPS["abs_product"](u, v)
    close(y, [4, 2, 0, 2, 4])
    close(torch.autograd.grad(y, u, torch.full_like(y, sign))[0], [-2 * sign, -2 * sign, 0, 2 * sign, 2 * sign])


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


@pytest.mark.parametrize("with_bias", [True, False])
def test_functional_linear_equals_torch_linear(with_bias):
    leaves = leaf(BATCH), leaf(WEIGHT), leaf(BIAS)
    used = leaves if with_bias else leaves[:2]
    ours, theirs = OPS["functional_linear"](*leaves, with_bias), torch.nn.functional.linear(*used)
    close(ours, theirs.tolist())
    found, wanted = (torch.autograd.grad(y, used, tensor([[1.0, -2], [0.5, 3]])) for y in (ours, theirs))
    for mine, other in zip(found, wanted, strict=True):
        close(mine, other.tolist())


def test_the_decorator_of_functional_linear_does_not_stop_a_mixed_derivative_from_being_lost():
    def mixed(linear):
        x, weight = leaf(BATCH), leaf(WEIGHT)
        y = linear(x, weight, leaf(BIAS))
        (first,) = torch.autograd.grad(y, x, torch.ones_like(y).requires_grad_(), create_graph=True)
        return torch.autograd.grad(first.sum(), weight, allow_unused=True)[0]

    assert mixed(torch.nn.functional.linear).tolist() == [[2.0] * 3] * 2
    assert mixed(OPS["functional_linear"].function.apply) is None


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


@pytest.mark.parametrize("name", ["clamp_with_grad_that_works", "clipped_relu"])
def test_the_page_says_what_the_clamp_of_this_torch_does_at_its_bounds(name):
    bound = torch.tensor([-3.0, 3.0], requires_grad=True)
    bound.clamp(-3.0, 3.0).sum().backward()
    (said,) = {int(each) for each in bound.grad}
    assert f" {said}" in OPS[name].doc.rpartition("of the torch that runs here")[2]
