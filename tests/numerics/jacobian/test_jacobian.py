"""Whole Jacobians: accurate to many digits, one wrong entry found among thousands, and no right one accused."""

import math

import numpy as np
import pytest
import torch
from functions.basics import Double, altered, saving, with_backward
from functions.correct import INNOCENTS
from support.answers import document
from support.sampling import each_fourth, sampled
from support.sections import op_of, written

from gradloupe.ops import OPS, Input
from gradloupe.server.numerics.differentiation.finite_differences import EVIDENCE_BOUNDS

# What has no value, or in torch no right gradient, at a matrix of round numbers that happens to be singular.
SINGULAR = ("determinant", "inverse", "linear system")
NORMAL = np.random.default_rng(7).standard_normal


def normal(*shape, name="x"):
    return Input(name, shape=shape, value=tuple(NORMAL(shape).ravel().tolist()))


class Jacobian:
    """The header of the view, and its columns as matrices."""

    def __init__(self, op, wrt="", of="", **asked):
        self.header, self.columns = document(op, "jacobian", -3.0, 3.0, wrt, of, **asked)
        self.said, self.worst = self.header["sentence"], self.header.get("worst")
        self.shape = (self.header["rows"]["count"], self.header["across"]["count"]) if self.columns else ()

    def __getattr__(self, name):
        return self.columns[name].reshape(self.shape)

    @property
    def words(self):
        """The status of each cell."""
        return [self.header["statuses"][code] for code in self.columns["status"]]


def held(op):
    return np.array(op.inputs[0].values)


def softmax(x):
    y = np.exp(x - x.max()) / np.exp(x - x.max()).sum()
    return np.diag(y) - np.outer(y, y)


def layer_norm(x):
    n, centred = x.size, x - x.mean()
    spread = math.sqrt(float((centred**2).mean()) + 1e-5)
    unit = centred / spread
    return (np.eye(n) - 1 / n - np.outer(unit, unit) / n) / spread


def polar(x):
    r, angle = x
    return np.array([[math.cos(angle), -r * math.sin(angle)], [math.sin(angle), r * math.cos(angle)]])


