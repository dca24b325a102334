"""The second derivative: double backward held against the differences of what backward returns."""

import numpy as np
import pytest
import torch
from functions.second_order import (
    CubeWrongDoubleBackward,
    Detached,
    InPlace,
    Once,
    OnceAsVjp,
    OnceByClass,
    RaisesTwice,
    ThroughNumpy,
    Unrelated,
    look_twice,
    of,
    twice,
    written_twice,
)
from support.sampling import each_fourth, sampled
from support.sections import op_of, section

from gradloupe.ops import OPS, Input
from gradloupe.server.numerics.second_order.gradgradcheck import gradgradcheck
from gradloupe.server.numerics.second_order.text import one_derivative_further, saved_intermediates
from gradloupe.server.numerics.status import Status
from gradloupe.server.runtime.failure import FunctionFailed
from gradloupe.server.runtime.graph import declares_once

F = torch.nn.functional
X = np.array([-1.2, 0.5, 2.0])


class DoubleBackward:
    """What an evaluation of double backward says at some points, which lie a multiple of 0.1 apart."""

    def __init__(self, op, x=X):
        count = round((x[-1] - x[0]) / 0.1) + 1
        self.evaluation, verdict = look_twice(op, x[0], x[-1], count=count)
        rows = [int(np.abs(self.evaluation.rows.x - each).argmin()) for each in x]
        assert self.evaluation.rows.x[rows] == pytest.approx(x, abs=1e-12)
        analytical = self.evaluation.analytical
        self.analytical = None if analytical is None else analytical[rows]
        self.numerical = self.evaluation.numerical.slopes.value[rows]
        self.differs = verdict.forward.status[rows] == Status.DIFFERS
        self.history = not self.evaluation.returned_none
        self.failure = self.evaluation.failure
        self.declared = self.failure is None and analytical is None


SINH = [-1.50946135541, 0.521095305494, 3.62686040785]
GOLDEN = {
    "square": [2, 2, 2],
    "cube": [-7.2, 3, 12],
    "exp": [0.301194211912, 1.6487212707, 7.38905609893],
    "sinh": SINH,
}


@pytest.mark.parametrize("name", GOLDEN)
def test_autograd_and_differences_find_the_golden_second_derivative(name):
    seen = DoubleBackward(name)
    assert seen.analytical == pytest.approx(GOLDEN[name], abs=1e-9)
    assert seen.numerical == pytest.approx(GOLDEN[name], abs=1e-9)
    assert seen.history
    assert not seen.differs.any()


def test_what_forward_kept_on_ctx_is_silently_0_where_differences_say_otherwise():
    seen = DoubleBackward("sinh_on_ctx")
    assert seen.analytical.tolist() == [0, 0, 0]
    assert seen.numerical == pytest.approx(SINH, abs=1e-9)
    assert (seen.history, seen.declared) == (False, False)
    assert seen.differs.all()


def test_half_of_the_second_derivative_is_told_from_the_whole():
    seen = DoubleBackward(of(CubeWrongDoubleBackward))
    assert seen.analytical == pytest.approx([-3.6, 1.5, 6], abs=1e-12)
    assert seen.numerical == pytest.approx([-7.2, 3, 12], abs=1e-9)
    assert seen.differs.all()


@pytest.mark.parametrize(
    "name", ["double", "clamp_with_grad", "clamp_with_grad_that_works", "clipped_relu", "kill_head"]
)
def test_no_graph_is_0_and_that_is_right_for_what_is_linear_in_pieces(name):
    seen = DoubleBackward(name, np.array([-1.3, 0.5, 2.5]))
    assert seen.analytical.tolist() == [0, 0, 0]
    assert not seen.history
    assert not seen.differs.any()


@pytest.mark.parametrize("function", [Once, OnceByClass, OnceAsVjp, OPS["functional_linear"].function])
def test_once_differentiable_is_found_without_running_backward(function):
    assert declares_once(function)


def test_no_other_function_is_said_to_be_once_differentiable():
    others = {name: op for name, op in OPS.items() if name != "functional_linear"}
    found = {name for name, op in others.items() if declares_once(op.function)}
    assert found == {name for name, op in others.items() if "@once_differentiable" in op.source}


@pytest.mark.parametrize("function", [Once, OnceByClass, OnceAsVjp])
def test_what_is_declared_unsupported_has_no_curve_and_is_not_accused(function):
    seen = DoubleBackward(of(function))
    assert (seen.analytical, seen.declared, seen.failure) == (None, True, None)
    assert seen.numerical == pytest.approx([-7.2, 3, 12], abs=1e-9)
    evaluation, verdict = look_twice(of(function))
    assert evaluation.analytical is None
    assert verdict.word == "unsupported"


