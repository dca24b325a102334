"""Two elements swept at once: forward, both gradients, and whether they are those of any one function."""

import numpy as np
import pytest
import torch
from functions.basics import with_backward
from support.answers import document
from support.sampling import sampled
from support.sections import op_of
from torch.nn import functional

from gradloupe.ops import OPS, Input, Parameter
from gradloupe.server.catalogue.op_description import parse_element

U, V = Input("u"), Input("v")


def op_of_two(forward, backward=None):
    """An op of u and v; ``backward`` gives both factors of grad_output, None for none; without one it is autograd's."""
    if backward is None:
        return op_of(forward, U, V)

    def both(grad_output, u, v):
        return tuple(None if each is None else grad_output * each for each in backward(u, v))

    return op_of(with_backward(forward, both).apply, U, V)


def surface(op, wrt="u", wrt2="v", of="", y=(-3.0, 3.0), **asked):
    """The header and the columns of the plane of two elements."""
    return document(op, "surface", -3.0, 3.0, wrt, of, wrt2=parse_element(wrt2), start2=y[0], stop2=y[1], **asked)


def counts(found, axis):
    """How many points there are of each status, for the gradient along an axis."""
    header, columns = found
    return {
        header["statuses"][code]: int(many) for code, many in enumerate(np.bincount(columns[f"status_{axis}"])) if many
    }


def one(u):
    return torch.ones_like(u)


GRADIENTS = {
    "a product": op_of_two(torch.mul),
    "|uv|": op_of_two(lambda u, v: (u * v).abs()),
    "hypot": op_of_two(torch.hypot),
    "a cusp": op_of_two(lambda u, v: (u * u + v * v) ** 0.25),
    "an angle, which winds": op_of_two(lambda u, v: torch.atan2(v - 0.3, u - 0.2) + u * v),
    "max": op_of_two(torch.maximum),
    "max by masks that are 0 where both are equal": op_of_two(
        torch.maximum, lambda u, v: ((u > v) * one(u), (v > u) * one(u))
    ),
    "kinks aslant": op_of_two(lambda u, v: functional.relu6(3 * u + v) * functional.hardtanh(v)),
    "a gate": op_of_two(lambda u, v: u * (v > 0.1), lambda u, v: ((v > 0.1) * one(u), 0 * v)),
    "a gate aslant": op_of_two(lambda u, v: u * (u + v > 0.1), lambda u, v: ((u + v > 0.1) * one(u), 0 * v)),
    "a thousand steps": op_of_two(lambda u, v: u * (v * 1000).round(), lambda u, v: ((v * 1000).round(), 0 * v)),
    "logaddexp": op_of_two(torch.logaddexp),
    "a fast wave": op_of_two(lambda u, v: torch.sin(10 * u * v)),
    "a steep step": op_of_two(lambda u, v: torch.sigmoid(50 * (u - v * v))),
    "a logarithm": op_of_two(lambda u, v: torch.log(u) * v),
    "a power": op_of_two(torch.pow),
    "large numbers": op_of_two(lambda u, v: 1e6 * torch.exp(u) * torch.sin(v)),
    "float32 inside": op_of_two(lambda u, v: (u.float() * v.float().exp()).double()),
    "a straight-through sum": op_of_two(lambda u, v: (u + v).round(), lambda u, v: (one(u), one(v))),
    "twice the gradient": op_of_two(torch.mul, lambda u, v: (2 * v, 2 * u)),
}


@pytest.mark.parametrize("name", GRADIENTS)
def test_the_gradient_of_a_function_is_never_accused(name):
    assert surface(GRADIENTS[name], count=9)[0]["potential"]["holds"] is True


OTHERS = {
    "a cross term off by 1e-3": op_of_two(torch.mul, lambda u, v: (v, 1.001 * u)),
    "a cross term off by 1e-6": op_of_two(torch.mul, lambda u, v: (v, (1 + 1e-6) * u)),
    "a gradient dropped": op_of_two(torch.mul, lambda u, v: (v, None)),
    "swapped": op_of_two(lambda u, v: u * u * v, lambda u, v: (u * u, 2 * u * v)),
    "a sign forgotten": op_of_two(lambda u, v: (u * v).abs(), lambda u, v: ((u * v).sign() * v, u)),
    "hypot off by 1e-3": op_of_two(torch.hypot, lambda u, v: (u / torch.hypot(u, v), 1.001 * v / torch.hypot(u, v))),
    "off for u > 1 only": op_of_two(torch.mul, lambda u, v: (v, u * (1 + 1e-3 * (u > 1)))),
    "off in float32": op_of_two(
        lambda u, v: (u.float() * v.float().exp()).double(),
        lambda u, v: (v.float().exp().double(), (1.001 * u.float() * v.float().exp()).double()),
    ),
    "a straight-through product": op_of_two(lambda u, v: u * v.round(), lambda u, v: (v.round(), u)),
    "a steep step off by 1e-3": op_of_two(
        lambda u, v: torch.sigmoid(50 * (u - v)),
        lambda u, v: tuple(k * torch.sigmoid(50 * (u - v)) * torch.sigmoid(50 * (v - u)) for k in (50, -50.05)),
    ),
    "a fast wave off by 1e-3": op_of_two(
        lambda u, v: torch.sin(10 * u * v),
        lambda u, v: (10 * v * torch.cos(10 * u * v), 10.01 * u * torch.cos(10 * u * v)),
    ),
}


