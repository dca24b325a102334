"""A Function is called in other ways than the one that is shown, and the worst of them decides."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from support.sections import look, section
from torch.autograd import Function

from gradloupe.ops import OPS
from gradloupe.server.contract.xray import CheckRow
from gradloupe.server.inference.construction.op import op_of
from gradloupe.server.inference.infer import infer
from gradloupe.server.inference.recipe import parse_recipe
from gradloupe.server.other_calls.check import other_calls_rows


class SoftmaxOverRows(Function):
    """Right for a vector: its backward sums over the first dimension, where forward normalizes the last."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        y = x.softmax(-1)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        (y,) = ctx.saved_tensors
        return y * (g - (g * y).sum(0, keepdim=True))


class Softmax(SoftmaxOverRows):
    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        (y,) = ctx.saved_tensors
        return y * (g - (g * y).sum(-1, keepdim=True))


class PowerOfTwoAlone(Function):
    """Right for its default alone."""

    @staticmethod
    def forward(ctx: Any, x: Any, p: int = 2) -> Any:
        ctx.save_for_backward(x)
        return x**p

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return 2 * ctx.saved_tensors[0] * g, None


class Picked(Function):
    """Its backward adds up what was picked twice."""

    @staticmethod
    def forward(ctx: Any, x: Any, index: Any) -> Any:
        ctx.save_for_backward(index)
        ctx.shape = x.shape
        return x[index]

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g.new_zeros(ctx.shape).index_add(0, ctx.saved_tensors[0], g), None


class PickedOnce(Picked):
    """Its backward overwrites what was picked before."""

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g.new_zeros(ctx.shape).index_copy(0, ctx.saved_tensors[0], g), None


class PickedAsMany(Picked):
    """Takes it that as many are picked as there are."""

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return torch.zeros_like(g).index_add(0, ctx.saved_tensors[0], g), None


class PickedAndWeighed(Function):
    """What goes with the indices is as many as they are."""

    @staticmethod
    def forward(ctx: Any, x: Any, index: Any, weight: Any) -> Any:
        ctx.save_for_backward(x, index, weight)
        return x[index] * weight

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        x, index, weight = ctx.saved_tensors
        return torch.zeros_like(x).index_add(0, index, g * weight), None, g * x[index]


class ReadsMemory(Function):
    """Right for what lies in memory without gaps."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        (x,) = ctx.saved_tensors
        return 2 * g * torch.as_strided(x, x.shape, x.new_empty(x.shape).stride())


class TellsWhoAsks(Function):
    """Right where both inputs want a gradient."""

    @staticmethod
    def forward(ctx: Any, a: Any, b: Any) -> Any:
        ctx.save_for_backward(a, b)
        return a * b

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        a, b = ctx.saved_tensors
        return g * b if all(ctx.needs_input_grad) else g, g * a


class Doubling(Function):
    """Its flag is not heeded by backward."""

    @staticmethod
    def forward(ctx: Any, x: Any, twice: bool = False) -> Any:
        return 2 * x if twice else x * 1

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g, None


class SmallSteps(Function):
    """Its backward is a difference of forward, with a step that float32 cannot see."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x.exp()

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        (x,) = ctx.saved_tensors
        return g * ((x + 1e-8).exp() - x.exp()) / 1e-8 if x.dtype == torch.float32 else g * x.exp()


class PairLength(Function):
    """The length of pairs: it reads the first and the second of the last dimension."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        y = (x[..., 0] * x[..., 0] + x[..., 1] * x[..., 1]).sqrt()
        ctx.save_for_backward(x, y)
        return y

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        x, y = ctx.saved_tensors
        return x * (g / y)[..., None]


class Sevens(Function):
    """Takes seven numbers, or a multiple of them."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        assert not x.numel() % 7, "sevens"
        ctx.save_for_backward(x)
        return x.sin()

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g * ctx.saved_tensors[0].cos()


