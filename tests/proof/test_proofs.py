"""What is proved of Functions, and what is refuted."""

import math
import sys
from collections.abc import Callable

import pytest
import torch
from support.sections import op_of, section, written

from gradloupe.ops import OPS, Input, Op
from gradloupe.server.inference.construction.op import op_of as called
from gradloupe.server.inference.recipe import parse_recipe
from gradloupe.server.proof import AT_FIRST, Proof, prove

Curve = Callable[[torch.Tensor], torch.Tensor]
WIDTH = 1e-11  # bound: of what encloses a kink or a jump


def proved(
    op: Op | str, start: float = -3.0, stop: float = 3.0, grad_output: float = 1.0, boxes: int = AT_FIRST
) -> Proof:
    op = OPS[op] if isinstance(op, str) else op
    cut = section(op)
    found = prove(cut, op.surrogate_for(cut.wrt, grad_output), start, stop, grad_output, AT_FIRST)
    assert found is not None
    return found


def test_an_exponential_is_proved_for_every_number_and_every_grad_output() -> None:
    found = proved("exp")
    assert (found.word, found.proved, found.grad_output) == ("proved", ((-3.0, 3.0),), "every")
    assert found.epsilon == 1e-12
    assert (found.points, found.refuted, found.undecided) == ((), (), ())


def test_a_kink_is_enclosed_narrowly_and_all_else_is_proved() -> None:
    found = proved("clipped_relu", -1.0, 3.0)
    assert found.word == "proved"
    assert [round(start, 10) for start, _ in found.points] == [0, 2]
    assert all(start <= kink <= stop <= start + WIDTH for (start, stop), kink in zip(found.points, (0, 2), strict=True))


def test_a_wrong_bump_that_is_a_billionth_wide_is_found() -> None:
    def derivative(x: torch.Tensor) -> torch.Tensor:
        inside = (x > 0.123456789) & (x < 0.123456790)
        return torch.where(inside, 0.0, 1 - torch.tanh(x) ** 2)

    found = proved(written(torch.tanh, derivative))
    assert found.word == "refuted"
    assert abs(found.refuted[0][0] - 0.123456789) < WIDTH
    assert abs(found.refuted[-1][1] - 0.123456790) < WIDTH


def test_a_refutation_is_a_box_with_both_numbers_in_it() -> None:
    found = proved(written(torch.exp, lambda x: torch.exp(x) * 1.0009))
    assert found.word == "refuted"
    one = found.witness
    assert one is not None
    assert one.slope_low <= math.exp(one.start) <= one.slope_high < one.backward_low
    assert one.backward_low <= 1.0009 * math.exp(one.stop) <= one.backward_high
    assert one.stop - one.start < 0.02
    assert found.share == 0


def test_a_gradient_that_asks_for_the_sign_of_grad_output_is_proved_for_that_sign_against_its_surrogate() -> None:
    assert [proved("clamp_with_grad", grad_output=each).word for each in (1.0, -1.0, 2.5)] == ["proved"] * 3
    found = [
        proved(name, grad_output=each).grad_output for name in ("clamp_with_grad", "lower_bound") for each in (1, -1)
    ]
    assert found == ["every positive", "every negative"] * 2


def test_a_gradient_that_is_not_that_of_its_surrogate_but_of_forward_is_proved_to_be_that() -> None:
    for declared, of_forward in ((torch.zeros_like, True), (torch.sin, False)):
        found = proved(written(torch.sin, torch.cos, surrogate=declared))
        assert (found.word, found.of_forward) == ("proved", of_forward)
    assert proved(written(torch.sin, torch.zeros_like, surrogate=torch.exp)).word == "refuted"


def test_a_gradient_that_asks_for_the_size_of_grad_output_is_proved_for_all_between_those_at_which_it_changes() -> None:
    small, large = proved("gradient_clip", grad_output=0.3), proved("gradient_clip", grad_output=-2.5)
    assert (small.word, large.word, small.grad_output) == ("proved", "proved", "range")
    assert small.given is not None
    assert large.given is not None
    assert 0 < small.given[0] < 0.3 < 0.49 < small.given[1] < 0.5  # at its limit, 0.5, it is another
    assert large.given[0] < -100 < -2.5 < -0.51 < large.given[1] < -0.5