@pytest.mark.parametrize("name", OTHERS)
def test_what_is_the_gradient_of_no_function_is_accused_with_the_place_and_the_curl(name):
    found = surface(OTHERS[name], count=9)[0]["potential"]
    assert (found["holds"], found["word"] != "forward", found["turning"] > 0) == (False, True, True)
    assert found["worst"]["curl"] != 0


def test_the_curl_of_a_wrong_cross_term_is_how_wrong_it_is_and_the_verdict_says_so():
    found = surface(OTHERS["a cross term off by 1e-3"])[0]["potential"]
    assert found["worst"]["curl"] == pytest.approx(1e-3, rel=1e-6)
    assert (found["judged"], found["turning"]) == (1, 1)
    assert "gradient of any function" in found["sentence"]


@pytest.mark.parametrize(
    "name", sampled(name for name, op in OPS.items() if op.claim == "exact" and len(op.inputs) > 1)
)
def test_no_right_op_of_the_gallery_is_accused_for_any_two_of_its_elements(name):
    first, second = (
        f"{each.name}[{','.join('0' for _ in each.shape)}]" if each.shape else each.name
        for each in OPS[name].inputs[:2]
    )
    assert [each for each in surface(name, first, second, count=9)[0]["pairs"] if each["holds"] is False] == []


def test_of_three_inputs_every_two_are_tested_and_the_culprits_named():
    fused = with_backward(lambda a, b, c: a * b + c, lambda g, a, b, c: (g * b, g * a * 1.001, g))
    header, _ = surface(op_of(fused.apply, Input("a"), Input("b"), Input("c")), "a", "b", count=9)
    found = {(each["wrt"], each["wrt2"]): each["holds"] for each in header["pairs"]}
    assert found == {("a", "b"): False, ("a", "c"): True, ("b", "c"): True}


def test_elements_of_one_tensor_are_pairs_too_and_many_elements_none():
    softmax = op_of(lambda x: x.softmax(-1), Input("x", shape=(3,)))
    assert [each["holds"] for each in surface(softmax, "x[0]", "x[1]", count=9)[0]["pairs"]] == [True] * 3
    assert surface("functional_linear", "input[0,0]", "weight[0,0]", count=9)[0]["pairs"] == []


def test_where_every_point_needs_a_call_of_its_own_a_wrong_cross_term_is_found_all_the_same():
    def wrong(g, x):
        return g * (2 * x + 1e-3 * x.roll(1) * torch.tensor([0.0, 1.0, 0.0], dtype=x.dtype))

    norms = with_backward(lambda x: (x * x).sum(), wrong).apply, lambda x: (x * x).sum()
    found = [surface(op_of(each, Input("x", shape=(3,))), "x[0]", "x[1]", count=9)[0] for each in norms]
    assert [(each["structure"], each["potential"]["holds"]) for each in found] == [
        *(("one by one", False), ("one by one", True))
    ]


def test_the_implied_function_is_the_one_whose_gradient_was_returned():
    _, columns = surface(GRADIENTS["a straight-through sum"], grad_output=2.0, count=31)
    s, t = np.meshgrid(columns["x"], columns["y"])
    implied = columns["implied"] - (s + t).ravel()
    assert np.ptp(implied) == pytest.approx(0, abs=1e-12)


def test_nothing_is_said_of_a_field_that_is_nowhere_a_number():
    header, _ = surface(op_of_two(torch.mul, lambda u, v: (v * torch.nan, u)), count=9)
    assert header["potential"]["holds"] is None


def test_forward_and_both_gradients_of_every_point_of_an_elementwise_function_come_in_one_call():
    calls = []

    def product(u, v):
        calls.append(u.numel())
        return (u * v).abs()

    _, columns = surface(op_of_two(product), y=(-2.0, 2.0), grad_output=2.0)
    s, t = (each.ravel() for each in np.meshgrid(columns["x"], columns["y"]))
    assert max(calls) >= 61 * 61
    assert len(calls) < 200
    assert columns["forward"] == pytest.approx(np.abs(s * t))
    assert columns["analytical_x"] == pytest.approx(2 * np.sign(s * t) * t)
    assert columns["analytical_y"] == pytest.approx(2 * np.sign(s * t) * s)