def test_a_declared_function_inside_another_is_found_by_its_graph():
    seen = DoubleBackward(op_of(lambda x: Once.apply(x) + x.sin()))
    assert seen.declared


@pytest.mark.parametrize("function", [ThroughNumpy, RaisesTwice])
def test_a_backward_that_cannot_be_differentiated_fails_in_double_backward_alone(function):
    seen = DoubleBackward(of(function))
    assert seen.numerical == pytest.approx([-7.2, 3, 12], abs=1e-9)
    assert seen.failure.phase == "double backward"
    evaluation, verdict = look_twice(of(function))
    assert verdict.word == "failed"
    assert np.isfinite(evaluation.numerical.slopes.value).all()


def test_detaching_what_numpy_refuses_makes_it_silently_0():
    seen = DoubleBackward(of(Detached))
    assert not seen.history
    assert seen.differs.all()


def test_a_function_that_works_in_place_has_a_second_derivative():
    evaluation, verdict = look_twice(of(InPlace))
    assert evaluation.forward == pytest.approx(2 * evaluation.rows.x)
    assert verdict.word == "differs"
    assert not evaluation.analytical.any()


def test_an_output_without_gradient_is_said_to_be_cut_off():
    with pytest.raises(FunctionFailed, match="y is cut off from x"):
        DoubleBackward(of(Unrelated))


@pytest.mark.parametrize("grad_output", [1.0, -1.0, 2.5])
def test_grad_output_scales_both_derivatives(grad_output):
    evaluation, _ = look_twice("cube", -2.0, 2.0, grad_output)
    x = evaluation.rows.x
    assert evaluation.forward == pytest.approx(3 * grad_output * x * x)
    assert evaluation.analytical == pytest.approx(6 * grad_output * x)
    assert evaluation.numerical.slopes.value == pytest.approx(6 * grad_output * x, abs=1e-9)


CLOSED = {
    "sine": (torch.sin, lambda x: -np.sin(x)),
    "exponential": (torch.exp, np.exp),
    "tanh": (torch.tanh, lambda x: -2 * np.tanh(x) / np.cosh(x) ** 2),
    "bell": (lambda x: torch.exp(-x * x), lambda x: (4 * x * x - 2) * np.exp(-x * x)),
    "fourth power": (lambda x: x**4, lambda x: 12 * x * x),
    "fast sine": (lambda x: torch.sin(10 * x), lambda x: -100 * np.sin(10 * x)),
    "softplus": (F.softplus, lambda x: np.exp(-x) / (1 + np.exp(-x)) ** 2),
}


@pytest.mark.parametrize("name", CLOSED)
def test_differences_find_the_second_derivative_within_their_own_bound(name):
    function, second = CLOSED[name]
    evaluation, verdict = look_twice(op_of(function))
    slopes, truth = evaluation.numerical.slopes, second(evaluation.rows.x)
    off = np.abs(slopes.value - truth)
    assert verdict.word == "matches"
    assert off.max() <= 2e-10 * np.abs(truth).max()
    assert (off <= 10 * slopes.error + 1e-13 * np.abs(truth).max()).mean() > 0.98


RIGHT = {
    name: getattr(space, name)
    for space, names in (
        (torch, "sin tanh exp sigmoid erf atan sqrt log reciprocal relu abs square sign round asinh"),
        (F, "gelu silu elu selu celu softplus softsign hardswish hardtanh relu6 leaky_relu hardshrink softshrink"),
    )
    for name in names.split()
}


@pytest.mark.parametrize("name", each_fourth(RIGHT))
def test_a_right_second_derivative_is_never_accused(name):
    words = {dtype: look_twice(op_of(RIGHT[name]), dtype=dtype)[1].word for dtype in (torch.float64, torch.float32)}
    assert words == {torch.float64: "matches", torch.float32: "matches"}


def test_where_the_gradient_has_a_kink_any_slope_between_is_right():
    evaluation, verdict = look_twice(op_of(lambda x: x * x.abs()))
    assert verdict.word == "matches"
    assert [(each.kind, each.x) for each in evaluation.special] == [("kink", 0.0)]


SLIGHTLY = {
    "too large": lambda second: lambda x: second(x) * (1 + 1e-3),
    "too small": lambda second: lambda x: second(x) * (1 - 1e-6),
    "on one side": lambda second: lambda x: second(x) + 1e-3 * (x > 1),
    "in a narrow part": lambda second: lambda x: second(x) + 1e-3 * ((x > 0.5) & (x < 0.6)),
    "shifted": lambda second: lambda x: second(x + 1e-4),
}


@pytest.mark.parametrize("how", SLIGHTLY)
def test_a_slightly_wrong_double_backward_is_caught(how):
    def right(x):
        return -torch.sin(x)

    ops = [written_twice(torch.sin, torch.cos, second) for second in (SLIGHTLY[how](right), right)]
    assert [look_twice(op)[1].word for op in ops] == ["differs", "matches"]