class WeightedSum(Function):
    """Any number of tensors times their place, of which backward knows two."""

    @staticmethod
    def forward(ctx: Any, *tensors: Any) -> Any:
        ctx.count = len(tensors)
        return sum(each * (place + 1) for place, each in enumerate(tensors))

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return tuple(g * min(place + 1, 2) for place in range(ctx.count))


HALF = torch.tensor(0.5)


class ScaledUnlessHalf(Function):
    """Scales by a tensor, whose default backward forgets."""

    @staticmethod
    def forward(ctx: Any, x: Any, scale: Any = HALF) -> Any:
        ctx.save_for_backward(x, scale)
        return x * scale

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        x, scale = ctx.saved_tensors
        return g * (scale if ctx.needs_input_grad[1] else 1), (g * x).sum_to_size(scale.shape)


class TooFewForAll(Function):
    """Has a default that backward does not count."""

    @staticmethod
    def forward(ctx: Any, x: Any, chunks: int = 4, state: Any = None) -> Any:
        return 3 * x

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return 3 * g, None


def row_of(function: Any, recipe: str = "", given: bool = False) -> CheckRow:
    found = parse_recipe(recipe, ["x", "index"]) if recipe else infer(function).recipe
    (row,) = other_calls_rows(section(op_of(function, found, "f", "f", "own", recipe_given=given)))
    return row


@pytest.mark.parametrize(
    ("function", "recipe", "changed"),
    [
        (SoftmaxOverRows, "x: float64[7]", "x of shape (3, 5)"),
        (PowerOfTwoAlone, "", "p = 3"),
        (PickedOnce, "x: float64[7]; index: int64[2] < 2", "x of shape (8,) and index of shape (3,)"),
        (ReadsMemory, "", "inputs that have gaps in memory"),
        (TellsWhoAsks, "", "a gradient for a alone"),
        (Doubling, "", "twice = True"),
        (SmallSteps, "", "float32"),
        (WeightedSum, "", "3 tensors for *tensors"),
        (ScaledUnlessHalf, "", "the default of scale"),
    ],
)
def test_a_fault_that_one_call_hides_is_shown_by_another(function: Any, recipe: str, changed: str) -> None:
    row = row_of(function, recipe)
    assert row.level == "error"
    assert row.seen.startswith(f"Called with {changed}, for ")
    assert row.element.partition("[")[0] in ("x", "a", "tensors2")


def test_indices_are_tried_that_are_more_than_their_range_and_as_many_as_nothing_else() -> None:
    assert "; 8 indices in index" in row_of(Picked, "x: float64[7]; index: int64[7] < 2").seen
    recipe = parse_recipe("x: float64[7]; index: int64[7] < 2; weight: float64[7]", ["x", "index", "weight"])
    (row,) = other_calls_rows(section(op_of(PickedAndWeighed, recipe, "f", "f", "own")))
    assert row.level == "fine"
    assert "; 8 indices in index" in row.seen.partition("Not compared")[0]


def test_a_backward_that_raises_in_a_likely_call_is_a_warning() -> None:
    row = row_of(PickedAsMany, "x: float64[7]; index: int64[7] < 2")
    assert row.level == "warning"
    assert row.seen.startswith("Called with 8 indices in index, forward runs, and backward raises RuntimeError: ")
    assert row.recipe == "x: float64[7]; index: int64[8] < 2"


def test_a_backward_that_raises_where_all_declared_defaults_are_passed_is_an_error() -> None:
    row = row_of(TooFewForAll)
    assert row.level == "error"
    assert row.seen.startswith(
        "Called with state passed at its default, forward runs, and backward raises RuntimeError"
    )


def test_a_size_that_the_source_says_stays() -> None:
    assert "(3,)" not in row_of(PairLength).seen.partition("Not compared")[0]
    assert row_of(PairLength).level == "fine"


def test_a_permutation_stays_one() -> None:
    assert row_of(PickedOnce, "x: float64[7]; index: int64[7] shuffled").level == "fine"