VECTOR, MATRIX = Input("x", shape=(3,), value=(0.1, 0.2, 0.3)), Input("m", shape=(2, 3), value=(1.0, 2.0, 3.0) * 2)
SHAPED = {
    "elementwise": (op_of_two(torch.mul), "u", "v", "y", "together"),
    "rows of one tensor": (op_of(lambda m: m.softmax(-1), MATRIX), "m[0,0]", "m[0,2]", "y[0,1]", "together"),
    "copies above": (op_of(lambda x: x.softmax(-1), VECTOR), "x[0]", "x[2]", "y[1]", "together"),
    "two matrices": (
        op_of(lambda a, b: a @ b, Input("a", shape=(2, 3)), Input("b", shape=(3, 2))),
        *("a[0,1]", "b[1,0]", "y[0,0]", "together"),
    ),
    "all of it at once": (op_of(lambda x: (x * x).sum().sqrt(), VECTOR), "x[0]", "x[1]", "y", "one by one"),
    "in place": (op_of(lambda x: x.mul_(2).cumsum(-1), VECTOR), "x[0]", "x[1]", "y[2]", "together"),
    "a parameter": (
        op_of(lambda u, k: u * k, U, parameters=(Parameter("k", 2.0, 0.0, 3.0),)),
        *("u", "k", "y", "line by line"),
    ),
}


@pytest.mark.parametrize("name", SHAPED)
def test_however_the_points_are_evaluated_they_say_what_each_says_alone(name):
    op, wrt, wrt2, of, how = SHAPED[name]
    header, columns = surface(op, wrt, wrt2, of, (0.5, 2.5), grad_output=3.0, count=5)
    assert header["structure"] == how
    values = {str(each.name): each.values for each in op.inputs} | {each.name: each.default for each in op.parameters}
    for row, t in enumerate(columns["y"]):
        swept = parse_element(wrt2)
        held = dict(values)
        if swept.index:
            shape = next(each.shape for each in op.inputs if each.name == swept.name)
            flat = list(held[swept.name])
            flat[int(np.ravel_multi_index(swept.index, shape))] = float(t)
            held[swept.name] = tuple(flat)
        else:
            held[swept.name] = float(t) if swept.name == "k" else (float(t),)
        _, line = document(op, "curves", -3.0, 3.0, wrt, of, count=5, grad_output=3.0, **held)
        at = [int(np.abs(line["x"] - x).argmin()) for x in columns["x"]]
        part = slice(5 * row, 5 * row + 5)
        assert columns["forward"][part] == pytest.approx(line["forward"][at])
        assert columns["analytical_x"][part] == pytest.approx(line["analytical"][at])
    assert ("analytical_y" in columns) == (name != "a parameter")


def test_a_right_gradient_agrees_everywhere_and_at_ridges_any_slope_between_is_right():
    header, columns = surface("abs_product")
    assert counts((header, columns), "x") == counts((header, columns), "y") == {"agrees": 3661, "subgradient": 60}
    assert header["potential"]["word"] == "forward"
    assert "agree at all 3721 points" in header["sentence"]
    assert "forward bends along u = 0 and v = 0" in header["sentence"]


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
def test_a_right_gradient_is_not_accused_in_a_short_dtype(dtype):
    header, _ = surface(op_of_two(lambda u, v: torch.exp(u / 2) * v), dtype=dtype)
    assert (header["differs"], header["potential"]["word"]) == (0, "forward")


FINE = {
    "a wave of a billionth": lambda u: u + 1e-9 * torch.sin(1e8 * u),
    "stairs of a thousandth": lambda u: torch.round(u * 1024) / 1024,
}
FINE_SLOPES = {
    "a wave of a billionth": lambda u: 1 + 0.1 * torch.cos(1e8 * u),
    "stairs of a thousandth": one,
}


@pytest.mark.parametrize("name", FINE)
def test_what_is_finer_than_all_steps_is_looked_at_closer_before_a_plane_accuses(name):
    forward, slope = (lambda u, v: FINE[name](u) * v), FINE_SLOPES[name]
    right, _ = surface(op_of_two(forward, lambda u, v: (slope(u) * v, forward(u, one(v)))), count=31)
    other_sign, _ = surface(op_of_two(forward, lambda u, v: (-slope(u) * v, forward(u, one(v)))), count=31)
    assert (right["differs"], other_sign["differs"]) == (0, 930)


def test_a_wrong_component_is_named_with_its_worst_point():
    found = surface(op_of_two(torch.mul, lambda u, v: (v, 1.001 * u)))
    assert counts(found, "x") == {"agrees": 3721}
    assert counts(found, "y") == {"agrees": 61, "differs": 3660}
    assert "differs at 3660 of 3721 points" in found[0]["sentence"]