def test_a_wrong_first_derivative_may_have_a_right_second_one():
    _, verdict = look_twice(written_twice(torch.sin, lambda x: 2 * torch.cos(x), lambda x: -2 * torch.sin(x)))
    assert verdict.word == "matches"


def test_a_surrogate_excuses_the_first_derivative_only():
    wrong = written_twice(torch.sign, torch.sigmoid, torch.exp, surrogate=lambda x: torch.exp(x))
    evaluation, verdict = look_twice(wrong, -2.0, 2.0)
    assert evaluation.surrogate.slopes.value == pytest.approx(evaluation.analytical)
    assert verdict.word == "differs"


@pytest.mark.parametrize("name", sampled(name for name, op in OPS.items() if op.surrogate and not op.broken))
def test_the_dotted_curve_is_the_second_derivative_of_the_surrogate(name):
    evaluation, verdict = look_twice(name)
    assert evaluation.surrogate is not None
    assert evaluation.failure is None
    assert verdict.word in ("matches", "matches here")


def test_one_element_of_many_is_looked_at_in_its_own_gradient():
    cut = twice("functional_linear", wrt="weight[0,1]", of="y[1,0]")
    assert (cut.of, cut.of_index, cut.wrt) == ("grad_weight", (0, 1), "weight")
    assert cut.forward(np.array([0.0, 1.0])) == pytest.approx([1.0, 1.0])
    softmax = op_of(lambda x: torch.softmax(x, -1), Input("x", shape=(2, 3), value=(0.0, 1, 2, 3, 4, 5)))
    evaluation, verdict = look_twice(softmax, wrt="x[1,0]", of="y[1,0]")
    share = 1 / (1 + (np.exp(4) + np.exp(5)) * np.exp(-evaluation.rows.x))
    assert evaluation.analytical == pytest.approx(share * (1 - share) * (1 - 2 * share))
    assert verdict.word == "matches"


def test_the_mixed_slope_of_a_product_is_not_taken_for_the_second_derivative():
    evaluation, verdict = look_twice("abs_product", wrt="u")
    assert (verdict.word, evaluation.analytical.any()) == ("matches", False)
    assert [each.x for each in evaluation.special if each.kind == "jump"] == [0.0]


def test_what_forward_kept_is_named_as_the_author_named_it():
    assert saved_intermediates(section("sinh_on_ctx"), 0.5) == ("ctx.rising", "ctx.falling")
    assert saved_intermediates(section(of(CubeWrongDoubleBackward)), 0.5) == ("a saved tensor",)
    assert saved_intermediates(section("cube"), 0.5) == ()


GRADGRADCHECK = dict.fromkeys(("functional_linear", "sinh_on_ctx"), False) | dict.fromkeys(
    ("clamp_with_grad", "clamp_with_grad_that_works", "clipped_relu", "kill_head", "abs_product", "double"), True
)


@pytest.mark.parametrize("name", [*GRADGRADCHECK, *GOLDEN, "image_alpha"])
def test_gradgradcheck_says_what_it_says_of_the_seeds(name):
    state = torch.get_rng_state()
    opinion = gradgradcheck(section(name), np.array([-0.7, 0.4]), "x", 6.0)
    assert opinion.passed is GRADGRADCHECK.get(name, True)
    assert ("passes at x = −0.7 and 0.4" if opinion.passed else "fails at x = −0.7") in opinion.sentence
    assert torch.equal(torch.get_rng_state(), state)


def test_gradgradcheck_is_bounded_and_says_why_it_was_not_run():
    large = op_of(torch.sin, Input("x", shape=(2000,)))
    assert gradgradcheck(section(large), X, "x[0]", 6.0).passed is None
    assert "2000 elements" in gradgradcheck(section(large), X, "x[0]", 6.0).sentence
    assert "off the kinks" in gradgradcheck(section("cube"), X[:0], "x", 6.0).sentence
    assert "cannot run" in gradgradcheck(section(of(ThroughNumpy)), X, "x", 6.0).sentence
    slow = op_of(lambda x: (torch.ones(1500, 1500) @ torch.ones(1500, 1500))[0, 0] * x)
    assert "slow" in gradgradcheck(section(slow), X, "x", 6.0).sentence


def test_words_go_one_derivative_further_and_quotations_stay():
    said = "backward returns the derivative of forward; forward jumps."
    assert one_derivative_further(said, "grad_x") == "Double backward returns the derivative of grad_x; grad_x jumps."
    quoted = "double backward raised RuntimeError: backward and forward are what they are"
    assert one_derivative_further(quoted, "grad_x") == quoted[:1].upper() + quoted[1:]
