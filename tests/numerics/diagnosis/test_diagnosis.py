"""The explanation on trial: the simplest story that fits is told, with its numbers, and none that only nearly fits."""

import math
import re

import pytest
import torch
from support.sampling import sampled
from support.sections import Written, explanation, op_of, section, written

from gradloupe.ops import OPS, Input

F = torch.nn.functional
one, cos, sin, exp, tanh, sigmoid = torch.ones_like, torch.cos, torch.sin, torch.exp, torch.tanh, torch.sigmoid


STORIES = [
    ("constant factor", sin, lambda x: 1.5 * cos(x), "1.5 times the slope of forward everywhere."),
    ("constant factor", torch.square, lambda x: x, "0.5 times the slope", "a factor 2 is missing"),
    ("constant factor", lambda x: x**3, lambda x: x**2, "a factor 3 is missing"),
    ("constant factor", exp, lambda x: 1.0009 * exp(x), "1.0009 times"),
    ("constant factor", exp, lambda x: (1 + 3e-9) * exp(x), "1.000000003 times"),
    ("constant factor", lambda x: x, lambda x: -0.3 * one(x), "−0.3 times", "its sign is reversed"),
    ("constant factor", torch.relu, lambda x: 1.01 * (x > 0), "1.01 times"),
    ("constant factor", lambda x: 10**x, lambda x: 10**x, "0.4343 times", "a factor ln 10 is missing"),
    ("constant factor", torch.deg2rad, one, "57.3 times", "a factor 180/π is too many"),
    ("reversed", torch.cos, sin, "its sign reversed everywhere"),
    ("reversed", lambda x: x.clamp(-1, 2), lambda x: -1.0 * ((x > -1) & (x < 2)), "its sign reversed"),
    ("blocked", sin, torch.zeros_like, "backward returns 0 everywhere, although forward moves"),
    ("blocked", torch.relu, torch.zeros_like, "backward returns 0 everywhere, although forward moves"),
    ("straight-through", torch.sign, one, "passes grad_output on unchanged everywhere: a straight-through estimator"),
    ("straight-through", torch.round, lambda x: 2 * one(x), "returns 2 times grad_output everywhere"),
    ("straight-through", lambda x: 0 * x + 2, one, "y does not move with x"),
    ("straight-through", sin, one, "passes grad_output on unchanged everywhere, whatever the slope"),
    ("window", torch.sign, lambda x: (x.abs() <= 1) * 1.0, "unchanged for −1 < x < 1 and returns 0 elsewhere"),
    (
        "window",
        torch.round,
        lambda x: torch.where(x.abs() < 1, 1, 0.1),
        "for −1 < x < 1 and returns 0.1 times",
        "levels",
    ),
    ("window", torch.round, lambda x: torch.where(x.abs() < 1, -0.2, 1), "unchanged for x < −1 and for x > 1", "−0.2"),
    ("window", lambda x: torch.round(3 * x.clamp(0, 1)) / 3, lambda x: 0.7 * ((x > 0) & (x < 1)), "0.7", "0 < x < 1"),
    ("bump", torch.sign, lambda x: (2 - 2 * x.abs()).clamp(min=0), "2 high at x = 0", "high 0.5", "area 2"),
    ("bump", torch.sign, lambda x: 0.5 * exp(-((x - 0.7) ** 2) / 0.08), "0.5 high at x = 0.7", "high 0.236 to"),
    ("bump", torch.sign, lambda x: 1 / (1 + 10 * x.abs()) ** 2, "area 0.194 in this range, where forward rises by 2"),
    ("bump", torch.sign, lambda x: (1 - 4 * x * x) * exp(-4 * x * x), "with lobes down to"),
    ("mask missing", lambda x: (x * x).clamp(0, 1), lambda x: 2 * x, "for x < −1 and for x > 1", "from −6 to 6 times"),
    ("mask missing", lambda x: x.clamp(-0.5, 3), one, "for x < −0.5", "passes grad_output on unchanged"),
    ("leaky mask", torch.relu, lambda x: torch.where(x > 0, 1.0, 0.1), "for x < 0", "0.1 times grad_output"),
    ("mask misplaced", torch.relu, lambda x: (x > -0.1) * 1.0, "for −0.1 < x < 0, where forward is flat"),
    (
        "mask misplaced",
        lambda x: x.clamp(-1, 1),
        lambda x: (x.abs() < 1.37) * 1.0,
        "for −1.37 < x < −1",
        "1 < x < 1.37",
    ),
    ("missing factor", tanh, one, "unchanged everywhere: the factor 1 − y² is missing"),
    ("missing factor", tanh, lambda x: 1 - tanh(x), "Times 1 + y"),
    ("missing factor", sigmoid, sigmoid, "Times 1 − y"),
    ("missing factor", sigmoid, one, "the factor y (1 − y) is missing"),
    ("missing factor", exp, one, "the factor y is missing"),
    ("missing factor", torch.square, lambda x: 2 * one(x), "returns 2 times grad_output", "the factor x is missing"),
    ("missing factor", lambda x: x**3, lambda x: 3 * x, "the factor x is missing"),
    ("missing factor", lambda x: x**3, lambda x: 3 * one(x), "the factor x² is missing"),
    ("missing factor", torch.atan, one, "the factor 1/(1 + x²) is missing"),
    ("extra factor", torch.square, lambda x: 2 * x * x, "x times the slope of forward"),
    ("extra factor", sigmoid, lambda x: (sigmoid(x) * (1 - sigmoid(x))) ** 2, "y (1 − y) times the slope"),
    ("added constant", exp, lambda x: exp(x) + 0.1, "(the slope of forward + 0.1) everywhere"),
    ("added constant", sin, lambda x: cos(x) - 2, "(the slope of forward − 2) everywhere"),
    ("added multiple of x", exp, lambda x: exp(x) + 0.01 * x, "+ 0.01 x)", "weight decay"),
    ("added multiple of x", sin, lambda x: cos(x) - x, "(the slope of forward − x) everywhere"),
    ("low precision", sin, lambda x: cos(x.float()).double(), "24 significant bits instead of 53", "float32"),
    ("low precision", sin, lambda x: cos(x).bfloat16().double(), "8 significant bits", "bfloat16"),
    ("low precision", sin, lambda x: cos(x / 2) ** 2 - (sin(x / 2).float().double()) ** 2, "part of it", "float32"),
    ("only in part", exp, lambda x: exp(x.clamp(-2, 2)), "right only for −2 < x < 2", "0.1353 times", "7.389 times"),
    ("only in part", tanh, lambda x: (1 - tanh(x) ** 2) * (x.abs() < 2), "elsewhere it returns 0"),
    ("only in part", torch.relu, lambda x: (x > 0.37) * 1.0, "for x > 0.37: elsewhere it returns 0"),
    ("only in part", F.leaky_relu, lambda x: torch.where(x > 0, 1.0, 0.1), "right only for x > 0"),
    (
        "only in part",
        torch.relu,
        lambda x: torch.where(x == 0, 7.0, (x > 0) * 1.0),
        "returns 7 times grad_output at x = 0",
    ),
    ("not finite", torch.square, lambda x: torch.where(x == 0, math.nan, 2 * x), "NaN at x = 0", "right elsewhere"),
    ("not finite", torch.square, lambda x: torch.where(x > 1, math.inf, 2 * x), "for x > 1"),
    ("low precision", lambda x: -2.18 * x, lambda x: (-2.18 * one(x)).float().double(), "right except for", "float32"),
    (
        "low precision",
        lambda x: F.leaky_relu(x, 0.1),
        lambda x: (0.9 * (x > 0).float() + 0.1).double(),
        "24 significant bits instead of 53",
        "by up to 1e−9 of the largest slope",  # a kink is left out: there slopes between both sides are right
    ),
    ("constant factor", sin, lambda x: 1e-170 * cos(x), "1e−170 times the slope", "a factor 1e170 is missing"),
    ("constant factor", sin, lambda x: 1e-320 * cos(x), "1e−320 times the slope of forward everywhere."),
    ("missing factor", torch.square, lambda x: 1e-170 * one(x), "the factor 2e170 x is missing"),
    ("straight-through", torch.square, lambda x: 1e-310 * one(x), "returns 1e−310 times grad_output everywhere"),
]


