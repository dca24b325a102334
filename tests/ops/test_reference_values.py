"""The ops of the gallery beside torch's own functions, or beside closed forms worked out by hand, in float64."""

import math

import pytest
import torch

from gradloupe.ops import OPS

F = torch.nn.functional
SPREAD = (-3.7, -1.9, -0.8, -0.35, 0.1, 0.45, 0.9, 2.2, 3.6)
ROW = ((0.3, -1.2, 2.0, 0.8), (1.5, 1.4, -0.3, 0.0))

# What torch itself computes, value and gradient. op: function of tensors and parameters, inputs, parameters
SAME = {
    "relu": (F.relu, [SPREAD], ()),
    "leaky_relu": (F.leaky_relu, [SPREAD], (0.3,)),
    "swish": (lambda x, beta: F.silu(beta * x) / beta, [SPREAD], (1.7,)),
    "mish": (F.mish, [SPREAD], ()),
    "hard_swish": (F.hardswish, [SPREAD], ()),
    "softplus_with_threshold": (lambda x, threshold: F.softplus(x, threshold=threshold), [SPREAD], (2.5,)),
    "elu": (F.elu, [SPREAD], (1.7,)),
    "snake": (lambda x, a: x + (1 - torch.cos(2 * a * x)) / (2 * a), [SPREAD], (2.3,)),
    "tanh_once_differentiable": (torch.tanh, [SPREAD], ()),
    "numpy_cube": (lambda x: x**3, [SPREAD], ()),
    "cube_wrong_double_backward": (lambda x: x**3, [SPREAD], ()),
    "softmax": (lambda x: torch.softmax(x, -1), [ROW], ()),
    "logsumexp": (lambda x: torch.logsumexp(x, -1, keepdim=True), [ROW], ()),
    "l2_norm": (lambda x: torch.linalg.vector_norm(x, dim=-1, keepdim=True), [(*ROW, (0.0, 0.0, 0.0, 0.0))], ()),
    "cumulative_sum": (lambda x: x.cumsum(-1), [ROW], ()),
    "cross_entropy": (lambda x, t: F.cross_entropy(x, torch.tensor([t, t]), reduction="none")[:, None], [ROW], (3,)),
    "layer_norm": (lambda x, epsilon: F.layer_norm(x, (4,), eps=epsilon), [ROW], (0.01,)),
    "fused_multiply_add": (lambda a, b, c: torch.addcmul(c, a, b), [SPREAD, SPREAD[::-1], SPREAD], ()),
    "matrix_product": (torch.matmul, [ROW, tuple(zip(*ROW, strict=True))], ()),
    "smooth_magnitude": (
        lambda x, y, b: torch.hypot(torch.hypot(x, y), torch.full_like(x, b)) - b,
        [SPREAD, SPREAD],
        (0.4,),
    ),
    "pact": (lambda x, alpha: torch.minimum(x.relu(), alpha), [SPREAD, (1.3,) * 9], ()),
    "output_kept_on_ctx": (torch.exp, [SPREAD], ()),
    "changes_what_it_saved": (torch.exp, [SPREAD], ()),
    "wrong_jvp": (torch.square, [SPREAD], ()),
    "late_read": (lambda x: 2 * x, [SPREAD], ()),
}


def tensors(inputs):
    return [torch.tensor(each, dtype=torch.float64, requires_grad=True) for each in inputs]


def pulled(function, inputs, parameters):
    """The value, and the gradients for a grad_output of irregular numbers."""
    leaves = tensors(inputs)
    y = function(*leaves, *parameters)
    grad_output = torch.linspace(-1.3, 2.1, y.numel(), dtype=torch.float64).reshape(y.shape)
    return [y, *torch.autograd.grad(y, leaves, grad_output)]


@pytest.mark.parametrize("name", SAME)
def test_an_op_says_what_torch_says(name):
    function, inputs, parameters = SAME[name]
    torch.testing.assert_close(
        pulled(OPS[name], inputs, parameters), pulled(function, inputs, parameters), rtol=1e-12, atol=1e-13
    )


def sigmoid(z):
    return 1 / (1 + math.exp(-z))


def normal(z):
    return math.exp(-z * z / 2) / math.sqrt(2 * math.pi)


def heaviside(x):
    return float(x >= 0)


def sign(x):
    return math.copysign(1, x)