def test_the_call_that_shows_it_can_be_opened() -> None:
    advice = row_of(SoftmaxOverRows).advice
    recipe = advice.partition("`")[2].partition("`")[0]
    assert recipe == "x: float64[3,5]"
    assert parse_recipe(recipe, ["x"]).text() == recipe


@pytest.mark.parametrize("function", [Softmax, Picked])
def test_a_right_function_is_called_in_many_ways_and_accused_in_none(function: Any) -> None:
    row = row_of(function)
    assert row.level == "fine"
    assert row.seen.startswith("The gradient is right in ")
    assert row.seen.count(";") >= 4


@pytest.mark.parametrize("name", [each for each, op in OPS.items() if op.claim == "exact"][::4])
def test_right_functions_of_the_gallery_are_not_accused_without_their_declaration(name: str) -> None:
    row = row_of(OPS[name].function)
    assert row.level != "error", row.seen


def test_what_the_user_gave_is_not_reshaped() -> None:
    row = row_of(SoftmaxOverRows, "x: float64[7]", given=True)
    assert row.level == "fine"
    assert "shape" not in row.seen


def test_calls_that_cannot_be_made_are_named() -> None:
    row = row_of(Sevens)
    assert row.level == "fine"
    assert "Not compared: x of shape (8,) (it raises AssertionError: sevens)" in row.seen


class CrossEntropy(Function):
    """A loss for each row, and a target for each."""

    @staticmethod
    def forward(ctx: Any, x: Any, target: Any) -> Any:
        p = x.softmax(-1)
        ctx.save_for_backward(p, target)
        return -p.gather(1, target[:, None]).log().squeeze(1)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        p, target = ctx.saved_tensors
        return g[:, None] * (p - torch.nn.functional.one_hot(target, p.shape[1])), None


def test_the_targets_of_a_loss_are_stacked_with_its_rows() -> None:
    op = op_of(CrossEntropy, infer(CrossEntropy).recipe, "loss", "loss", "own")
    evaluation, verdict = look(op, -3.0, 3.0)
    assert op.inputs[0].shape == (3, 4)
    assert evaluation.stacked == ("x",)
    assert verdict.word == "matches"


class Total(Function):
    """Takes as many as there are."""

    @staticmethod
    def forward(ctx: Any, *args: Any) -> Any:
        ctx.count = len(args)
        return sum(args[1:], args[0] * 1)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return (g,) * ctx.count


def test_more_arguments_than_the_source_tells_of_are_varied_as_well() -> None:
    recipe = parse_recipe("; ".join(f"args{place}: float64[7]" for place in range(6)), ["*args"])
    (row,) = other_calls_rows(section(op_of(Total, recipe, "total", "total", "own")))
    assert row.level == "fine"
    assert "args5 of shape (3, 5)" in row.seen


class Spikes(Function):
    """A spike above 0 with the slope of a sigmoid, which is NaN far below 0."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return (x > 0).to(x.dtype)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        e = torch.exp(-25 * ctx.saved_tensors[0])
        return g * 25 * e / (1 + e) ** 2


class StableSpikes(Spikes):
    """The same without NaN."""

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        s = torch.sigmoid(25 * ctx.saved_tensors[0])
        return g * 25 * s * (1 - s)


class RoundedByRows(Function):
    """Rounds with the gradient of the identity, but where x is transposed in memory."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.rows = x.is_contiguous()
        return x.round()

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g if ctx.rows else 2 * g


@pytest.mark.parametrize(
    ("function", "seen"),
    [
        (Spikes, "Called with float16, for x[2] = −2.18 backward returned NaN"),
        (StableSpikes, ""),
        (RoundedByRows, "Called with inputs that have gaps in memory, for x backward returned "),
    ],
)
def test_what_differs_anyhow_is_called_in_other_ways_too(function: Any, seen: str) -> None:
    rows = other_calls_rows(section(op_of(function, infer(function).recipe, "f", "f", "own")), wrong={"x"})
    assert [each.level for each in rows] == ["error" if seen else "fine"]
    assert rows[0].seen.startswith(seen)
