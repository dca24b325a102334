"""The explanation on trial: the simplest story that fits is told, with its numbers, and none that only nearly fits."""

import math
import re

import pytest
import torch
from functions.basics import with_backward
from support.answers import document
from support.sampling import sampled
from support.sections import Written, op_of, written
from support.written_functions import function_of

from gradloupe.ops import OPS, Input, Parameter

F = torch.nn.functional
one, cos, sin, exp, tanh, sigmoid = torch.ones_like, torch.cos, torch.sin, torch.exp, torch.tanh, torch.sigmoid


def story(op, *range_, **asked):
    """The kind and the sentence of what the page says of why backward differs; None and nothing where it does not."""
    found = document(op, "curves", *range_, **asked)[0]["verdict"]["explanation"]
    return (found["kind"], found["sentence"]) if found else (None, "")


STORIES = [
    ("constant factor", sin, lambda x: 1.5 * cos(x), "1.5 times the slope of forward everywhere."),
    ("constant factor", torch.square, lambda x: x, "0.5 times the slope", "a factor 2 is missing"),
    ("constant factor", lambda x: x**3, lambda x: x**2, "a factor 3 is missing"),
    ("constant factor", exp, lambda x: (1 + 3e-9) * exp(x), "1.000000003 times"),
    ("constant factor", lambda x: x, lambda x: -0.3 * one(x), "−0.3 times", "its sign is reversed"),
    ("constant factor", lambda x: 10**x, lambda x: 10**x, "0.4343 times", "a factor ln 10 is missing"),
    ("constant factor", torch.deg2rad, one, "57.3 times", "a factor 180/π is too many"),
    ("reversed", torch.cos, sin, "its sign reversed everywhere"),
    ("reversed", lambda x: x.clamp(-1, 2), lambda x: -1.0 * ((x > -1) & (x < 2)), "its sign reversed"),
    ("blocked", sin, torch.zeros_like, "backward returns 0 everywhere, although forward moves"),
    ("straight-through", torch.sign, one, "passes grad_output on unchanged everywhere: a straight-through estimator"),
    ("straight-through", torch.round, lambda x: 2 * one(x), "returns 2 times grad_output everywhere"),
    ("unfounded", lambda x: 0 * x + 2, one, "y does not move with x"),
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
    (
        "leaky mask",
        lambda x: x.clamp(-1, 1),
        lambda x: (x.abs() <= 1) + 0.05 * (x > 1),
        "for x > 1",
        "0.05 times grad_output",
    ),
    ("mask missing", lambda x: x.clamp(-1, 1), lambda x: (x >= -1) * 1.0, "for x > 1", "unchanged"),
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
    ("missing factor", torch.square, lambda x: 2 * one(x), "returns 2 times grad_output", "the factor x is missing"),
    ("missing factor", lambda x: x**3, lambda x: 3 * one(x), "the factor x² is missing"),
    ("missing factor", torch.atan, one, "the factor 1/(1 + x²) is missing"),
    ("extra factor", torch.square, lambda x: 2 * x * x, "x times the slope of forward"),
    ("extra factor", sigmoid, lambda x: (sigmoid(x) * (1 - sigmoid(x))) ** 2, "y (1 − y) times the slope"),
    ("added constant", exp, lambda x: exp(x) + 0.1, "(the slope of forward + 0.1) everywhere"),
    ("added multiple of x", exp, lambda x: exp(x) + 0.01 * x, "+ 0.01 x)", "weight decay"),
    ("added multiple of x", sin, lambda x: cos(x) - x, "(the slope of forward − x) everywhere"),
    ("low precision", sin, lambda x: cos(x.float()).double(), "24 significant bits instead of 53", "float32"),
    ("low precision", sin, lambda x: cos(x).bfloat16().double(), "8 significant bits", "bfloat16"),
    ("low precision", sin, lambda x: cos(x / 2) ** 2 - (sin(x / 2).float().double()) ** 2, "part of it", "float32"),
    ("only in part", exp, lambda x: exp(x.clamp(-2, 2)), "right only for −2 < x < 2", "0.1353 times", "7.389 times"),
    ("only in part", tanh, lambda x: (1 - tanh(x) ** 2) * (x.abs() < 2), "elsewhere it returns 0"),
    ("only in part", torch.relu, lambda x: (x > 0.37) * 1.0, "for x > 0.37: elsewhere it returns 0"),
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
        "of the largest slope",  # a kink is left out: there slopes between both sides are right
    ),
    ("constant factor", sin, lambda x: 1e-170 * cos(x), "1e−170 times the slope", "a factor 1e170 is missing"),
    ("constant factor", sin, lambda x: 1e-320 * cos(x), "1e−320 times the slope of forward everywhere."),
    ("missing factor", torch.square, lambda x: 1e-170 * one(x), "the factor 2e170 x is missing"),
    ("extra factor", torch.square, lambda x: 2 * x * exp(x), "exp(x) times the slope of forward everywhere"),
    ("missing factor", sin, lambda x: 0.5 * cos(x) * exp(-2 * x), "the factor 2 exp(2 x) is missing"),
    (
        "mask reversed",
        lambda x: x.clamp(-1, 1),
        lambda x: 0.001 + 0.999 * (x.abs() > 1),
        "for −1 < x < 1, backward returns 0.001 times the slope",
        "where it is flat, it passes grad_output on unchanged: the mask is reversed",
    ),
    ("mask reversed", lambda x: (x * x).clamp(0, 1), lambda x: 2 * x * (x.abs() > 1), "backward returns 0, and"),
    ("mask reversed", lambda x: F.leaky_relu(x, 0.1), lambda x: one(x) - 0.9 * (x > 0).to(x), "where it is less steep"),
    ("straight-through", torch.square, lambda x: 1e-310 * one(x), "returns 1e−310 times grad_output everywhere"),
]