CLOSED = {
    "softmax": (lambda x: torch.softmax(x, -1), normal(7), softmax),
    "layer norm": (lambda x: torch.nn.functional.layer_norm(x, (6,)), normal(6), layer_norm),
    "cumulative sum of squares": (
        lambda x: torch.cumsum(x * x, 0),
        normal(5),
        lambda x: np.tril(np.tile(2 * x, (x.size, 1))),
    ),
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
def test_differences_are_those_of_the_closed_form_within_their_bounds(name):
    function, given, closed = CLOSED[name]
    found, true = Jacobian(op_of(function, given)), closed(np.array(given.values))
    size, off = np.abs(true).max(axis=1, keepdims=True), np.abs(found.numerical - true)
    assert (off <= 1e-10 * size).all()
    assert (off <= EVIDENCE_BOUNDS * found.error + 1e-14 * size.max()).all()
    assert set(found.words) == {"agrees"}
    assert found.worst is None


def test_a_matrix_product_has_both_of_its_jacobians():
    op = op_of(torch.matmul, normal(4, 5, name="a"), normal(5, 3, name="b"))
    a, b = (np.array(each.values).reshape(each.shape) for each in op.inputs)
    by_a, by_b = Jacobian(op, "a[0,0]"), Jacobian(op, "b[0,0]")
    assert by_a.numerical == pytest.approx(np.kron(np.eye(4), b.T), abs=1e-11)
    assert by_b.numerical == pytest.approx(np.kron(a, np.eye(3)), abs=1e-11)
    assert [each.header["pattern"] for each in (by_a, by_b)] == ["rows", "sparse"]
    assert {*by_a.words, *by_b.words} == {"agrees"}


@pytest.mark.parametrize("name", sampled(name for name, op in OPS.items() if op.claim != "broken"))
def test_no_right_op_of_the_gallery_is_accused(name):
    tensors = Jacobian(name).header["tensors"]
    exact = OPS[name].claim == "exact"
    swept = {each.name for each in OPS[name].inputs if exact or OPS[name].wrt.startswith(each.name)}
    for wrt in (each["first"] for each in tensors["wrt"] if each["name"] in swept):
        for of in (each["first"] for each in tensors["of"]):
            found = Jacobian(name, wrt, of)
            assert found.header["designed"] or not found.header["differs"], (wrt, of, found.said)
            assert not exact or "other tensors" not in found.said


@pytest.mark.parametrize("name", each_fourth(INNOCENTS))
def test_no_innocent_is_accused_at_random_and_at_round_numbers(name):
    innocent, draw = INNOCENTS[name], np.random.default_rng(len(name))
    drawn = {each.name: draw.uniform(*each.domain, math.prod(each.shape)) for each in innocent.op.inputs}
    rounded = {each: tuple(np.round(values).tolist()) for each, values in drawn.items()}
    asked = [{"dtype": "float32", **{each: tuple(values.tolist()) for each, values in drawn.items()}}]
    for given in asked + [rounded] * (name not in SINGULAR):
        found = Jacobian(innocent.op, innocent.wrt, innocent.of, **given)
        assert (found.header["differs"], found.header["failure"]) == (0, None), (given, found.said)


def test_ties_are_not_accused_and_what_is_wrong_beside_them_is():
    tied = Input("x", shape=(5,), value=(3.0, 0.0, 3.0, 0.0, 0.0))
    assert not Jacobian(op_of(lambda x: x.sort().values, tied)).header["differs"]

    def backward(g, x):
        sorted_back = torch.zeros_like(x).scatter(-1, x.sort(-1).indices, g[:5])
        return sorted_back + 3 * g[5:] * torch.tensor([1.0, 0, 0, 0, 0])

    sorts = with_backward(lambda x: torch.cat((x.sort(-1).values, 2 * x[:1])), backward)
    worst = Jacobian(op_of(sorts.apply, tied)).worst
    assert worst == {"of": "y[5]", "wrt": "x[0]", "numerical": pytest.approx(2), "returned": 3}


def test_ties_with_elements_beyond_the_block_are_not_accused_either():
    tied = Input("x", shape=(1, 100), value=tuple(np.round(NORMAL(100)).tolist()))
    assert not Jacobian(op_of(lambda x: x.sort(-1).values, tied)).header["differs"]


def almost(size, share):
    """tanh(x W) with the entry of W for the sixth input and the fourth output off by this share."""
    weight = torch.from_numpy(NORMAL((size, size)) / math.sqrt(size))
    weight[5, 3] = 0.5
    wrong = weight.clone()
    wrong[5, 3] *= 1 + share
    layer = with_backward(lambda x: torch.tanh(x @ weight), lambda g, x: (g * (1 - (x @ weight).tanh() ** 2)) @ wrong.T)
    return op_of(layer.apply, normal(1, size))


@pytest.mark.parametrize("share", [1e-3, 1e-6, 1e-8])
def test_one_slightly_wrong_entry_is_the_only_one_named(share):
    found = Jacobian(almost(24, share))
    assert found.header["differs"] == 1
    assert (found.worst["of"], found.worst["wrt"]) == ("y[0,3]", "x[0,5]")
    assert "in 1 of 576 cells" in found.said


def test_a_wrong_entry_beyond_the_block_is_found_by_the_look_over_all_cells():
    found = Jacobian(almost(200, 1e-3), "x[0,190]", "y[0,190]")
    elsewhere = found.header["elsewhere"]
    assert (found.header["rows"]["first"], found.header["rows"]["count"], found.header["differs"]) == (128, 64, 0)
    assert (elsewhere["differs"], elsewhere["worst"]["of"], elsewhere["worst"]["wrt"]) == (1, "y[0,3]", "x[0,5]")
    assert "found 1 in which" in found.said


def test_a_look_over_all_cells_accuses_nobody():
    elsewhere = Jacobian(almost(200, 0.0)).header["elsewhere"]
    assert (elsewhere["judged"], elsewhere["differs"]) == (40_000, 0)
    kinked = op_of(torch.relu, Input("x", shape=(100,), value=tuple(np.round(NORMAL(100)).tolist())))
    assert Jacobian(kinked).header["elsewhere"]["differs"] == 0


def test_the_last_block_holds_what_is_left():
    header = Jacobian(op_of(torch.sin, normal(3, 50)), "x[0,0]", "y[2,49]").header
    rows, across = ((header[side]["first"], header[side]["count"]) for side in ("rows", "across"))
    assert (rows, across) == ((128, 22), (0, 64))


STORIES = {
    "left out": (lambda g: g.tril(), "backward differs"),
    "nothing": (torch.zeros_like, "returns 0 for x"),
    "reversed": (lambda g: -g, "sign reversed"),
    "halved": (lambda g: g / 2, "0.5 times every slope"),
    "transposed": (lambda g: g.T, "the Jacobian transposed"),
    "diagonal": (lambda g: torch.diag(g.diagonal()), "the diagonal alone"),
}


@pytest.mark.parametrize("name", STORIES)
def test_what_backward_returns_instead_is_told(name):
    change, story = STORIES[name]
    weight = torch.from_numpy(NORMAL((5, 5)))
    linear = with_backward(lambda x: x @ weight, lambda g, x: g @ change(weight.T))
    assert story in Jacobian(op_of(linear.apply, normal(5))).said


def test_swapped_gradients_are_recognised():
    swaps = with_backward(lambda u, v: u * v * v, lambda g, u, v: (g * 2 * u * v, g * v * v))
    assert "are the two swapped?" in Jacobian(op_of(swaps.apply, normal(3, name="u"), normal(3, name="v"))).said


PATTERNS = {
    "diagonal": torch.sin,
    "lower": lambda x: torch.cumsum(x, 0),
    "upper": lambda x: torch.cumsum(x.flip(0), 0).flip(0),
    "dense": lambda x: torch.softmax(x, 0),
    "zero": torch.round,
    "sparse": lambda x: x.roll(1, 0) * x,
}


@pytest.mark.parametrize("name", PATTERNS)
def test_the_pattern_is_named(name):
    assert Jacobian(op_of(PATTERNS[name], normal(6))).header["pattern"] == name


def test_of_an_output_that_depends_on_nothing_the_pattern_says_so():
    said = Jacobian(op_of(lambda x: torch.cat((0 * x[:2], x[2:])), normal(6))).said
    assert "2 of 6 outputs" in said


def test_kinks_and_jumps_are_marked_and_any_subgradient_is_right():
    op = op_of(lambda x: torch.relu(x) + (x >= 1).to(x.dtype), Input("x", shape=(3,), value=(0.0, 1.0, -1.0)))
    found = Jacobian(op)
    assert found.words[::4] == ["subgradient", "jump", "agrees"]
    assert (found.left[0, 0], found.right[0, 0]) == pytest.approx((0, 1), abs=1e-9)
    assert "1 kink and 1 jump" in found.said


def test_cells_without_a_number_are_told_in_a_sentence():
    op = op_of(torch.sqrt, Input("x", shape=(2, 2), value=(1.0, 0.0, -1.0, 2.0)))
    assert "1 cell at the edge" in Jacobian(op).said


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
def test_differences_are_taken_in_double_precision_whatever_the_dtype(dtype):
    for op in ("matrix_product", op_of(lambda x: torch.softmax(x, -1), normal(5))):
        found = Jacobian(op, dtype=dtype)
        assert set(found.words) == {"agrees"}
        assert found.error.max() < 1e-9


def test_a_wrong_slope_of_a_float32_function_is_seen():
    wrong = written(torch.sin, lambda x: torch.cos(x) * 1.01)
    assert Jacobian(wrong, dtype="float32").words == ["differs"]


INSIDE_FLOAT32 = (lambda x: torch.tanh(x.float() * 3).double(), lambda x: x.float().sigmoid().to(x.dtype))


@pytest.mark.parametrize("function", INSIDE_FLOAT32)
def test_a_function_that_computes_in_float32_inside_is_neither_accused_nor_a_game_of_chance(function):
    found = Jacobian(op_of(function, normal(4)))
    assert not found.header["differs"]
    assert "random" not in found.said


def test_a_function_that_writes_to_its_input_and_its_grad_output_is_seen_as_it_is():
    def in_place(ctx, x):
        ctx.mark_dirty(x)
        return x.mul_(3)

    function = altered(Double, "InPlace", forward=in_place, backward=lambda ctx, g: g.mul_(3))
    found = Jacobian(op_of(function.apply, normal(2, 3)))
    assert found.numerical == pytest.approx(3 * np.eye(6), abs=1e-11)
    assert set(found.words) == {"agrees"}


def test_a_batch_that_mixes_its_rows_is_not_stacked():
    found = Jacobian(op_of(lambda x: x - x.mean(0, keepdim=True), normal(3, 4)))
    assert found.numerical == pytest.approx(np.kron(np.eye(3) - 1 / 3, np.eye(4)), abs=1e-11)
    top = Jacobian(op_of(lambda x: torch.where(x >= x.flatten().topk(2).values[-1], x, 0 * x), normal(5)))
    assert np.trace(top.numerical) == pytest.approx(2)
    assert set(top.words) == {"agrees"}


def test_an_output_that_bears_no_gradient_and_a_game_of_chance_are_said_to_be():
    order = op_of(lambda x: (x, x.argsort()), normal(4), outputs=("y", "order"))
    assert "order holds int64 numbers" in Jacobian(order, of="order[0]").said
    assert "carries no gradient" in Jacobian(op_of(lambda x: x.detach() * 2, normal(2))).said
    assert "forward is random" in Jacobian(op_of(lambda x: x * torch.rand_like(x), normal(2))).said


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (lambda x: [x, x], "returned a list where a tensor"),
        (lambda x: x.numpy(force=True), "ndarray where a tensor"),
        (lambda x: x[:0], "it has no such element"),
        (lambda x: x @ torch.eye(3, 3, dtype=x.dtype).mm(x), "2-D|matri"),
    ],
)
def test_what_is_no_jacobian_is_a_failure_with_a_reason(function, said):
    header, columns = document(op_of(function, normal(3)), "jacobian", wrt="x[0]", of="y[0]")
    assert (header["failure"]["phase"], columns) == ("forward", {})
    assert any(each in header["failure"]["message"] for each in said.split("|"))


