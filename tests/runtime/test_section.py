"""Sections: one element against one element, of Functions of any shape."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import torch
from support.sections import look, op_of, section
from support.written_functions import function_of

from gradloupe.ops import Input, Parameter
from gradloupe.server.runtime.batching import batched_rows, batched_section, structure_name
from gradloupe.server.runtime.failure import FunctionFailed
from gradloupe.server.runtime.rejected_points import find_rejected
from gradloupe.server.runtime.vjp import dense, expanded, strided, transposed

T = np.linspace(-2, 2, 9)


@pytest.mark.parametrize("wrt", [("weight", 0, 1), ("weight", 1, 2), ("input", 0, 0), ("input", 1, 2)])
@pytest.mark.parametrize("of", [(0, 0), (1, 1)])
def test_any_element_of_a_matrix_can_be_swept_and_looked_at(wrt, of):
    name, row, column = wrt
    cut = batched_section(section("functional_linear", wrt=f"{name}[{row},{column}]", of=f"y[{of[0]},{of[1]}]"), T)
    held = {each.name: np.reshape(each.values, each.shape) for each in cut.op.inputs}
    x, weight, bias = held["input"], held["weight"], held["bias"]
    slope = weight[of[1], column] * (row == of[0]) if name == "input" else x[of[0], column] * (row == of[1])
    values = x[of[0]] @ weight[of[1]] + bias[of[1]] + slope * (T - held[name][row, column])
    returned = cut.backward(T, 1.0)
    assert cut.forward(T) == pytest.approx(values, abs=1e-12)
    assert returned.values == pytest.approx(values, abs=1e-12)
    assert returned.grad_input == pytest.approx(np.full(9, slope), abs=1e-12)


@pytest.mark.parametrize(
    ("op", "wrt", "of", "structure"),
    [
        ("exp", "x", "y", "together"),
        ("clamp_with_grad", "input", "y", "together"),
        ("abs_product", "u", "y", "together"),
        ("image_alpha", "b", "img", "together"),
        ("kill_head", "x[0,3]", "y[0,3]", "together"),
        ("functional_linear", "input[0,1]", "y[0,0]", "together"),
        ("functional_linear", "weight[0,0]", "y[1,0]", "together"),
        ("functional_linear", "bias[1]", "y[0,1]", "together"),
        ("matrix_product", "B[2,0]", "Y[1,0]", "together"),
        ("clamp_with_grad", "min", "y", "one by one"),
    ],
)
def test_how_a_function_may_be_evaluated_is_found_by_measurement(op, wrt, of, structure):
    assert structure_name(batched_section(section(op, wrt=wrt, of=of), T).stacked) == structure


def seeded_mask(x, seed=3):
    return x * (torch.rand(x.shape, generator=torch.Generator().manual_seed(seed)) > 0.3)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: torch.softmax(x, 0),
        lambda x: torch.sort(x).values,
        lambda x: torch.cumsum(x, 0),
        lambda x: x * (x >= x.topk(min(2, len(x))).values[-1]),
        lambda x: x - x.mean(),
        lambda x: x.flip(0),
        lambda x: x * (1 if x.max() < 1 else 2),
        seeded_mask,
        lambda x: x * (x >= x.topk(min(10, len(x))).values[-1]),
    ],
)
def test_what_only_looks_elementwise_is_evaluated_one_by_one(function):
    t = np.linspace(-2, 2, 41)
    cut = batched_section(section(op_of(function)), t)
    assert structure_name(cut.stacked) == "one by one"
    assert cut.forward(t) == pytest.approx([float(function(torch.tensor([each]))[0]) for each in t])


def test_a_mask_that_depends_on_the_shape_is_not_taken_for_elementwise():
    for seed in range(8):
        op = op_of(partial(seeded_mask, seed=seed), Input("x", shape=(4,), value=0.5), of="y[1]", wrt="x[1]")
        assert structure_name(batched_section(section(op), T).stacked) == "one by one"


def test_no_more_copies_of_a_tensor_than_some_thousand_are_stacked():
    most = []
    op = op_of(lambda x: most.append(len(x)) or 2 * x, Input("x", shape=(2, 3), value=0.5), of="y[1,0]", wrt="x[1,0]")
    cut = batched_section(section(op), T)
    assert cut.forward(np.linspace(-1, 1, 5000)) == pytest.approx(2 * np.linspace(-1, 1, 5000))
    assert max(most) == 2 * 1024


def test_a_single_point_that_is_refused_is_a_gap_and_many_are_a_failure():
    def fussy(x):
        if (x == 0.5).any():
            raise ValueError("half")
        return x.exp()

    t = np.linspace(-1, 1, 41)
    together = replace(section(op_of(fussy)), stacked=("x",))
    alone = replace(together, stacked=())
    for cut in (together, alone):
        returned = cut.backward(t, 1.0)
        for found in (cut.forward(t), returned.values, returned.grad_input):
            assert t[np.isnan(found)].tolist() == [0.5]
    assert find_rejected(alone.forward, t, alone.forward(t)) == ((0.5, "forward raised ValueError"),)
    for each in (np.full(41, 0.5), np.array([0.5])):
        with pytest.raises(FunctionFailed, match="half"):
            together.forward(each)


def test_an_outer_product_of_all_copies_is_not_taken_for_a_batch():
    cut = batched_section(section("functional_linear", wrt="input[0,1]", of="y[0,0]"), T)
    assert cut.forward_alone(T).elements == 4 * len(T)


@pytest.mark.parametrize(("count", "grad_output"), [(5, 1.0), (401, 1.0), (9, 2.0)])
def test_a_backward_that_clips_the_norm_of_all_gradients_is_asked_one_by_one(count, grad_output):
    clips = """
    def forward(ctx, x): return x.clone()
    def backward(ctx, grad_output): return grad_output * (5 / grad_output.norm()).clamp(max=1)
    """
    evaluation, _ = look(op_of(function_of(clips).apply), count=count, grad_output=grad_output)
    assert evaluation.analytical == pytest.approx(grad_output)


def test_a_float_parameter_can_be_swept_and_returns_no_gradient():
    cut = batched_section(section("clamp_with_grad", wrt="min", input=(-2.5,)), T)
    returned = cut.backward(np.array([-3.0, -1.0]), 1.0)
    assert returned.values == pytest.approx([-2.5, -1.0])
    assert returned.grad_input is None
    assert cut.vjp(T[:1], torch.ones_like) is None


def test_a_none_from_backward_is_autograds_zero_and_is_told_apart():
    returned = batched_section(section("replace_grad", wrt="x_forward"), T).backward(T, 1.0)
    assert returned.none
    assert not returned.grad_input.any()
    assert not batched_section(section("replace_grad", wrt="x_backward"), T).backward(T, 1.0).none


def test_every_point_may_have_a_grad_output_of_its_own():
    numbers = np.arange(9.0)
    for op, wrt, of in (("square", "x", "y"), ("kill_head", "x[0,3]", "y[0,3]"), ("functional_linear", "", "")):
        cut = batched_section(section(op, wrt=wrt, of=of), T)
        found = cut.backward(T, numbers).grad_input
        assert found == pytest.approx(numbers * cut.backward(T, 1.0).grad_input)


def test_a_grad_output_has_the_value_asked_for_and_may_lie_in_memory_in_any_layout():
    received = []

    class Watching(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, grad_output):
            received.append((grad_output.tolist(), grad_output.stride()))
            return grad_output

    section(op_of(Watching.apply), dtype=torch.float32).backward(np.array([1.0]), -2.5)
    assert received[-1][0] == [-2.5]
    cut = batched_section(section(op_of(Watching.apply)), T)
    for layout, stride in ((dense, 1), (expanded, 0), (strided, 2), (transposed, 1)):
        assert cut.backward(T, -2.5, layout).grad_input.tolist() == [-2.5] * 9
        assert received[-1] == ([-2.5] * 9, (stride,))


def test_the_whole_of_an_output_may_be_given_a_grad_output():
    cut = section("functional_linear", wrt="input[0,1]", of="y[0,0]")
    held = {name: torch.tensor(values, dtype=torch.float64) for name, values in cut.inputs}
    given = torch.tensor([[1.0, -2.0], [0.5, 3.0]], dtype=torch.float64)
    for layout, stride in ((dense, (2, 1)), (transposed, (1, 2)), (strided, (4, 2))):
        assert layout(given).stride() == stride
        found = cut.vjp(T[:1], lambda out, layout=layout: layout(given))
        assert found == pytest.approx((given @ held["weight"].reshape(2, 3)).reshape(-1).numpy())


def test_a_grad_output_that_the_dtype_does_not_hold_is_a_failure_to_show():
    with pytest.raises(FunctionFailed, match="overflow") as raised:
        section("exp", dtype=torch.float32).backward(T[:1], 1e300)
    assert raised.value.failure.phase == "backward"


def test_a_surrogate_and_a_parameter_of_any_kind_reach_the_function():
    switch = Parameter("negate", True, kind="switch")
    word = Parameter("mode", "twice", kind="choice", choices=("once", "twice"))

    def function(x, negate, mode):
        return (-x if negate is True else x) * (2 if mode == "twice" else 1)

    op = op_of(function, parameters=(switch, word))
    assert section(op).forward(np.array([1.5])) == -3.0
    assert section(op, negate=False, mode="once").forward(np.array([1.5])) == 1.5


def test_an_output_of_another_shape_is_a_failure_to_show():
    for returns, said in (
        (lambda x: [x, x], "list"),
        (lambda x: 3, "int"),
        (lambda x: (3, x), "2 outputs"),
        (lambda x: x.reshape(-1)[:0], "no such element"),
    ):
        with pytest.raises(FunctionFailed, match=said) as raised:
            section(op_of(returns)).forward(np.array([1.0]))
        assert raised.value.failure.phase == "forward"


def test_an_element_the_output_does_not_have_is_a_failure_to_show():
    for element in ("y", "y[0]", "y[2,0]", "y[0,0,0]"):
        with pytest.raises(FunctionFailed, match="no such element"):
            section(op_of(lambda x: x.sum().expand(2, 2)), of=element).forward(np.array([1.0]))


def test_a_half_precision_section_says_what_its_dtype_can_hold():
    cut = section("exp", dtype=torch.bfloat16)
    assert cut.snap(np.array([0.3]))[0] == 0.30078125
    assert cut.forward(np.array([0.3]))[0] == float(torch.tensor(0.3, dtype=torch.bfloat16).exp())


def test_rows_held_against_all_rows_of_another_input_are_not_held_against_all_its_copies():
    some = tuple(torch.linspace(-1, 1, 48).sin().tolist())
    inputs = Input("z", shape=(6, 4), value=some[:24]), Input("codebook", shape=(8, 4), value=some[:32])
    op = op_of(lambda z, codebook: codebook[torch.cdist(z, codebook).argmin(1)], *inputs)
    assert batched_section(section(op, wrt="z[0,0]", of="y[0,0]"), np.linspace(-3, 3, 401)).stacked == ("z",)


MATRIX = Input("x", shape=(3, 3), value=(2.0, 0.3, 0.1, 0.3, 2.5, 0.2, 0.1, 0.2, 1.8))
COLUMN = {"x": (2, 3), "w": (3, 1)}  # whose copies could share memory


@pytest.mark.parametrize(
    ("op", "wrt", "of"),
    [
        ("functional_linear", "weight[1,2]", "y[0,1]"),
        ("functional_linear", "bias[1]", "y[1,1]"),
        ("matrix_product", "B[2,0]", "Y[1,0]"),
        (op_of(torch.mm, *(Input(name, shape=shape, value=0.5) for name, shape in COLUMN.items())), "w[1,0]", "y[1,0]"),
        (
            op_of(
                torch.nn.functional.conv1d,
                *(Input("x", shape=(2, 3, 5)), Input("kernel", shape=(2, 3, 2)), Input("bias", shape=(2,))),
            ),
            "kernel[1,2,0]",
            "y[1,1,3]",
        ),
        (op_of(lambda x: torch.softmax(x, -1), MATRIX), "x[0,1]", "y[2,1]"),
        (op_of(torch.logdet, MATRIX), "x[0,1]", "y"),
        (op_of(torch.linalg.inv, MATRIX), "x[2,1]", "y[0,2]"),
        (op_of(torch.linalg.eigvalsh, MATRIX), "x[1,0]", "y[2]"),
    ],
)
def test_copies_that_are_evaluated_in_one_call_answer_as_each_does_alone(op, wrt, of):
    cut, t = section(op, wrt=wrt, of=of), T / 5
    together, held = batched_section(cut, t), dict(cut.inputs)
    assert together.stacked
    for grad_output in (-0.5, T):
        at_once, alone = together.backward(t, grad_output), cut.backward(t, grad_output)
        np.testing.assert_allclose(at_once.values, alone.values, rtol=0, atol=1e-14)
        np.testing.assert_allclose(at_once.grad_input, alone.grad_input, rtol=0, atol=1e-14)
    assert dict(cut.inputs) == held


def test_a_backward_that_is_wrong_for_a_stack_is_called_for_each_matrix_alone():
    trace = """
    def forward(ctx, x):
        ctx.shape = x.shape
        return x.diagonal(dim1=-2, dim2=-1).sum(-1)
    def backward(ctx, grad_output):
        return grad_output.sum() * torch.eye(ctx.shape[-1], dtype=grad_output.dtype).expand(ctx.shape)
    """
    seen, verdict = look(op_of(function_of(trace).apply, Input("x", shape=(3, 3)), wrt="x[1,1]", of="y"))
    assert (seen.structure, verdict.word) == ("one by one", "matches")


def test_a_backward_that_is_right_for_one_number_is_not_judged_by_a_stack_that_nobody_declared():
    determinant = """
    def forward(ctx, x):
        y = torch.linalg.det(x)
        ctx.save_for_backward(x, y)
        return y
    def backward(ctx, grad_output):
        x, y = ctx.saved_tensors
        return grad_output.mean() * y[..., None, None] * torch.linalg.inv(x).mT
    """
    op = op_of(function_of(determinant).apply, MATRIX, wrt="x[1,2]", of="y")
    seen, verdict = look(op)
    assert (seen.structure, verdict.word, seen.linearity.findings) == ("one by one", "matches", ())


def test_a_function_that_works_in_place_is_asked_for_all_its_elements_in_every_dtype():
    op = op_of(lambda x: x.mul_(2).cumsum(-1), Input("x", shape=(3,), value=0.5), wrt="x[0]", of="y[2]")
    for dtype in (torch.float64, torch.float32):
        copies = batched_rows(section(op, dtype=dtype), 6.0)
        returned = copies.backward(np.tile(copies.here, (3, 1)), np.eye(3))
        assert returned.grad_input == pytest.approx(2 * np.tril(np.ones((3, 3))))
        assert copies.here.tolist() == [0.5, 0.5, 0.5]


@pytest.mark.parametrize("across", [("input", (0, 2)), ("weight", (0, 1)), ("bias", (0,))])
def test_two_elements_that_are_swept_at_once_have_a_gradient_each(across):
    cut, (s, t) = section("functional_linear", wrt="input[0,1]", of="y[0,0]"), (T, np.cos(T))
    x, weight, bias = (np.reshape(each.values, each.shape) for each in cut.op.inputs)
    slopes = {"input": (weight[0, 1], weight[0, 2]), "weight": (t, s), "bias": (weight[0, 1], 1.0)}[across[0]]
    found = replace(cut, also=across).backward(np.stack((s, t), -1), 1.0)
    assert found.grad_input == pytest.approx(np.stack(np.broadcast_arrays(*slopes, T)[:2], -1))
    rest = x[0] @ weight[0] + bias[0] - x[0, 1] * weight[0, 1]
    moved = {
        "input": weight[0, 1] * s + weight[0, 2] * (t - x[0, 2]),
        "weight": s * t,
        "bias": weight[0, 1] * s + t - bias[0],
    }
    assert found.values == pytest.approx(rest + moved[across[0]])