# How a story is looked at: each for one grad_output in turn; in all of these ways nightly.
WAYS = ({"grad_output": 1.0}, {"grad_output": -1.0}, {"grad_output": 2.5}, {"count": 101}, {"count": 1001})


def in_turn(rows):
    """What is planted, its story, how it is looked at, and the words for it."""
    return [
        pytest.param(*row[:3], way, row[3:], marks=() if turn == at % 3 else pytest.mark.nightly)
        for at, row in enumerate(rows)
        for turn, way in enumerate(WAYS)
        if "count" not in way or "1.37" not in row[-1]
    ]


@pytest.mark.parametrize(("kind", "value", "derivative", "way", "words"), in_turn(STORIES))
def test_the_story_that_was_planted_is_told(kind, value, derivative, way, words):
    found, said = story(written(value, derivative), **way)
    assert found == kind
    assert "count" in way or [word for word in words if word not in said] == []


@pytest.mark.parametrize("held", [torch.finfo(torch.float64).tiny, 1e-160])
def test_a_held_value_near_0_does_not_hide_the_factor(held):
    op = op_of(lambda x, eps: Written.apply(x, sin, lambda x: 3 * cos(x)) + eps, Input("x"), Input("eps", value=held))
    assert story(op, wrt="x")[1].startswith("backward returns 3 times")


@pytest.mark.parametrize("row", [0, 7, 9, 10, 16, 20, 22, 25, 27, 34])
def test_the_story_is_the_same_in_float32(row):
    kind, value, derivative = STORIES[row][:3]
    assert story(written(value, derivative), dtype="float32")[0] == kind


NEARLY = [
    ("low precision", lambda x: -2.18 * x, lambda x: -2.18 * (1 + 1e-7) * one(x)),
    ("low precision", lambda x: -2.18 * x, lambda x: (-2.18 * (1 + 1e-5) * one(x)).float().double()),
    ("constant factor", sin, lambda x: torch.where((x - 1).abs() < 0.2, 1.0, 1.5) * cos(x)),
    ("constant factor", sin, lambda x: 1.5 * cos(x) + 1e-4),
    ("straight-through", torch.round, lambda x: 1 + 1e-6 * x),
    ("window", torch.sign, lambda x: (x.abs() <= 1) * (1 + 0.01 * x)),
    ("window", torch.sign, lambda x: (1.5 - x.abs()).clamp(0, 1)),
    ("window", torch.round, lambda x: torch.where(x.abs() < 1, 1, 0.1 + 0.001 * x)),
    ("bump", torch.sign, lambda x: (x.abs() <= 1) * 1.0),
    ("bump", torch.sign, lambda x: cos(6 * x)),
    ("mask missing", torch.relu, lambda x: torch.where(x > 0, 1.001, 1.0)),
    ("mask missing", torch.relu, lambda x: torch.where((x > 0) | (x < -1), 1.0, 0.0)),
    ("mask misplaced", torch.relu, lambda x: torch.where((x > 0) | (x < -1), 1.0, 0.0)),
    ("missing factor", sigmoid, lambda x: x * (1 - x)),
    ("missing factor", sin, sin),
    ("missing factor", tanh, lambda x: 1 + 1e-6 * x),
    ("extra factor", torch.square, lambda x: 2 * x * torch.sin(x)),
    ("added constant", exp, lambda x: exp(x) + 0.1 + 1e-4 * x),
    ("added multiple of x", exp, lambda x: exp(x) + 0.1 * sin(x)),
    ("low precision", sin, lambda x: cos(x) * (1 + 1e-8 * x)),
    ("low precision", sin, lambda x: (cos(x) * 32).round() / 32),
    ("only in part", exp, lambda x: exp(x.clamp(-2, 2)) * (1 + 0.1 * (x.abs() > 2) * x)),
    ("not finite", torch.square, lambda x: torch.where(x == 0, math.nan, 3 * x)),
    ("mask reversed", torch.relu, lambda x: 2.0 * (x <= 0)),
    ("mask reversed", torch.relu, lambda x: torch.where(x > 0, 0.1 * x, one(x))),
    ("extra factor", torch.square, lambda x: 2 * x * exp(x) * (1 + 1e-4 * x)),
]