def test_what_is_not_proportional_to_grad_output_is_proved_for_this_one_alone() -> None:
    class Squared(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return 2 * x

        @staticmethod
        def backward(ctx, grad_output):
            return 2 * grad_output**2

    op = Op(Squared, inputs=op_of(torch.sin).inputs)
    assert [proved(op, grad_output=each).word for each in (1.0, 2.0, -1.0)] == ["proved", "refuted", "refuted"]
    assert proved(op).grad_output == "this"


@pytest.mark.parametrize(
    ("forward", "derivative"),
    [
        (lambda x: x**3 - x, lambda x: 3 * x**2 - 1),
        (torch.relu, lambda x: (x > 0).double()),
        (lambda x: x / (1 + x.abs()), lambda x: (1 + x.abs()) ** -2),
        (lambda x: torch.sqrt(1 + x * x), lambda x: x / torch.sqrt(1 + x * x)),
        (lambda x: x.clamp(-1, 2), lambda x: ((x > -1) & (x < 2)).double()),
        (lambda x: 1 / (1 + x * x), lambda x: -2 * x / (1 + x * x) ** 2),
    ],
)
def test_an_elementary_function_is_proved_for_every_real_number(forward: Curve, derivative: Curve) -> None:
    found = proved(written(forward, derivative))
    assert (found.word, found.everywhere) == ("proved", True)


WRONG_FAR_AWAY: dict[str, tuple[Curve, Curve]] = {
    **{
        f"{sign} beyond {edge:g}": (
            lambda x: x**2,
            lambda x, sign=sign, edge=edge: torch.where(sign * x > edge, 3 * x, 2 * x),
        )
        for edge in (3.5, 1e6, 1e15, 1e100, 1e300, sys.float_info.max)
        for sign in (1, -1)
    },
    "in the first gap between floats": (
        lambda x: x**2,
        lambda x: torch.where((x > 3) & (x < math.nextafter(3, 4)), 0.0, 2 * x),
    ),
    "at the end of the range": (lambda x: x.clamp(max=3), lambda x: (x < 3).double()),
    "at one far point": (lambda x: x**2, lambda x: torch.where(x == 1e50, 0.0, 2 * x)),
    "in a far bump": (lambda x: x**2, lambda x: torch.where((x > 1e9) & (x < 1e9 + 1), 0.0, 2 * x)),
    "more and more": (lambda x: x**2, lambda x: 2 * x + 2e-30 * x**2),
    "more and more, where the slope vanishes": (lambda x: 1 / (1 + x * x), lambda x: -2 * x / (1 + x * x) ** 2 - 1e-30),
    "by a far kink": (lambda x: torch.relu(x - 1e20), lambda x: torch.zeros_like(x)),
    "by a far jump of forward": (lambda x: x + (x > 1e40).double(), lambda x: torch.ones_like(x)),
    "by a period": (torch.sin, torch.cos),
    "by its domain": (torch.log, lambda x: 1 / x),
    "by a constant that is large": (lambda x: x**2, lambda x: torch.where(x < 1e200, 2 * x, 2.000001 * x)),
    "by a far pole": (lambda x: 1 / (x - 1e30), lambda x: -((x - 1e30) ** -2)),
    "by a sum that is lost in rounding": (lambda x: (x + 1e30) - 1e30, lambda x: torch.where(x.abs() > 1e31, 2.0, 1.0)),
}


@pytest.mark.parametrize("how", WRONG_FAR_AWAY)
def test_what_differs_or_bends_far_away_is_never_proved_for_every_number(how: str) -> None:
    assert not proved(written(*WRONG_FAR_AWAY[how])).everywhere
    assert not proved(written(*WRONG_FAR_AWAY[how]), grad_output=-2.0).everywhere


SIZED: dict[str, Curve] = {
    "the root of its square": lambda g: (g * g).sqrt(),
    "one over the root of one over its square": lambda g: (1 / (g * g)).rsqrt(),
    "its size": torch.abs,
    "its norm": lambda g: g.norm().reshape(g.shape),
    "the larger of it and its opposite": lambda g: torch.maximum(g, -g),
    "its square by its size": lambda g: g * g / g.abs(),
    "it without its sign": lambda g: torch.copysign(g, torch.ones_like(g)),
    "its exponential's logarithm, as a size": lambda g: torch.exp(torch.log(g.abs())),
}


@pytest.mark.parametrize("how", SIZED)
def test_a_backward_that_loses_the_sign_of_grad_output_is_not_proved_for_both(how: str) -> None:
    class Sized(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return 2 * x

        @staticmethod
        def backward(ctx, grad_output):
            return 2 * SIZED[how](grad_output)

    op = Op(Sized, inputs=op_of(torch.sin).inputs)
    assert proved(op).grad_output != "every"
    assert proved(op, grad_output=-1.0).word != "proved"


class Scaled(torch.autograd.Function):
    """A number in a tensor scales all of x, and a word chooses how."""

    @staticmethod
    def forward(ctx, x, scale, rule="sine"):
        ctx.save_for_backward(x, scale)
        ctx.rule = rule
        return scale * (torch.sin(x) if rule == "sine" else torch.cos(x))

    @staticmethod
    def backward(ctx, grad_output):
        x, scale = ctx.saved_tensors
        value, slope = (torch.sin(x), torch.cos(x)) if ctx.rule == "sine" else (torch.cos(x), -torch.sin(x))
        return grad_output * scale * slope, (grad_output * value).sum(), None


@pytest.mark.parametrize(
    "recipe", ["x: float64[7]; scale: float64[]", "x: float64[3]; scale: float64[1]; rule = 'cosine'"]
)
def test_how_a_function_is_called_keeps_nothing_from_being_proved(recipe: str) -> None:
    op = called(Scaled, parse_recipe(recipe), "Scaled", "Scaled", "yours")
    assert proved(op).word == "proved"


ROWS = torch.tensor([0, 1, 0, 2])  # of which one is read twice


def gathered(returned: Callable[[torch.Tensor], torch.Tensor]) -> Op:
    """What reads rows of x, one of them twice, and in backward returns this of grad_output."""

    class Gathered(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x[ROWS]

        @staticmethod
        def backward(ctx, grad_output):
            return returned(grad_output)

    return op_of(lambda x: Gathered.apply(x)[0] + 2 * Gathered.apply(x)[2], Input("x", shape=(4,)))


def put(grad_output: torch.Tensor, accumulate: bool) -> torch.Tensor:
    return torch.zeros(4, dtype=torch.float64).index_put_((ROWS,), grad_output, accumulate=accumulate)


ADDED: dict[str, tuple[Callable[[torch.Tensor], torch.Tensor], str]] = {
    "scatter_add": (lambda g: torch.zeros(4, dtype=g.dtype).scatter_add(0, ROWS, g), "proved"),
    "scatter_add of more than is added": (lambda g: g.new_zeros(4).scatter_add_(0, ROWS, torch.cat([g, g])), "proved"),
    "index_add": (lambda g: torch.zeros(4, dtype=g.dtype).index_add(0, ROWS, g / 2, alpha=2), "proved"),
    "index_put": (lambda g: put(g, True), "proved"),
    "index_put that forgets to add": (lambda g: put(g, False), "refuted"),
    "scatter_add to the wrong rows": (lambda g: g.new_zeros(4).scatter_add_(0, ROWS.flip(0), g), "refuted"),
}


@pytest.mark.parametrize(("returned", "word"), ADDED.values(), ids=ADDED)
def test_what_is_added_to_rows_is_enclosed_and_so_is_what_is_forgotten(
    returned: Callable[[torch.Tensor], torch.Tensor], word: str
) -> None:
    assert proved(gathered(returned)).word == word


def test_numbers_that_do_not_depend_on_what_is_swept_cost_nothing() -> None:
    op = op_of(lambda x: torch.tanh(torch.sin(x) * x).sum(), Input("x", shape=(200,)))
    assert proved(op).word == "proved"


class EntmaxByBisection(torch.autograd.Function):
    """1.5-entmax: its threshold is a stair of fifty halvings, its backward that of the limit (Peters et al., 2019)."""

    @staticmethod
    def forward(ctx, x):
        x = x / 2
        top = x.max(-1, keepdim=True).values
        low, high = top - 1, top - (1 / x.shape[-1]) ** 0.5
        for _ in range(50):
            middle = (low + high) / 2
            y = torch.clamp(x - middle, min=0) ** 2
            enough = y.sum(-1, keepdim=True) >= 1
            low, high = torch.where(enough, middle, low), torch.where(enough, high, middle)
        y = y / y.sum(-1, keepdim=True)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        root = torch.where(y > 0, y**0.5, y.new_zeros(1))
        along = grad_output * root
        return along - (along.sum(-1) / root.sum(-1)).unsqueeze(-1) * root


def test_a_difference_that_comes_to_less_than_rounding_refutes_nothing() -> None:
    held = (1.54, -0.29, -2.18, 0.57, -1.08, -1.4, 0.4)
    found = proved(op_of(lambda x: EntmaxByBisection.apply(x)[0], Input("x", shape=(7,), value=held)))
    assert (found.word, found.refuted) == ("in part", ())