def test_a_gradient_that_is_dropped_is_found_and_so_is_one_that_is_returned_for_the_other():
    dropped, _ = surface(op_of_two(torch.mul, lambda u, v: (v, None)))
    assert (dropped["potential"]["word"], dropped["differs"] > 0) == ("none", True)
    swapped, _ = surface(op_of_two(lambda u, v: u * u * v, lambda u, v: (u * u, 2 * u * v)))
    assert "gradients are swapped" in swapped["sentence"]
    assert "swapped" not in surface("abs_product")[0]["sentence"]


def test_replace_grad_is_swapped_and_the_gradient_of_its_surrogate():
    header, _ = surface("replace_grad", "x_backward", "x_forward")
    assert (header["potential"]["word"], "swapped" in header["sentence"]) == ("surrogate", True)


def test_a_jump_between_the_points_and_a_kink_aslant_are_found_where_they_are():
    gate, bent, smooth = (
        surface(op)[0]["ridges"]
        for op in (
            op_of_two(lambda u, v: u * (v > 0.123), lambda u, v: ((v > 0.123).double(), 0 * v)),
            op_of_two(lambda u, v: torch.maximum(u + 0.0371, v)),
            op_of_two(lambda u, v: torch.sin(10 * u * v)),
        )
    )
    assert (all(gate["jump"]), gate["y"]) == (True, pytest.approx([0.123] * len(gate["y"]), abs=1e-6))
    assert (any(bent["jump"]), len(bent["x"]) > 60) == (False, True)
    assert np.array(bent["y"]) == pytest.approx(np.array(bent["x"]) + 0.0371, abs=1e-5)
    assert smooth["x"] == []


def test_where_two_ridges_meet_a_subgradient_is_no_fault():
    header, columns = surface("clamp_with_grad_that_works", "input", "min")
    assert (header["differs"], "analytical_y" in columns) == (0, False)


@pytest.mark.parametrize("slope", [-0.5, 1.5])
def test_what_lies_outside_the_slopes_of_a_ridge_is_caught(slope):
    op = op_of_two(lambda u, v: u.relu() + v, lambda u, v: (torch.where(u == 0, slope, (u > 0) * 1.0), 1 + 0 * v))
    found = surface(op)
    assert counts(found, "x") == {"agrees": 3660, "differs": 61}
    assert counts(found, "y") == {"agrees": 3721}


def test_of_a_parameter_there_are_differences_only():
    header, columns = surface("clipped_relu", "input", "clip", y=(0.0, 3.0))
    assert ("analytical_y" in columns, header["potential"]) == (False, None)
    s, t = (each.ravel() for each in np.meshgrid(columns["x"], columns["y"]))
    assert columns["numerical_y"][s > t + 0.01] == pytest.approx(1.0, abs=1e-9)
    assert "no gradient for clip" in header["sentence"]


def test_a_function_of_chance_is_not_compared():
    header, columns = surface(op_of_two(lambda u, v: u * v + torch.rand_like(u)), count=9)
    assert set(counts((header, columns), "x")) == {"undecided"}
    assert header["potential"] is None


def test_a_failing_backward_is_told_and_so_is_a_failing_forward():
    def refuse(u, v):
        raise ValueError("not today")

    for phase, op in (("backward", op_of_two(torch.mul, refuse)), ("forward", op_of_two(refuse))):
        header, _ = surface(op, count=9)
        assert (header["failure"]["phase"], header["failure"]["message"]) == (phase, "not today")
        assert "not today" in header["sentence"]


def test_a_function_that_refuses_what_lies_beyond_the_range_is_looked_at_within_it():
    def strict(u, v):
        if (u.abs() > 3).any() or (v.abs() > 3).any():
            raise ValueError("not so far")
        return u * v * v

    header, columns = surface(op_of_two(strict), count=21)
    assert (header["failure"], header["differs"]) == (None, 0)
    assert np.isfinite(columns["numerical_x"]).mean() > 0.8


@pytest.mark.parametrize(("seconds", "side", "tested"), [(3.8e-3, 3, True), (7e-3, 3, False), (0.012, 0, False)])
def test_of_a_slow_function_is_measured_what_there_is_time_for_and_the_rest_is_said(seconds, side, tested, clock):
    def slow(x):
        clock.goes_on(seconds)
        return (x * x).sum()

    header, columns = surface(op_of(slow, Input("x", shape=(2,))), "x[0]", "x[1]")
    if not side:
        assert ("would take too long" in header["sentence"], columns) == (True, {})
        return
    assert (header["shape"], header["pairs"]) == ((side, side), [])
    assert any("is not tried" in note for note in header["notes"]) is not tested
    assert (header["potential"] is not None) is tested


def test_two_points_a_side_are_a_plane_too():
    assert surface("abs_product", count=2)[1]["forward"].tolist() == [9.0, 9.0, 9.0, 9.0]