@pytest.mark.parametrize(("kind", "value", "derivative"), NEARLY)
def test_a_story_that_only_nearly_fits_is_not_told(kind, value, derivative):
    assert story(written(value, derivative))[0] not in (None, kind)


@pytest.mark.parametrize(
    ("value", "derivative"),
    [(sin, sin), (sigmoid, lambda x: x * (1 - x)), (F.silu, sigmoid), (torch.sign, lambda x: cos(6 * x))],
)
def test_where_nothing_fits_that_is_said(value, derivative):
    kind, said = story(written(value, derivative))
    assert (kind, said.startswith("No simple explanation")) == ("unexplained", True)


def test_the_few_points_that_a_story_leaves_out_are_named():
    op = written(sin, lambda x: torch.where(x == 0, 1.0, 1.5) * cos(x))
    assert story(op)[1].endswith("everywhere but at x = 0.")


@pytest.mark.parametrize("name", sampled(name for name, op in OPS.items() if op.claim == "exact"))
def test_what_matches_needs_no_explanation(name):
    swept = OPS[name].wrt.partition("[")[0] or OPS[name].inputs[0].name
    domain = next(each.domain for each in OPS[name].inputs if each.name == swept)
    assert [story(name, *domain, grad_output=grad_output)[0] for grad_output in (1.0, -2.5)] == [None, None]


@pytest.mark.parametrize("grad_output", [1.0, -1.0, 2.5])
def test_the_forgotten_mask_of_the_specimen_is_told_and_the_tensor_it_never_uses(grad_output):
    assert story("incorrect_clipped_relu", -1.0, 3.0, grad_output=grad_output)[1] == (
        "backward is right where forward moves, but where it is flat, for input < 0 and for input > 2, backward passes "
        "grad_output on unchanged: the mask is missing. forward saves input, and backward never uses it."
    )


@pytest.mark.parametrize("grad_output", [1.0, -1.0, 2.5])
def test_clamp_with_grad_answers_the_forum(grad_output):
    assert story("clamp_with_grad", grad_output=grad_output)[1] == (
        "What backward returns depends on the sign of grad_output: for input < −1 it returns 0 if that is positive and "
        "grad_output unchanged if it is negative; for input > 1 it returns grad_output unchanged if that is positive "
        "and 0 if it is negative. So this is not the gradient of any one function."
    )


@pytest.mark.parametrize(("alpha", "height"), [(4.0, "1 high at x = 0"), (8.0, "2 high at x = 0"), (0.5, "0.125 high")])
def test_the_bell_of_the_heaviside_is_a_bump_with_its_measures(alpha, height):
    kind, said = story("heaviside_sigmoid", -2.0, 2.0, alpha=alpha)
    assert (kind, height in said) == ("bump", True)


def test_beside_a_surrogate_the_story_is_told_of_that():
    op = written(torch.sign, lambda x: 0.5 * (1 - tanh(x) ** 2), surrogate=lambda x: tanh(x))
    assert "slope of its surrogate" in story(op)[1]


@pytest.mark.parametrize("value", [torch.detach, torch.acosh, lambda x: x + torch.rand_like(x)])
def test_where_nothing_can_be_judged_nothing_is_explained(value):
    assert story(op_of(value), -0.5, 0.5)[0] is None


@pytest.mark.parametrize("name", ["gradient_scale", "gelu_by_tanh", "sparse_straight_through", "truncated_exp"])
def test_what_is_declared_is_not_told_as_a_defect(name):
    _, said = story(name, -4.0, 4.0)
    assert said
    assert not [each for each in ("too many", "missing", "wrong", "leaks", "is right", "No simple") if each in said]


