"""The judge on trial: a slightly wrong gradient must be caught, a right one never accused."""

import numpy as np
import pytest
import torch
from looks import Written, look, op_of, section, written

from gradloupe.ops import OPS
from gradloupe.server.numerics.compare import Status
from gradloupe.server.numerics.judge import judge

F = torch.nn.functional

WORD = {"exact": "matches", "surrogate": "matches its surrogate", "broken": "differs"}


@pytest.mark.parametrize("grad_output", [1.0, -1.0, 2.5])
@pytest.mark.parametrize("name", OPS)
def test_the_measured_verdict_equals_the_claim(name, grad_output):
    op = OPS[name]
    domain = next(each.domain for each in op.inputs if each.name == section(op).wrt)
    _, verdict = look(op, *domain, grad_output=grad_output)
    assert verdict.word == WORD[op.claim]


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("name", OPS)
def test_the_verdict_is_the_same_in_every_dtype(name, dtype):
    op = OPS[name]
    domain = next(each.domain for each in op.inputs if each.name == section(op).wrt)
    _, verdict = look(op, *domain, dtype=dtype)
    assert verdict.word == WORD[op.claim]


RIGHT = {
    name: function
    for module, names in (
        (torch, "sin cos tan exp exp2 expm1 sinh cosh tanh asinh atan erf erfc sigmoid abs relu square sqrt rsqrt log"),
        (torch, "log1p log2 log10 reciprocal acos asin atanh selu celu floor ceil round trunc frac sign i0 lgamma"),
        (F, "gelu silu mish elu softsign tanhshrink hardtanh hardswish relu6 leaky_relu logsigmoid"),
        (F, "softshrink hardshrink"),
    )
    for name in names.split()
    for function in [getattr(module, name)]
} | {
    "x cubed": lambda x: x**3,
    "x to the 9th": lambda x: x**9,
    "a parabola far up": lambda x: x * x + 1e6,
    "a steep parabola": lambda x: 1e6 * x * x,
    "a fast sine": lambda x: torch.sin(50 * x),
    "a narrow bell": lambda x: torch.exp(-100 * x * x),
    "gelu by tanh": lambda x: F.gelu(x, approximate="tanh"),
    "a rounded corner": lambda x: torch.sqrt(x * x + 1),
    "clamp off the grid": lambda x: x.clamp(-0.77, 1.234),
    "a maximum": lambda x: torch.maximum(x, x * x),
    "x |x|": lambda x: x * x.abs(),
    "a steep sigmoid": lambda x: torch.sigmoid(200 * x),
    "a constant": lambda x: 0 * x + 5,
}


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("name", RIGHT)
def test_a_right_gradient_is_never_accused(name, dtype):
    for start, stop in ((-3.0, 3.0), (-0.5, 0.5), (0.0, 100.0)):
        _, verdict = look(op_of(RIGHT[name]), start, stop, dtype=dtype)
        assert verdict.word in ("matches", "undecided"), (start, stop)


@pytest.mark.parametrize("wrong", [1e-11, 1e-9, 1e-6, 1e-3, 1.0])
def test_a_gradient_that_is_wrong_everywhere_by_a_little_is_caught(wrong):
    _, verdict = look(written(torch.exp, lambda x: torch.exp(x) * (1 + wrong)))
    assert verdict.word == "differs"


@pytest.mark.parametrize("wrong", [1e-10, 1e-6, 1.0])
def test_a_gradient_that_is_wrong_at_one_point_of_200_is_caught(wrong):
    def derivative(x):
        slope = torch.cos(x)
        return torch.where((x > 0.999) & (x < 1.001), slope * (1 + wrong), slope)

    evaluation, verdict = look(written(torch.sin, derivative), -1.0, 1.0, 201)
    assert verdict.word == "differs"
    assert evaluation.rows.x[verdict.against.worst] == 1.0


@pytest.mark.parametrize("wrong", [1e-3, 0.1])
def test_in_float32_a_gradient_wrong_by_a_thousandth_is_caught(wrong):
    _, verdict = look(written(torch.tanh, lambda x: (1 - torch.tanh(x) ** 2) * (1 + wrong)), dtype=torch.float32)
    assert verdict.word == "differs"