# By hand. op: value and share of grad_output as functions of x and the parameters, and the parameters
BY_HAND = {
    "sign_straight_through": (sign, lambda x: 1, ()),
    "sign_straight_through_clipped": (sign, lambda x: abs(x) <= 1, ()),
    "sign_quadratic": (sign, lambda x: max(0, 2 - 2 * abs(x)), ()),
    "sign_swish": (
        lambda x, b: sign(x),
        lambda x, b: 2 * b * sigmoid(b * x) * sigmoid(-b * x) * (2 + b * x * (1 - 2 * sigmoid(b * x))),
        (3.0,),
    ),
    "heaviside_atan": (lambda x, a: heaviside(x), lambda x, a: a / 2 / (1 + (math.pi / 2 * a * x) ** 2), (3.0,)),
    "superspike": (lambda x, a: heaviside(x), lambda x, a: 1 / (1 + a * abs(x)) ** 2, (5.0,)),
    "heaviside_triangle": (lambda x, w: heaviside(x), lambda x, w: max(0, 1 - abs(x) / w) / w, (1.5,)),
    "heaviside_gaussian": (lambda x, s: heaviside(x), lambda x, s: normal(x / s) / s, (0.7,)),
    "dorefa": (lambda x, k: round(3 * min(max(x, 0), 1)) / 3, lambda x, k: 0 <= x <= 1, (2,)),
    "ternary": (lambda x, t: sign(x) * (abs(x) > t), lambda x, t: 1, (0.7,)),
    "fake_quantize": (
        lambda x, s: s * min(max(round(x / s), -8), 7),
        lambda x, s: -8 <= round(x / s) <= 7,
        (0.25,),
    ),
    "sparse_straight_through": (lambda x, t: x * (abs(x) > t), lambda x, t: 1, (0.7,)),
    "lower_bound": (lambda x, b: max(x, b), lambda x, b: x >= b, (-0.5,)),
    "gelu_by_tanh": (
        lambda x: F.gelu(torch.tensor(x, dtype=torch.float64), approximate="tanh").item(),
        lambda x: math.erfc(-x / math.sqrt(2)) / 2 + x * normal(x),
        (),
    ),
    "truncated_exp": (lambda x, c: math.exp(x), lambda x, c: math.exp(min(max(x, -c), c)), (1.5,)),
    "gradient_reversal": (lambda x, s: x, lambda x, s: -s, (0.4,)),
    "gradient_scale": (lambda x, s: x, lambda x, s: s, (0.4,)),
    "gradient_clip": (lambda x, limit: x, lambda x, limit: limit, (0.4,)),
    "guided_relu": (lambda x: max(x, 0), lambda x: x > 0, ()),
    "deconvolution_relu": (lambda x: max(x, 0), lambda x: 1, ()),
    "stop_gradient": (lambda x: x, lambda x: 0, ()),
    "float32_mask": (lambda x: x if x > 0 else 0.1 * x, lambda x: 1 if x > 0 else 0.10000000149011612, ()),
    "weight_decay_in_backward": (lambda x: x, lambda x: 1 + 0.05 * x, ()),
    "input_changed_in_place": (lambda x: 2 * x, lambda x: 2, ()),
    "state_on_the_class": (lambda x: x * x, lambda x: 2 * x, ()),
}


@pytest.mark.parametrize("name", BY_HAND)
def test_an_op_says_what_its_formula_says(name):
    value, share, parameters = BY_HAND[name]
    (x,) = tensors([SPREAD])
    y = OPS[name](x * 1, *parameters)
    (gradient,) = torch.autograd.grad(y, x, torch.ones_like(y))
    expected = [[float(each(x, *parameters)) for x in SPREAD] for each in (value, share)]
    torch.testing.assert_close([y, gradient], tensors(expected), rtol=1e-12, atol=1e-13)


# Abramowitz and Stegun, tables 9.1 and 9.4; the omega constant, and points where w is plain
@pytest.mark.parametrize(
    ("name", "parameters", "x", "y", "slope"),
    [
        ("bessel_j0", (), 1.0, 0.7651976865579666, -0.4400505857449335),
        ("bessel_j0", (), 2.404825557695773, 0.0, -0.5191474972894669),
        ("bessel_j0", (), -10.0, -0.2459357644513483, 0.0434727461688614),
        ("lambert_w", (), 1.0, 0.5671432904097838, 0.3618962566348892),
        ("lambert_w", (), 2 * math.exp(2), 2.0, math.exp(-2) / 3),
        ("lambert_w", (), 0.0, 0.0, 1.0),
        ("fixed_point_tanh", (0.9,), 0.0, 0.0, 10.0),
        ("fixed_point_tanh", (0.5,), math.atanh(0.6) - 0.3, 0.6, 0.64 / 0.68),
        ("fixed_point_tanh", (-0.9,), math.atanh(0.6) + 0.54, 0.6, 0.64 / 1.576),
    ],
)
def test_what_code_that_autograd_cannot_see_computes_stands_in_the_tables(name, parameters, x, y, slope):
    (at,) = tensors([[x]])
    value = OPS[name](at, *parameters)
    (gradient,) = torch.autograd.grad(value, at)
    assert (value.item(), gradient.item()) == pytest.approx((y, slope), rel=1e-12, abs=1e-14)