@pytest.mark.parametrize(("kind", "value", "derivative", "words"), [(*row[:3], row[3:]) for row in STORIES])
def test_the_story_that_was_planted_is_told(kind, value, derivative, words, subtests):
    op = written(value, derivative)
    for grad_output in (1.0, -1.0, 2.5):
        with subtests.test(grad_output=grad_output):
            story = explanation(op, grad_output=grad_output)
            assert story.kind == kind
            for word in words:
                if grad_output > 0 or "∞" not in word:
                    assert word in story.sentence
    if "1.37" not in words[-1]:
        assert {count: explanation(op, count=count).kind for count in (101, 1001)} == {101: kind, 1001: kind}


@pytest.mark.parametrize("held", [torch.finfo(torch.float64).tiny, 1e-160])
def test_a_held_value_near_0_does_not_hide_the_factor(held):
    op = op_of(lambda x, eps: Written.apply(x, sin, lambda x: 3 * cos(x)) + eps, Input("x"), Input("eps", value=held))
    assert "3 times the slope of forward everywhere" in explanation(op, wrt="x").sentence


@pytest.mark.parametrize("row", [0, 1, 4 + 1, 9, 11, 13, 17, 19, 23, 25, 28, 30, 37, 39, 41])
def test_the_story_is_the_same_in_float32(row):
    kind, value, derivative = STORIES[row][:3]
    assert explanation(written(value, derivative), dtype=torch.float32).kind == kind