def test_a_range_of_factors_holds_wherever_it_is_told_of():
    _, said = story("gelu_by_tanh", -4.0, 4.0)
    low, high = (float(each) for each in re.search(r"from ([\d.]+) to ([\d.]+) times", said).groups())
    assert "a tenth as steep" in said
    x = torch.linspace(-4, 4, 100_001, dtype=torch.float64).requires_grad_()
    returned, slope = (torch.autograd.grad(F.gelu(x, approximate=how).sum(), x)[0] for how in ("none", "tanh"))
    share = (returned / slope)[slope.abs() >= 0.1 * slope.abs().max()]
    assert (share.min().item(), share.max().item()) == pytest.approx((low, high), abs=6e-4)


# What backward does to grad_output: it is forgotten, clipped, squared, heeded for its sign, added to.
OF_GRAD_OUTPUT = [
    ("grad_output forgotten", sin, lambda g, x: cos(x), "the bare slope of forward, the same for grad_output 0"),
    ("grad_output forgotten", sin, lambda g, x: sin(x), "it returns the same for grad_output 0"),
    ("sign of grad_output", sin, lambda g, x: g.abs() * cos(x), "loses the sign"),
    (
        "sign of grad_output",
        torch.relu,
        lambda g, x: g * (x > 0) * (g > 0),
        "for x > 0 it returns grad_output unchanged",
    ),
    (
        "sign of grad_output",
        lambda x: x.clamp(min=0.3),
        lambda g, x: g * ((x > 0.3) | (g < 0)),
        "for x < 0.3",
        "0 if that",
    ),
    ("clips", lambda x: 1 * x, lambda g, x: g.clamp(-0.1, 0.1), "clips grad_output at ±0.1"),
    ("clips", torch.square, lambda g, x: (g * 2 * x).clamp(-1, 1), "clips what it returns at ±1"),
    ("normalises", sin, lambda g, x: g.sign() * cos(x), "only its sign counts"),
    ("power of grad_output", sin, lambda g, x: g**2 * cos(x), "to the power 2"),
    ("power of grad_output", sin, lambda g, x: g**3 * cos(x), "to the power 3"),
    ("not in proportion", sin, lambda g, x: tanh(g) * cos(x), "not in proportion to grad_output"),
    ("added term", sin, lambda g, x: g * cos(x) + 0.01 * x, "grad_output 0 backward returns 0.01 x", "weight decay"),
    ("added term", exp, lambda g, x: g * exp(x) - 0.1, "returns −0.1: it adds a term that does not come from the loss"),
    ("random", sin, lambda g, x: g * cos(x) + 1e-3 * torch.randn_like(x), "called twice"),
    ("written to", sin, lambda g, x: g.mul_(cos(x)), "writes to grad_output"),
]


@pytest.mark.parametrize(("kind", "value", "backward", "way", "words"), in_turn(OF_GRAD_OUTPUT))
def test_what_is_done_to_grad_output_is_told(kind, value, backward, way, words):
    found, said = story(op_of(with_backward(value, backward).apply), **way)
    assert found == kind
    assert [word for word in words if word not in said] == []


def test_what_is_squashed_is_not_said_to_be_clipped():
    squashed = op_of(with_backward(sin, lambda g, x: tanh(g) * cos(x)).apply)
    found = {story(squashed, grad_output=grad_output)[0] for grad_output in (1.0, 2.5)}
    assert not found & {None, "clips", "normalises", "power of grad_output"}


def of_two(value, backward):
    """An op of u and v, held at 2, with both gradients written by hand."""
    return op_of(with_backward(value, backward).apply, Input("u"), Input("v", value=2.0))


@pytest.mark.parametrize(
    ("value", "backward"),
    [
        (lambda u, v: u * v**2, lambda g, u, v: (g * 2 * u * v, g * v**2)),
        (lambda u, v: sin(u) * exp(v), lambda g, u, v: (g * sin(u) * exp(v), g * cos(u) * exp(v))),
    ],
)
def test_gradients_returned_in_the_wrong_order_are_told(value, backward):
    for wrt, other, grad_output in (("u", "v", 1.0), ("v", "u", 1.0), ("u", "v", -1.0), ("v", "u", 2.5)):
        kind, said = story(of_two(value, backward), wrt=wrt, grad_output=grad_output)
        assert (kind, f"with respect to {other}, and the other way" in said) == ("swapped", True)


