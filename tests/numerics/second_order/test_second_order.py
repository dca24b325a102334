"""The second derivative: double backward held against the differences of what backward returns."""

import numpy as np
import pytest
import torch
from functions.basics import Cube, Square, altered, with_backward
from functions.basics import of as pulled
from support.answers import document
from support.sampling import each_fourth, sampled
from support.sections import op_of
from torch.autograd.function import once_differentiable

from gradloupe.ops import OPS, Input, Op
from gradloupe.server.runtime.graph import declares_once

F = torch.nn.functional
X = np.array([-1.2, 0.5, 2.0])


def twice(op, start=-3.0, stop=3.0, **asked):
    """The header and the columns of the curves of the second order."""
    return document(op, "curves", start, stop, order=2, **asked)


def word(op, *range_, **asked):
    return twice(op, *range_, **asked)[0]["verdict"]["word"]


def story(op):
    """What is said of why double backward differs."""
    return twice(op)[0]["verdict"]["explanation"]


def at(op, x=X):
    """The columns at some points, which lie a multiple of 0.1 apart; ``differs`` says where they do."""
    header, columns = twice(op, x[0], x[-1], count=round((x[-1] - x[0]) / 0.1) + 1)
    rows = [int(np.abs(columns["x"] - each).argmin()) for each in x]
    found = {name: column[rows] for name, column in columns.items()}
    return found | {"differs": found["status"] == header["statuses"].index("differs")}


def of(function, *inputs, **words):
    return Op(function, function.__name__, "tests", "", "", inputs or (Input("x"),), **words)


def written_twice(value, derivative, second, **words):
    """An op whose backward returns ``derivative`` and whose double backward returns ``second``."""
    inner = with_backward(derivative, lambda g, x: g * second(x))
    return of(with_backward(value, lambda g, x: g * inner.apply(x)), **words)


def saves_twice(ctx, x):
    ctx.save_for_backward(x, 3 * x)
    return x**3


# The cube: what it saves beside x hides half of the second derivative.
WrongDoubleBackward = altered(
    Cube, "Wrong", forward=saves_twice, backward=pulled(lambda g, x, three_x: g * three_x * x)
)


def cube(backward, name="backward", method=staticmethod):
    """The cube with a backward of its own, of ctx and grad_output."""
    body = {"forward": staticmethod(Cube.forward), name: method(backward)}
    return type("OwnBackward", (Cube if name == "backward" else torch.autograd.Function,), body)


def slope(ctx, grad_output):
    return 3 * ctx.saved_tensors[0] ** 2 * grad_output


Once = cube(once_differentiable(slope))
OnceByClass = cube(once_differentiable(lambda cls, ctx, g: slope(ctx, g)), method=classmethod)
OnceAsVjp = cube(once_differentiable(slope), "vjp")
ThroughNumpy = cube(lambda ctx, g: torch.from_numpy(3 * ctx.saved_tensors[0].numpy() ** 2 * g.numpy()))
Detached = cube(lambda ctx, g: torch.from_numpy(3 * ctx.saved_tensors[0].detach().numpy() ** 2 * g.detach().numpy()))


def raises_twice(ctx, grad_output):
    """Can be called, but not be gone back through."""
    (x,) = ctx.saved_tensors
    squared = x.exp()
    result = 3 * x * x + 0 * squared
    squared.mul_(2)
    return result * grad_output


RaisesTwice = cube(raises_twice)


def in_place(ctx, x):
    ctx.save_for_backward(x.clone())
    ctx.mark_dirty(x)
    return x.mul_(x)


InPlace = altered(Square, "InPlace", forward=in_place)


def test_half_of_the_second_derivative_is_told_from_the_whole():
    seen = at(of(WrongDoubleBackward))
    assert seen["analytical"] == pytest.approx([-3.6, 1.5, 6], abs=1e-12)
    assert seen["numerical"] == pytest.approx([-7.2, 3, 12], abs=1e-9)
    assert seen["differs"].all()
    assert "the saved tensor" in story(of(WrongDoubleBackward))["sentence"]


@pytest.mark.parametrize(
    "name", ["double", "clamp_with_grad", "clamp_with_grad_that_works", "clipped_relu", "kill_head"]
)
def test_no_graph_is_0_and_that_is_right_for_what_is_linear_in_pieces(name):
    seen = at(name, np.array([-1.3, 0.5, 2.5]))
    assert seen["analytical"].tolist() == [0, 0, 0]
    assert not seen["differs"].any()


def test_once_differentiable_is_found_without_running_backward_and_nowhere_else():
    assert all(declares_once(each) for each in (Once, OnceByClass, OnceAsVjp))
    found = {name for name, op in OPS.items() if declares_once(op.function)}
    assert found == {name for name, op in OPS.items() if "@once_differentiable" in op.source}


@pytest.mark.parametrize("function", [Once, OnceByClass, OnceAsVjp])
def test_what_is_declared_unsupported_has_no_curve_and_is_not_accused(function):
    seen = at(of(function))
    assert "analytical" not in seen
    assert seen["numerical"] == pytest.approx([-7.2, 3, 12], abs=1e-9)
    assert word(of(function)) == "unsupported"


def test_a_declared_function_inside_another_is_found_by_its_graph():
    assert word(op_of(lambda x: Once.apply(x) + x.sin())) == "unsupported"


@pytest.mark.parametrize("function", [ThroughNumpy, RaisesTwice])
def test_a_backward_that_cannot_be_differentiated_fails_in_double_backward_alone(function):
    assert at(of(function))["numerical"] == pytest.approx([-7.2, 3, 12], abs=1e-9)
    header, _ = twice(of(function))
    assert (header["verdict"]["word"], header["failure"]["phase"]) == ("failed", "double backward")