def test_a_backward_that_raises_leaves_the_differences():
    def refuses(x):
        raise RuntimeError("no derivative today")

    op = op_of(written(torch.sin, refuses).call, normal(3))
    found = Jacobian(op)
    assert (found.header["failure"]["phase"], found.header["failure"]["kind"]) == ("backward", "RuntimeError")
    assert "no derivative today" in found.said
    assert found.numerical == pytest.approx(np.diag(np.cos(held(op))), abs=1e-11)


def test_a_slow_function_is_shown_in_a_smaller_block(clock):
    def slow(x):
        clock.goes_on(0.02)
        return x * x.sum()

    found = Jacobian(op_of(slow, normal(40)))
    assert found.header["rows"]["count"] < 40
    assert not found.header["differs"]
    assert found.header["elsewhere"] is None  # there is no time for a look over all cells
    assert any("Every call takes long" in each for each in found.header["notes"])


def test_the_place_is_where_the_swept_element_is_held():
    found = Jacobian(op_of(torch.exp, normal(2)), "x[1]", "y[1]", at=2.0)
    assert (found.header["at"], found.numerical[1, 1]) == (2.0, pytest.approx(math.exp(2), rel=1e-12))


def test_another_pair_of_tensors_that_is_wrong_is_named():
    drops = altered(
        Double,
        "Drops",
        forward=saving(lambda x: (x.sin(), x.exp())),
        backward=lambda ctx, g, _: g * ctx.saved_tensors[0].cos(),
    )
    op = op_of(drops.apply, normal(2), outputs=("d", "e"))
    assert "e by x is dropped" in Jacobian(op, of="d[0]").said
    assert "other tensors" not in Jacobian(op, of="e[0]").said