def test_one_gradient_in_the_place_of_another_is_no_swap_of_both_and_one_that_nearly_is_none():
    kind, said = story(of_two(lambda u, v: u * v**2, lambda g, u, v: (g * 2 * u * v, g * 2 * u * v)))
    assert (kind, "the other way round" in said) == ("of another input", False)
    assert story(of_two(lambda u, v: u * v**2, lambda g, u, v: (g * 2.01 * u * v, g * v**2)))[0] == "extra factor"


@pytest.mark.parametrize(("power", "word"), [(0, "a factor v is missing"), (2, "a factor v is too many")])
def test_a_factor_that_another_input_holds_is_called_by_its_name(power, word):
    op = of_two(lambda u, v: sin(u) * v, lambda g, u, v: (g * cos(u) * v**power, g * sin(u)))
    assert all(word in said for _, said in (story(op), story(op, v=(-1.7,))))


def test_a_number_that_only_happens_to_be_what_an_input_holds_is_not_called_by_its_name():
    op = of_two(lambda u, v: sin(u) * v, lambda g, u, v: (g * cos(u) * v * 2, g * sin(u)))
    assert "factor" not in story(op)[1]
    assert "returns 2 times" in story(op)[1]


def test_a_factor_that_changes_with_what_is_held_has_no_name_however_plain_it_is():
    op = of_two(lambda u, v: sin(u) * (3 - v), lambda g, u, v: (g * cos(u) * (3 + v), -g * sin(u)))
    kind, said = story(op)
    assert (kind, "returns 5 times the slope of forward everywhere, a factor that changes" in said) == (
        "constant factor",
        True,
    )


def test_an_exponential_of_what_is_swept_is_missing_and_no_multiple_of_the_output():
    op = of_two(lambda u, v: sin(v) * exp(u), lambda g, u, v: (g * sin(v), g * cos(v) * exp(u)))
    assert story(op)[1].endswith("the factor exp(u) is missing.")


def test_an_element_without_a_gradient_of_its_own_does_not_stop_those_of_others():
    rolled = with_backward(lambda x: 2 * x, lambda g, x: 2 * g.roll(1))
    op = op_of(rolled.apply, Input("x", shape=(2,), value=(0.4, -1.1)))
    assert story(op, wrt="x[0]", of="y[0]")[0] != "blocked"


def test_a_factor_that_a_parameter_holds_is_called_by_its_name():
    scaled = with_backward(torch.mul, lambda g, x, scale: (g, None))
    op = op_of(
        lambda x, scale: scaled.apply(x, torch.tensor(scale)),
        Input("x"),
        parameters=(Parameter("scale", 2.0, 0.0, 3.0),),
    )
    assert "a factor scale is missing" in story(op)[1]


@pytest.mark.parametrize(
    "of_grad_output", [torch.sinh, torch.log, lambda g: g * (g.abs() != 1), lambda g: 1 / g, torch.floor]
)
def test_no_function_of_grad_output_is_too_odd_for_words(of_grad_output):
    op = op_of(with_backward(exp, lambda g, x: of_grad_output(g) * exp(x)).apply)
    assert document(op, "curves")[0]["verdict"]["word"] == "differs"


# Rounds x to steps of s, of which there are at most four to either side.
STEPS = function_of("""
    def forward(ctx, x, s, passed, scale):
        ctx.save_for_backward(x, s)
        ctx.passed, ctx.scale = passed, scale
        return (x / s).round().clamp(-4, 4) * s
    def backward(ctx, g):
        x, s = ctx.saved_tensors
        steps, inside = (x / s).round().clamp(-4, 4), (x / s).abs() <= 4
        return g * inside, ctx.scale * g * (steps - ctx.passed * inside * x / s), None, None
""")


@pytest.mark.parametrize(
    ("passed", "scale", "kind", "said"),
    [
        (1.0, 1.0, "learned step", "backward returns (y − x) / s everywhere"),
        (1.0, 0.25, "learned step", "backward returns 0.25 times (y − x) / s everywhere"),
        (1.1, 1.0, "unexplained", "No simple explanation was found"),
    ],
)
def test_the_gradient_of_a_learned_step_size_is_told_as_what_it_is(passed, scale, kind, said):
    inputs = Input("x", value=0.7), Input("s", value=0.3, domain=(0.1, 2.0))
    found, sentence = story(op_of(lambda x, s: STEPS.apply(x, s, passed, scale), *inputs), 0.1, 2.0, wrt="s")
    assert (found, sentence.startswith(said)) == (kind, True)