def test_sparsemax_is_the_nearest_row_of_probabilities():
    (x,) = tensors([((1.2, 0.9, -1.0, 0.1), (3.0, 0.0, 0.0, 0.0))])
    y = OPS["sparsemax"](x)
    (gradient,) = torch.autograd.grad(y, x, torch.tensor(((1.0, 4.0, 8.0, 2.0), (5.0, 1.0, 1.0, 1.0))).double())
    torch.testing.assert_close(y.detach(), torch.tensor(((0.65, 0.35, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0))).double())
    torch.testing.assert_close(gradient, torch.tensor(((-1.5, 1.5, 0.0, 0.0), (0.0, 0.0, 0.0, 0.0))).double())


def test_pooling_gives_the_gradient_to_the_winner_and_none_to_its_place():
    (x,) = tensors([((1.0, 3.0, 5.0, 2.0),)])
    y, index = OPS["max_pool_with_indices"](x)
    assert (y.tolist(), index.tolist(), index.requires_grad) == ([[3.0, 5.0]], [[1, 0]], False)
    (gradient,) = torch.autograd.grad(y, x, torch.tensor([[7.0, 9.0]]).double())
    assert gradient.tolist() == [[0.0, 7.0, 9.0, 0.0]]


def test_a_point_in_polar_coordinates_moves_along_and_across():
    r, theta = tensors([2.0, math.pi / 6])
    x, y = OPS["polar_to_cartesian"](r, theta)
    assert (x.item(), y.item()) == pytest.approx((math.sqrt(3), 1.0))
    slopes = [torch.autograd.grad(each, (r, theta), retain_graph=True) for each in (x, y)]
    assert [each.item() for pair in slopes for each in pair] == pytest.approx([math.sqrt(3) / 2, -1, 0.5, math.sqrt(3)])


def test_choices_pass_the_gradient_straight_through():
    for name, parameters, chosen in (("one_hot_argmax", (), [0, 0, 1, 0]), ("top_k_mask", (2,), [0, 0, 1, 1])):
        (x,) = tensors([ROW[:1]])
        y = OPS[name](x, *parameters)
        grad_output = torch.tensor([[3.0, -1.0, 0.5, 2.0]]).double()
        assert y.tolist() == [chosen]
        assert torch.equal(torch.autograd.grad(y, x, grad_output)[0], grad_output)


def test_the_learned_step_gets_what_rounding_has_moved_or_the_level():
    x, step = tensors([(-3.0, 0.3, 0.7, 9.0), 0.5])
    y = OPS["learned_step_size"](x, step, -4, 3)
    assert y.tolist() == [-2.0, 0.5, 0.5, 1.5]
    to_x, _ = torch.autograd.grad(y.sum(), (x, step), retain_graph=True)
    assert to_x.tolist() == [0.0, 1.0, 1.0, 0.0]
    to_step = [torch.autograd.grad(each, step, retain_graph=True)[0].item() for each in y]
    assert to_step == pytest.approx([-4.0, 0.4, -0.4, 3.0])


def test_chance_rounds_right_on_average_and_fires_as_often_as_it_says():
    x = torch.tensor([0.3, -1.2, 2.0]).double()
    rounded = torch.stack([OPS["stochastic_round"](x, seed) for seed in range(400)])
    fired = torch.stack([OPS["bernoulli_straight_through"](x, seed) for seed in range(400)])
    torch.testing.assert_close(rounded.mean(0), x, rtol=0, atol=0.08)
    torch.testing.assert_close(fired.mean(0), x.sigmoid(), rtol=0, atol=0.08)
    assert ((rounded - x).abs() < 1).all()
    assert torch.equal(OPS["stochastic_round"](x, 5), OPS["stochastic_round"](x, 5))


def test_gradients_that_depend_on_grad_output_turn_with_its_sign():
    for name, parameters, back in (
        ("lower_bound", (0.0,), [-1, -1]),
        ("guided_relu", (), [0, 0]),
        ("deconvolution_relu", (), [0, 0]),
        ("gradient_clip", (0.25,), [-0.25, -0.25]),
    ):
        (x,) = tensors([(-2.0, 2.0)])
        y = OPS[name](x, *parameters)
        assert torch.autograd.grad(y, x, -torch.ones_like(y))[0].tolist() == back