@pytest.mark.parametrize(
    ("value", "derivative"),
    [
        (torch.sin, lambda x: -torch.cos(x)),
        (torch.exp, lambda x: torch.zeros_like(x)),
        (torch.tanh, lambda x: torch.where(x > 2.5, torch.ones_like(x), 1 - torch.tanh(x) ** 2)),
        (torch.tanh, lambda x: 1 - torch.tanh(x)),
        (lambda x: x.clamp(0, 1), lambda x: torch.ones_like(x)),
        (lambda x: x.clamp(0, 1), lambda x: (x >= 0) * (x <= 1) * 1.01),
        (torch.relu, lambda x: (x > -0.1) * 1.0),
        (torch.sigmoid, lambda x: torch.sigmoid(x)),
        (torch.log1p, lambda x: torch.full_like(x, torch.nan)),
        (torch.square, lambda x: torch.where(x == 0, torch.nan, 2 * x)),
    ],
)
def test_a_wrong_formula_is_caught(value, derivative):
    _, verdict = look(written(value, derivative))
    assert verdict.word == "differs"


@pytest.mark.parametrize("slope", [0.0, 0.5, 1.0])
def test_a_subgradient_at_a_kink_is_accepted(slope):
    _, verdict = look(written(torch.relu, lambda x: torch.where(x == 0, slope, (x > 0) * 1.0)))
    assert verdict.word == "matches"
    assert verdict.forward.count(Status.SUBGRADIENT) == 1


@pytest.mark.parametrize("slope", [-0.01, 1.01, 1e6])
def test_what_is_no_subgradient_at_a_kink_is_caught(slope):
    evaluation, verdict = look(written(torch.relu, lambda x: torch.where(x == 0, slope, (x > 0) * 1.0)))
    assert verdict.word == "differs"
    assert evaluation.rows.x[verdict.against.worst] == 0


def test_a_kink_where_analytical_and_central_agree_is_still_a_kink():
    evaluation, verdict = look("abs_product")
    row = int(np.flatnonzero(evaluation.rows.x == 0)[0])
    assert evaluation.analytical[row] == 0
    assert evaluation.numerical.slopes.left[row] == pytest.approx(-2)
    assert evaluation.numerical.slopes.right[row] == pytest.approx(2)
    assert verdict.forward.status[row] == Status.SUBGRADIENT


@pytest.mark.parametrize("clip", [2.0, 1.37, 0.51])
@pytest.mark.parametrize("count", [401, 200, 57])
def test_the_forgotten_mask_differs_exactly_outside_0_and_clip(clip, count):
    parameter = OPS["incorrect_clipped_relu"].parameters[0].name
    _, verdict = look("incorrect_clipped_relu", -1.0, 3.0, count, **{parameter: clip})
    assert verdict.word == "differs"
    assert verdict.forward.intervals == ((-1.0, 0.0), (clip, 3.0))


def test_clamp_with_grad_has_another_surrogate_for_each_sign_of_grad_output():
    ahead, verdict_ahead = look("clamp_with_grad", grad_output=1.0)
    back, verdict_back = look("clamp_with_grad", grad_output=-1.0)
    assert verdict_ahead.word == verdict_back.word == "matches its surrogate"
    assert ahead.surrogate.values == pytest.approx(np.maximum(ahead.rows.x, -1))
    assert back.surrogate.values == pytest.approx(np.minimum(back.rows.x, 1))
    assert verdict_ahead.forward.intervals == ((1.0, 3.0),)
    assert verdict_back.forward.intervals == ((-3.0, -1.0),)


def test_a_surrogate_that_is_not_what_backward_follows_is_caught():
    op = op_of(
        lambda x: Written.apply(x, torch.round, lambda t: torch.full_like(t, 0.9)),
        surrogate=lambda x: x,
    )
    _, verdict = look(op)
    assert verdict.word == "differs"
    assert verdict.against is not verdict.forward


def test_a_right_gradient_of_a_staircase_is_zero_and_matches():
    evaluation, verdict = look(written(torch.round, lambda x: torch.zeros_like(x)))
    assert verdict.word == "matches"
    assert [each.x for each in evaluation.singularities] == [-2.5, -1.5, -0.5, 0.5, 1.5, 2.5]


def test_a_parameter_has_no_gradient_to_judge():
    _, verdict = look("clamp_with_grad", wrt="min")
    assert verdict.word == "no gradient"


def test_where_forward_is_nowhere_finite_nothing_is_decided():
    _, verdict = look(op_of(torch.acosh), -0.5, 0.5)
    assert verdict.word == "undecided"


def test_tolerances_can_be_chosen():
    op = written(torch.exp, lambda x: torch.exp(x) * 1.001)
    evaluation, strict = look(op)
    assert strict.word == "differs"
    assert judge(evaluation, torch.float64, atol=0.0, rtol=0.01).word == "matches"
