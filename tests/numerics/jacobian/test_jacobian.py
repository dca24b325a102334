"""Whole Jacobians: accurate to many digits, one wrong entry found among thousands, and no right one accused."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from functions.correct import INNOCENTS
from support.sampling import each_fourth, sampled
from support.sections import Written, op_of, section, written

from gradloupe.ops import OPS, Input, Op, Parameter
from gradloupe.server.numerics.differentiation.finite_differences import EVIDENCE_BOUNDS
from gradloupe.server.numerics.jacobian.dependence import measure_dependence
from gradloupe.server.numerics.jacobian.jacobian import Jacobian, held_at, jacobian
from gradloupe.server.numerics.jacobian.sparsity import sparsity_pattern
from gradloupe.server.numerics.jacobian.text import jacobian_sentence, other_tensors_sentence, worst_jacobian_cell
from gradloupe.server.numerics.status import Status
from gradloupe.server.runtime.batching import batched_copies
from gradloupe.server.runtime.failure import FunctionFailed
from gradloupe.server.runtime.stacked_inputs import InputCopies

SPAN = 6.0
# What has no value, or in torch no right gradient, at a matrix of round numbers that happens to be singular.
SINGULAR = ("determinant", "inverse", "linear system")
Array = np.ndarray[Any, np.dtype[np.float64]]
NORMAL = np.random.default_rng(7).standard_normal


def normal(*shape: int, name: str = "x") -> Input:
    return Input(name, shape=shape, value=tuple(NORMAL(shape).ravel().tolist()))


def of(op: Op | str, **asked: Any) -> Jacobian:
    return jacobian(section(op, **asked), SPAN)


def numbers(found: Jacobian) -> Array:
    return found.numerical.slopes.value.reshape(found.shape)


def held(op: Op) -> Array:
    return np.array(op.inputs[0].values)


def softmax(x: Array) -> Array:
    y = np.exp(x - x.max()) / np.exp(x - x.max()).sum()
    return np.diag(y) - np.outer(y, y)


def layer_norm(x: Array) -> Array:
    n, centred = x.size, x - x.mean()
    spread = math.sqrt(float((centred**2).mean()) + 1e-5)
    unit = centred / spread
    return (np.eye(n) - 1 / n - np.outer(unit, unit) / n) / spread


def polar(x: Array) -> Array:
    r, angle = x
    return np.array([[math.cos(angle), -r * math.sin(angle)], [math.sin(angle), r * math.cos(angle)]])


def squared(x: torch.Tensor) -> torch.Tensor:
    return torch.cumsum(x * x, 0)


CLOSED: dict[str, tuple[Callable[[torch.Tensor], torch.Tensor], Input, Callable[[Array], Array]]] = {
    "softmax": (lambda x: torch.softmax(x, -1), normal(7), softmax),
    "layer norm": (lambda x: torch.nn.functional.layer_norm(x, (6,)), normal(6), layer_norm),
    "cumulative sum of squares": (squared, normal(5), lambda x: np.tril(np.tile(2 * x, (x.size, 1)))),
    "polar": (
        lambda x: torch.stack((x[..., 0] * torch.cos(x[..., 1]), x[..., 0] * torch.sin(x[..., 1])), -1),
        Input("x", shape=(2,), value=(1.3, 0.4)),
        polar,
    ),
    "norm": (lambda x: x.norm(), normal(4), lambda x: (x / np.linalg.norm(x))[None]),
    "exp of large": (torch.exp, Input("x", shape=(3,), value=(-20.0, 0.0, 20.0)), lambda x: np.diag(np.exp(x))),
    "logarithm near its edge": (torch.log, Input("x", shape=(2,), value=(0.05, 2.0)), lambda x: np.diag(1 / x)),
}


@pytest.mark.parametrize("name", CLOSED)
def test_differences_are_those_of_the_closed_form_within_their_bounds(name: str) -> None:
    function, given, closed = CLOSED[name]
    op = op_of(function, given)
    found, true = of(op), closed(held(op))
    size = np.abs(true).max(axis=1, keepdims=True)
    assert (np.abs(numbers(found) - true) <= 1e-10 * size).all()
    assert (
        np.abs(numbers(found) - true).ravel() <= EVIDENCE_BOUNDS * found.numerical.slopes.error + 1e-14 * size.max()
    ).all()
    assert set(found.numerical.status) == {Status.AGREES}
    assert worst_jacobian_cell(found) is None


def test_a_matrix_product_has_both_of_its_jacobians() -> None:
    a, b = NORMAL((4, 5)), NORMAL((5, 3))
    inputs = (Input("a", shape=(4, 5), value=tuple(a.ravel())), Input("b", shape=(5, 3), value=tuple(b.ravel())))
    op = op_of(torch.matmul, *inputs)
    by_a, by_b = of(op, wrt="a[0,0]"), of(op, wrt="b[0,0]")
    assert numbers(by_a) == pytest.approx(np.kron(np.eye(4), b.T), abs=1e-11)
    assert numbers(by_b) == pytest.approx(np.kron(a, np.eye(3)), abs=1e-11)
    assert (sparsity_pattern(by_a), sparsity_pattern(by_b)) == ("rows", "sparse")
    assert {*by_a.numerical.status, *by_b.numerical.status} == {Status.AGREES}


def first_of(name: str, shape: tuple[int, ...]) -> str:
    return name if math.prod(shape) == 1 else f"{name}[{','.join('0' for _ in shape)}]"


@pytest.mark.parametrize("name", sampled(name for name, op in OPS.items() if op.claim != "broken"))
def test_no_right_op_of_the_gallery_is_accused(name: str) -> None:
    op = OPS[name]
    inputs = op.inputs if op.claim == "exact" else [each for each in op.inputs if op.wrt.startswith(each.name)]
    for wrt in [first_of(each.name, each.shape) for each in inputs]:
        for out in op.outputs:
            shape = tuple(InputCopies(section(op, wrt=wrt, of=out)).output.shape)
            found = of(op, wrt=wrt, of=first_of(out, shape))
            against = found.meant or found.numerical
            assert not against.where(Status.DIFFERS).any(), (wrt, out, jacobian_sentence(found, SPAN))


@pytest.mark.parametrize("name", each_fourth(INNOCENTS))
def test_no_innocent_is_accused_at_random_and_at_round_numbers(name: str) -> None:
    each = INNOCENTS[name]
    draw = np.random.default_rng(len(name))
    for dtype, rounded in ((torch.float64, False), (torch.float32, False), (torch.float64, True)):
        held = []
        for given in each.op.inputs:
            values = draw.uniform(*given.domain, math.prod(given.shape))
            held.append((given.name, tuple((np.round(values) if rounded else values).tolist())))
        cut = replace(section(each.op, wrt=each.wrt, of=each.of, dtype=dtype), inputs=tuple(held))
        if rounded and name in SINGULAR:
            continue
        found = jacobian(cut, SPAN)
        assert not found.numerical.where(Status.DIFFERS).any(), (held, jacobian_sentence(found, SPAN))
        assert found.failure is None


def test_the_rounding_of_float32_inside_is_no_game_of_chance() -> None:
    op = op_of(lambda x: x.float().sigmoid().to(x.dtype), Input("x", shape=(3,), value=(-1.2, 0.4, 1.1)))
    assert of(op, wrt="x[0]", of="y[0]").deterministic


def test_a_number_may_come_out_without_dimensions() -> None:
    assert numbers(of(op_of(lambda x: 2 * x.squeeze()))) == pytest.approx(2.0)


def test_ties_are_not_accused_and_what_is_wrong_beside_them_is() -> None:
    tied = Input("x", shape=(5,), value=(3.0, 0.0, 3.0, 0.0, 0.0))
    assert not of(op_of(lambda x: x.sort().values, tied)).numerical.where(Status.DIFFERS).any()

    class Sorts(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            values, ctx.order = x.sort(-1)
            return torch.cat((values, 2 * x[..., :1]), -1)

        @staticmethod
        def backward(ctx, grad_output):
            sorted_back = torch.zeros_like(grad_output[..., :5]).scatter(-1, ctx.order, grad_output[..., :5])
            return sorted_back + 3 * grad_output[..., 5:] * torch.tensor([1.0, 0, 0, 0, 0])

    found = of(op_of(Sorts.apply, tied))
    cell = worst_jacobian_cell(found)
    assert cell is not None
    assert (cell.row, cell.column, cell.numerical, cell.returned) == ("y[5]", "x[0]", pytest.approx(2), 3)


class OneEntryWrong(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, wrong):
        y = torch.tanh(x @ weight)
        ctx.save_for_backward(y, wrong)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        y, wrong = ctx.saved_tensors
        return (grad_output * (1 - y * y)) @ wrong.T, None, None


def almost(size: int, share: float) -> Op:
    """tanh(x W) with the entry of W for the sixth input and the fourth output off by this share."""
    weight = torch.from_numpy(NORMAL((size, size)) / math.sqrt(size))
    weight[5, 3] = 0.5
    wrong = weight.clone()
    wrong[5, 3] *= 1 + share
    return op_of(lambda x: OneEntryWrong.apply(x, weight, wrong), normal(1, size))


@pytest.mark.parametrize("share", [1e-3, 1e-6, 1e-9])
def test_one_slightly_wrong_entry_is_the_only_one_named(share: float) -> None:
    found = of(almost(24, share))
    cell = worst_jacobian_cell(found)
    assert found.numerical.where(Status.DIFFERS).sum() == 1
    assert cell is not None
    assert (cell.row, cell.column) == ("y[0,3]", "x[0,5]")
    assert "in 1 of 576 cells, most at y[0,3] by x[0,5]" in jacobian_sentence(found, SPAN)


def test_a_wrong_entry_beyond_the_block_is_found_by_the_look_over_all_cells() -> None:
    found = of(almost(200, 1e-3), of="y[0,190]", wrt="x[0,190]")
    assert (found.rows.first, found.rows.count) == (128, 64)
    assert not found.numerical.where(Status.DIFFERS).any()
    assert found.elsewhere is not None
    assert found.elsewhere.worst is not None
    assert (found.elsewhere.differs, found.elsewhere.worst.row, found.elsewhere.worst.column) == (1, 3, 5)
    assert "found 1 in which it differs, most at y[0,3] by x[0,5]" in jacobian_sentence(found, SPAN)


def test_a_look_over_all_cells_accuses_nobody() -> None:
    found = of(almost(200, 0.0))
    assert found.elsewhere is not None
    assert (found.elsewhere.judged, found.elsewhere.differs) == (40_000, 0)
    kinked = op_of(torch.relu, Input("x", shape=(100,), value=tuple(np.round(NORMAL(100)).tolist())))
    seen = of(kinked).elsewhere
    assert seen is not None
    assert seen.differs == 0


def test_the_last_block_holds_what_is_left() -> None:
    found = of(op_of(torch.sin, normal(3, 50)), of="y[2,49]", wrt="x[0,0]")
    assert ((found.rows.first, found.rows.count), (found.columns.first, found.columns.count)) == ((128, 22), (0, 64))
    assert found.rows.label(149) == "y[2,49]"


STORIES: dict[str, tuple[Callable[[torch.Tensor], torch.Tensor], str]] = {
    "left out": (lambda g: g.tril(), ""),
    "nothing": (torch.zeros_like, "backward returns 0 for x: no gradient gets through."),
    "reversed": (lambda g: -g, "backward returns every slope with its sign reversed."),
    "halved": (lambda g: g / 2, "backward returns 0.5 times every slope."),
    "transposed": (lambda g: g.T, "backward returns the Jacobian transposed."),
    "diagonal": (lambda g: torch.diag(g.diagonal()), "backward returns the diagonal alone"),
}


@pytest.mark.parametrize("name", STORIES)
def test_what_backward_returns_instead_is_told(name: str) -> None:
    change, story = STORIES[name]
    weight = torch.from_numpy(NORMAL((5, 5)))

    class Linear(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x @ weight

        @staticmethod
        def backward(ctx, grad_output):
            return grad_output @ change(weight.T)

    said = jacobian_sentence(of(op_of(Linear.apply, normal(5))), SPAN)
    assert said.startswith("backward differs")
    assert story in said


def test_swapped_gradients_are_recognised() -> None:
    class Swaps(torch.autograd.Function):
        @staticmethod
        def forward(ctx, u, v):
            ctx.save_for_backward(u, v)
            return u * v * v

        @staticmethod
        def backward(ctx, grad_output):
            u, v = ctx.saved_tensors
            return grad_output * 2 * u * v, grad_output * v * v

    said = jacobian_sentence(of(op_of(Swaps.apply, normal(3, name="u"), normal(3, name="v"))), SPAN)
    assert "What backward returns for u is the derivative by v: are the two swapped?" in said


PATTERNS = {
    "diagonal": torch.sin,
    "lower": lambda x: torch.cumsum(x, 0),
    "upper": lambda x: torch.cumsum(x.flip(0), 0).flip(0),
    "dense": lambda x: torch.softmax(x, 0),
    "zero": torch.round,
    "sparse": lambda x: x.roll(1, 0) * x,
}


@pytest.mark.parametrize("name", PATTERNS)
def test_the_pattern_is_named(name: str) -> None:
    assert sparsity_pattern(of(op_of(PATTERNS[name], normal(6)))) == name


def test_kinks_and_jumps_are_marked_and_any_subgradient_is_right() -> None:
    found = of(op_of(lambda x: torch.relu(x) + (x >= 1).to(x.dtype), Input("x", shape=(3,), value=(0.0, 1.0, -1.0))))
    assert list(found.numerical.status[[0, 4, 8]]) == [Status.SUBGRADIENT, Status.JUMP, Status.AGREES]
    assert "Marked: 1 kink and 1 jump." in jacobian_sentence(found, SPAN)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_shorter_dtype_is_compared_by_its_own_measure(dtype: torch.dtype) -> None:
    op = op_of(lambda x: torch.softmax(x, -1), normal(5))
    found = of(op, dtype=dtype)
    assert set(found.numerical.status) == {Status.AGREES}
    assert found.numerical.slopes.error.max() < 1e-9


def test_a_function_that_computes_in_float32_inside_is_not_accused() -> None:
    op = op_of(lambda x: torch.tanh(x.float() * 3).double(), normal(4))
    assert not of(op).numerical.where(Status.DIFFERS).any()


def test_a_wrong_slope_of_a_float32_function_is_seen() -> None:
    op = written(lambda x: torch.sin(x), lambda x: torch.cos(x) * 1.01)
    assert of(op, dtype=torch.float32).numerical.where(Status.DIFFERS).all()


class InPlace(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x.mul_(3)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output.mul_(3)


def test_a_function_that_writes_to_its_input_and_its_grad_output_is_seen_as_it_is() -> None:
    found = of(op_of(InPlace.apply, normal(2, 3)))
    assert numbers(found) == pytest.approx(3 * np.eye(6), abs=1e-11)
    assert set(found.numerical.status) == {Status.AGREES}


def test_a_batch_that_mixes_its_rows_is_not_stacked() -> None:
    mixing = op_of(lambda x: x - x.mean(0, keepdim=True), normal(3, 4))
    assert batched_copies(section(mixing), SPAN).stacked in ((), ("x",))
    found = of(mixing)
    assert numbers(found) == pytest.approx(np.kron(np.eye(3) - 1 / 3, np.eye(4)), abs=1e-11)
    top = op_of(lambda x: torch.where(x >= x.flatten().topk(2).values[-1], x, 0 * x), normal(5))
    assert np.diag(numbers(of(top))).sum() == pytest.approx(2)
    assert set(of(top).numerical.status) == {Status.AGREES}


def test_a_parameter_has_a_numerical_column_only() -> None:
    op = op_of(lambda x, k: x**2 * k, normal(3), parameters=(Parameter("k", 2.0),))
    found = of(op, wrt="k")
    assert found.shape == (3, 1)
    assert found.returned is None
    assert numbers(found).ravel() == pytest.approx(held(op) ** 2, rel=1e-11)
    assert "numerical sensitivity only" in jacobian_sentence(found, SPAN)


def test_an_output_of_integers_is_said_to_be_one() -> None:
    op = op_of(lambda x: (x, x.argsort()), normal(4), outputs=("y", "order"))
    said = jacobian_sentence(of(op, of="order[0]"), SPAN)
    assert said.startswith("order holds int64 numbers, which carry no gradient")


def test_an_output_without_a_graph_and_a_game_of_chance_are_said_to_be() -> None:
    assert "carries no gradient" in jacobian_sentence(of(op_of(lambda x: x.detach() * 2, normal(2))), SPAN)
    assert "forward is random: two equal calls differ" in jacobian_sentence(
        of(op_of(lambda x: x * torch.rand_like(x), normal(2))), SPAN
    )


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (lambda x: [x, x], "returned a list where a tensor 'y' was declared"),
        (lambda x: x.numpy(force=True), "ndarray where a tensor"),
        (lambda x: x[:0], "it has no such element"),
        (lambda x: x @ torch.eye(3, 3, dtype=x.dtype).mm(x), "2-D"),
    ],
)
def test_what_is_no_jacobian_is_a_failure_with_a_reason(function: Callable[[Any], Any], said: str) -> None:
    with pytest.raises(FunctionFailed) as raised:
        of(op_of(function, normal(3)), of="y[0]")
    assert said in raised.value.failure.message or "matri" in raised.value.failure.message


def test_a_backward_that_raises_leaves_the_differences() -> None:
    def refuses(x: torch.Tensor) -> torch.Tensor:
        raise RuntimeError("no derivative today")

    found = of(op_of(lambda x: Written.apply(x, torch.sin, refuses), normal(3)))
    assert found.failure is not None
    assert numbers(found) == pytest.approx(np.diag(np.cos(held(found.section.op))), abs=1e-11)
    assert jacobian_sentence(found, SPAN).startswith("backward raised RuntimeError: no derivative today.")


def test_a_slow_function_is_shown_in_a_smaller_block() -> None:
    def slow(x: torch.Tensor) -> torch.Tensor:
        for _ in range(40):
            torch.linalg.svdvals(torch.ones(60, 60, dtype=x.dtype))
        return x * x.sum()

    found = of(op_of(slow, normal(40)))
    assert found.slow
    assert found.rows.count < 40
    assert not found.numerical.where(Status.DIFFERS).any()


def test_the_place_is_where_the_swept_element_is_held() -> None:
    op = op_of(torch.exp, normal(2))
    cut = held_at(section(op, wrt="x[1]", of="y[1]"), 2.0)
    assert cut.inputs[0][1] == (op.inputs[0].values[0], 2.0)
    found = jacobian(cut, SPAN)
    assert (found.at, numbers(found)[1, 1]) == (2.0, pytest.approx(math.exp(2), rel=1e-12))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
def test_differences_are_taken_in_double_precision_whatever_the_dtype(dtype: torch.dtype) -> None:
    found = of("matrix_product", dtype=dtype)
    assert found.numerical.slopes.error.max() < 1e-12
    assert set(found.numerical.status) == {Status.AGREES}


def test_cells_without_a_number_are_told_in_a_sentence() -> None:
    found = of(op_of(torch.sqrt, Input("x", shape=(2, 2), value=(1.0, 0.0, -1.0, 2.0))), wrt="x[0,0]", of="y[0,0]")
    assert re.search(
        r"Marked: 1 cell at the edge of the domain and \d cells? without a finite value\.",
        jacobian_sentence(found, SPAN),
    )


def test_another_pair_of_tensors_that_is_wrong_is_named() -> None:
    class Both(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.x = x.detach()
            return x.sin(), x.exp()

        @staticmethod
        def backward(ctx, grad_output, _):
            return grad_output * ctx.x.cos()

    cut = section(op_of(Both.apply, normal(2), outputs=("d", "e")), wrt="x[0]", of="d[0]")
    seen = measure_dependence(cut, lambda _: SPAN)
    assert seen is not None
    told = "Wrong for other tensors: e by x is dropped; see below which input reaches which output."
    assert other_tensors_sentence(seen, "d", "x") == told
    assert other_tensors_sentence(seen, "e", "x") == ""


def test_of_an_output_that_depends_on_nothing_the_pattern_says_so() -> None:
    said = jacobian_sentence(of(op_of(lambda x: torch.cat((0 * x[:2], x[2:])), normal(6))), SPAN)
    assert "no output depends on any input but its own. 2 of 6 outputs move with no input here." in said