NEARLY = [
    ("low precision", lambda x: -2.18 * x, lambda x: -2.18 * (1 + 1e-7) * one(x)),
    ("low precision", lambda x: -2.18 * x, lambda x: (-2.18 * (1 + 1e-5) * one(x)).float().double()),
    ("constant factor", sin, lambda x: torch.where((x - 1).abs() < 0.2, 1.0, 1.5) * cos(x)),
    ("constant factor", sin, lambda x: 1.5 * cos(x) + 1e-4),
    ("reversed", sin, lambda x: -cos(x) * (1 + 1e-5 * x)),
    ("straight-through", torch.round, lambda x: 1 + 1e-6 * x),
    ("window", torch.sign, lambda x: (x.abs() <= 1) * (1 + 0.01 * x)),
    ("window", torch.sign, lambda x: (1.5 - x.abs()).clamp(0, 1)),
    ("window", torch.round, lambda x: torch.where(x.abs() < 1, 1, 0.1 + 0.001 * x)),
    ("bump", torch.sign, lambda x: (x.abs() <= 1) * 1.0),
    ("bump", torch.sign, lambda x: cos(6 * x)),
    ("bump", torch.sign, exp),
    ("mask missing", torch.relu, lambda x: torch.where(x > 0, 1.001, 1.0)),
    ("mask missing", torch.relu, lambda x: torch.where((x > 0) | (x < -1), 1.0, 0.0)),
    ("mask misplaced", torch.relu, lambda x: torch.where((x > 0) | (x < -1), 1.0, 0.0)),
    ("missing factor", sigmoid, lambda x: x * (1 - x)),
    ("missing factor", tanh, lambda x: 1 - x**2),
    ("missing factor", sin, sin),
    ("missing factor", tanh, lambda x: 1 + 1e-6 * x),
    ("extra factor", torch.square, lambda x: 2 * x * torch.sin(x)),
    ("added constant", exp, lambda x: exp(x) + 0.1 + 1e-4 * x),
    ("added multiple of x", exp, lambda x: exp(x) + 0.1 * sin(x)),
    ("low precision", sin, lambda x: cos(x) * (1 + 1e-8 * x)),
    ("low precision", sin, lambda x: (cos(x) * 32).round() / 32),
    ("low precision", sin, lambda x: cos(x) + 1e-8 * (x > 1)),
    ("only in part", exp, lambda x: exp(x.clamp(-2, 2)) * (1 + 0.1 * (x.abs() > 2) * x)),
    ("not finite", torch.square, lambda x: torch.where(x == 0, math.nan, 3 * x)),
]


@pytest.mark.parametrize(("kind", "value", "derivative"), NEARLY)
def test_a_story_that_only_nearly_fits_is_not_told(kind, value, derivative):
    story = explanation(written(value, derivative))
    assert story is not None
    assert story.kind != kind