def test_detaching_what_numpy_refuses_makes_it_silently_0():
    assert at(of(Detached))["differs"].all()
    assert story(of(Detached))["kind"] == "no history"


def test_a_function_that_works_in_place_has_a_second_derivative():
    header, columns = twice(of(InPlace))
    assert columns["forward"] == pytest.approx(2 * columns["x"])
    assert header["verdict"]["word"] == "differs"
    assert not columns["analytical"].any()


def test_an_output_without_gradient_is_said_to_be_cut_off():
    header, _ = twice(op_of(lambda x: x.round().long()))
    assert header["verdict"]["word"] == "no gradient"
    assert "y is cut off from" in header["verdict"]["sentence"]


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
    header, columns = twice(op_of(function))
    truth = second(columns["x"])
    off, size = np.abs(columns["numerical"] - truth), np.abs(truth).max()
    assert header["verdict"]["word"] == "matches"
    assert off.max() <= 2e-10 * size
    assert (off <= 10 * columns["error"] + 1e-13 * size).mean() > 0.98


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
    assert [word(op_of(RIGHT[name]), dtype=dtype) for dtype in ("float64", "float32")] == ["matches"] * 2


def test_where_the_gradient_has_a_kink_any_slope_between_is_right():
    header, _ = twice(op_of(lambda x: x * x.abs()))
    assert header["verdict"]["word"] == "matches"
    assert [(each["kind"], each["x"]) for each in header["marks"]] == [("kink", 0.0)]


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
    assert [word(op) for op in ops] == ["differs", "matches"]


def test_a_wrong_first_derivative_may_have_a_right_second_one():
    op = written_twice(torch.sin, lambda x: 2 * torch.cos(x), lambda x: -2 * torch.sin(x))
    assert word(op) == "matches"


def test_a_surrogate_excuses_the_first_derivative_only():
    wrong = written_twice(torch.sign, torch.sigmoid, torch.exp, surrogate=lambda x: torch.exp(x))
    header, columns = twice(wrong, -2.0, 2.0)
    assert columns["surrogate_numerical"] == pytest.approx(columns["analytical"])
    assert header["verdict"]["word"] == "differs"


@pytest.mark.parametrize("name", sampled(name for name, op in OPS.items() if op.surrogate and not op.broken))
def test_the_dotted_curve_is_the_second_derivative_of_the_surrogate(name):
    header, columns = twice(name)
    assert "surrogate" in columns
    assert header["failure"] is None
    assert header["verdict"]["word"] in ("matches", "matches here")


def test_one_element_of_many_is_looked_at_in_its_own_gradient():
    _, columns = twice("functional_linear", wrt="weight[0,1]", of="y[1,0]")
    assert columns["forward"] == pytest.approx(1.0)
    softmax = op_of(lambda x: torch.softmax(x, -1), Input("x", shape=(2, 3), value=(0.0, 1, 2, 3, 4, 5)))
    header, columns = twice(softmax, wrt="x[1,0]", of="y[1,0]")
    share = 1 / (1 + (np.exp(4) + np.exp(5)) * np.exp(-columns["x"]))
    assert columns["analytical"] == pytest.approx(share * (1 - share) * (1 - 2 * share))
    assert header["verdict"]["word"] == "matches"


def test_the_mixed_slope_of_a_product_is_not_taken_for_the_second_derivative():
    header, columns = twice("abs_product", wrt="u")
    assert (header["verdict"]["word"], columns["analytical"].any()) == ("matches", False)
    assert [each["x"] for each in header["marks"] if each["kind"] == "jump"] == [0.0]


GRADGRADCHECK = dict.fromkeys(("functional_linear", "sinh_on_ctx"), False) | dict.fromkeys(
    (
        "clamp_with_grad",
        "clipped_relu",
        "kill_head",
        "abs_product",
        "double",
        "image_alpha",
        "square",
        "cube",
        "exp",
        "sinh",
    ),
    True,
)


@pytest.mark.parametrize("name", GRADGRADCHECK)
def test_gradgradcheck_says_what_it_says_of_the_seeds(name):
    opinion = twice(name)[0]["gradgradcheck"]
    assert opinion["passed"] is GRADGRADCHECK[name]
    assert ("passes at" if opinion["passed"] else "fails at") in opinion["sentence"]


def test_gradgradcheck_is_bounded_and_says_why_it_was_not_run(clock):
    def slow(x):
        clock.goes_on(0.5)
        return x.sin()

    ops = {
        "1025 elements": op_of(torch.sin, Input("x", shape=(1025,))),
        "cannot run": of(ThroughNumpy),
        "slow": op_of(slow),
    }
    for reason, op in ops.items():
        opinion = twice(op, count=2 if reason == "slow" else 21)[0]["gradgradcheck"]
        assert opinion["passed"] is not True
        assert reason in opinion["sentence"]


def test_words_go_one_derivative_further_and_quotations_stay():
    said = document("cube", "step", order=2)[0]["sentence"]
    assert said.startswith("At x = 0 grad_x has slope 0.")
    assert "double backward's slope" in said

    def refuses(g, x):
        raise RuntimeError("backward and forward are what they are")

    inner = with_backward(lambda x: x * 1, refuses)
    quoting = of(cube(lambda ctx, g: inner.apply(g * ctx.saved_tensors[0] ** 2)))
    assert twice(quoting)[0]["verdict"]["sentence"].endswith(": backward and forward are what they are")