@pytest.mark.parametrize(
    ("value", "derivative"),
    [(sin, sin), (sigmoid, lambda x: x * (1 - x)), (F.silu, sigmoid), (torch.sign, lambda x: cos(6 * x))],
)
def test_where_nothing_fits_that_is_said(value, derivative):
    story = explanation(written(value, derivative))
    assert story.kind == "unexplained"
    assert story.sentence.startswith("No simple explanation was found")


def test_the_few_points_that_a_story_leaves_out_are_named():
    story = explanation(written(sin, lambda x: torch.where(x == 0, 1.0, 1.5) * cos(x)))
    assert story.sentence == "backward returns 1.5 times the slope of forward everywhere but at x = 0."


@pytest.mark.parametrize("name", sampled(name for name, op in OPS.items() if op.claim == "exact"))
def test_what_matches_needs_no_explanation(name):
    domain = next(each.domain for each in OPS[name].inputs if each.name == section(name).wrt)
    assert [explanation(name, *domain, grad_output=grad_output) for grad_output in (1.0, -2.5)] == [None, None]


@pytest.mark.parametrize("grad_output", [1.0, -1.0, 2.5])
def test_the_forgotten_mask_of_the_specimen_is_told_and_the_tensor_it_never_uses(grad_output):
    assert explanation("incorrect_clipped_relu", -1.0, 3.0, grad_output=grad_output).sentence == (
        "backward is right where forward moves, but where it is flat, for input < 0 and for input > 2, backward passes "
        "grad_output on unchanged: the mask is missing. forward saves input, and backward never uses it."
    )


@pytest.mark.parametrize("grad_output", [1.0, -1.0, 2.5])
def test_clamp_with_grad_answers_the_forum(grad_output):
    assert explanation("clamp_with_grad", grad_output=grad_output).sentence == (
        "What backward returns depends on the sign of grad_output: for input < −1 it returns 0 if that is positive and "
        "grad_output unchanged if it is negative; for input > 1 it returns grad_output unchanged if that is positive "
        "and 0 if it is negative. So this is not the gradient of any one function."
    )


@pytest.mark.parametrize("name", ["replace_grad", "round_straight_through"])
def test_straight_through_is_told_as_what_it_is(name):
    assert explanation(name).kind == "straight-through"


@pytest.mark.parametrize(("alpha", "height"), [(4.0, "1 high at x = 0"), (8.0, "2 high at x = 0"), (0.5, "0.125 high")])
def test_the_bell_of_the_heaviside_is_a_bump_with_its_measures(alpha, height):
    story = explanation("heaviside_sigmoid", -2.0, 2.0, alpha=alpha)
    assert story.kind == "bump"
    assert height in story.sentence


def test_beside_a_surrogate_the_story_is_told_of_that():
    op = written(torch.sign, lambda x: 0.5 * (1 - tanh(x) ** 2), surrogate=lambda x: tanh(x))
    assert explanation(op).sentence.startswith("backward returns 0.5 times the slope of its surrogate everywhere")


@pytest.mark.parametrize("value", [torch.detach, torch.acosh, lambda x: x + torch.rand_like(x)])
def test_where_nothing_can_be_judged_nothing_is_explained(value):
    assert explanation(op_of(value), -0.5, 0.5) is None


@pytest.mark.parametrize("name", ["gradient_scale", "gelu_by_tanh", "sparse_straight_through", "truncated_exp"])
def test_what_is_declared_is_not_told_as_a_defect(name):
    said = explanation(name, -4.0, 4.0).sentence
    assert not [each for each in ("too many", "missing", "wrong", "leaks", "is right", "No simple") if each in said]


def test_a_range_of_factors_holds_wherever_it_is_told_of():
    said = explanation("gelu_by_tanh", -4.0, 4.0).sentence
    low, high = (float(each) for each in re.search(r"from ([\d.]+) to ([\d.]+) times", said).groups())
    assert "at least a tenth as steep" in said
    x = torch.linspace(-4, 4, 100_001, dtype=torch.float64).requires_grad_()
    returned, slope = (torch.autograd.grad(F.gelu(x, approximate=how).sum(), x)[0] for how in ("none", "tanh"))
    share = (returned / slope)[slope.abs() >= 0.1 * slope.abs().max()]
    assert (share.min().item(), share.max().item()) == pytest.approx((low, high), abs=6e-4)
