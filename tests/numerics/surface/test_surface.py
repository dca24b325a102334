"""Two elements swept at once: the numbers of a plane, against hand-made Functions of every shape."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from functions.two_inputs import U, op_of_two, plane_of, surface_of
from support.sections import op_of, section

from gradloupe.ops import Input, Parameter
from gradloupe.server.numerics.status import Status
from gradloupe.server.numerics.surface.text import gradient_owner, surface_sentence
from gradloupe.server.runtime.batching import plane_structure
from gradloupe.server.runtime.failure import FunctionFailed
from gradloupe.server.runtime.plane import Plane


def counted(part) -> dict[str, int]:
    return {Status(code).name: int(many) for code, many in enumerate(np.bincount(part.status)) if many}


def test_forward_and_both_gradients_of_every_point_of_an_elementwise_function_come_in_one_call():
    calls = []

    def product(u, v):
        calls.append(u.shape)
        return (u * v).abs()

    plane = plane_of(op_of_two(product), count=61)
    s, t = (each.ravel() for each in np.meshgrid(np.linspace(-3, 3, 61), np.linspace(-2, 2, 61)))
    calls.clear()
    field = plane.backward(s, t, 2.0)
    assert calls == [torch.Size([61 * 61])]
    assert field.values == pytest.approx(np.abs(s * t))
    assert field.first == pytest.approx(2 * np.sign(s * t) * t)
    assert field.second == pytest.approx(2 * np.sign(s * t) * s)


VECTOR, MATRIX = Input("x", shape=(3,), value=(0.1, 0.2, 0.3)), Input("m", shape=(2, 3), value=(1.0, 2.0, 3.0) * 2)
SHAPED = {
    "elementwise": (op_of_two(torch.mul), "u", "v", "", "together"),
    "rows of one tensor": (op_of(lambda m: m.softmax(-1), MATRIX), "m[0,0]", "m[0,2]", "y[0,1]", "together"),
    "copies above": (op_of(lambda x: x.softmax(-1), VECTOR), "x[0]", "x[2]", "y[1]", "together"),
    "two matrices": (
        op_of(lambda a, b: a @ b, Input("a", shape=(2, 3)), Input("b", shape=(3, 2))),
        *("a[0,1]", "b[1,0]", "y[0,0]", "together"),
    ),
    "all of it at once": (op_of(lambda x: (x * x).sum().sqrt(), VECTOR), "x[0]", "x[1]", "", "one by one"),
    "in place": (op_of(lambda x: x.mul_(2).cumsum(-1), VECTOR), "x[0]", "x[1]", "y[2]", "together"),
    "a parameter": (
        op_of(lambda u, k: u * k, U, parameters=(Parameter("k", 2.0, 0.0, 3.0),)),
        *("u", "k", "", "line by line"),
    ),
}


@pytest.mark.parametrize("name", SHAPED)
def test_however_the_points_are_evaluated_they_say_what_each_says_alone(name: str):
    op, wrt, wrt2, of, how = SHAPED[name]
    plane = plane_of(op, wrt, wrt2, of)
    assert plane_structure(plane) == how
    alone = Plane(section(op, wrt, of), section(op, wrt2, of))
    s, t = np.array([-1.0, 0.5, 2.0, 2.0]), np.array([0.25, 2.5, 1.0, -1.0])
    found, wanted = plane.backward(s, t, 3.0), alone.backward(s, t, 3.0)
    assert plane.forward(s, t) == pytest.approx(found.values)
    assert found.values == pytest.approx(wanted.values)
    for mine, other in zip(found.both, wanted.both, strict=True):
        assert (mine is None) == (other is None)
        assert mine is None or mine == pytest.approx(other)


def test_a_right_gradient_agrees_everywhere_and_at_ridges_any_slope_between_is_right():
    found = surface_of("abs_product")
    assert counted(found.first) == counted(found.second) == {"AGREES": 3661, "SUBGRADIENT": 60}
    assert (found.ridges.columns, found.ridges.rows) == ((0.0,), (0.0,))
    assert gradient_owner(found) == "forward"
    sentence = surface_sentence(found, "u", "v")
    assert "agree at all 3721 points" in sentence
    assert "forward bends along u = 0 and v = 0" in sentence
    assert "the gradient of one function, forward itself" in sentence


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_a_right_gradient_is_not_accused_in_a_short_dtype(dtype: torch.dtype):
    found = surface_of(op_of_two(lambda u, v: torch.exp(u / 2) * v), dtype=dtype)
    assert not (found.status == Status.DIFFERS).any()
    assert gradient_owner(found) == "forward"


def test_a_wrong_component_is_named_with_its_worst_point():
    found = surface_of(op_of_two(torch.mul, lambda u, v: (v, 1.001 * u)))
    assert counted(found.first) == {"AGREES": 3721}
    assert counted(found.second) == {"AGREES": 61, "DIFFERS": 3660}
    assert "With respect to v the returned gradient differs at 3660 of 3721 points" in surface_sentence(found, "u", "v")


def test_a_gradient_that_is_dropped_is_found_and_so_is_one_that_is_returned_for_the_other():
    dropped = surface_of(op_of_two(torch.mul, lambda u, v: (v, None)))
    assert (dropped.first.none, dropped.second.none) == (False, True)
    assert gradient_owner(dropped) == "none"
    swapped = surface_of(op_of_two(lambda u, v: u * u * v, lambda u, v: (u * u, 2 * u * v)))
    assert swapped.swapped
    assert surface_sentence(swapped, "u", "v").startswith("The two gradients are swapped")
    assert not surface_of("abs_product").swapped


def test_replace_grad_is_swapped_and_the_gradient_of_its_surrogate():
    found = surface_of("replace_grad", "x_backward", "x_forward")
    assert found.swapped
    assert gradient_owner(found) == "surrogate"
    assert "of one function, its surrogate, not forward" in surface_sentence(found, "x_backward", "x_forward")


def test_a_jump_between_the_points_and_a_kink_aslant_are_found_where_they_are():
    gate = surface_of(op_of_two(lambda u, v: u * (v > 0.123), lambda u, v: ((v > 0.123).double(), 0 * v)))
    assert gate.ridges.jump.all()
    assert gate.ridges.y == pytest.approx(0.123, abs=1e-6)
    bent = surface_of(op_of_two(lambda u, v: torch.maximum(u + 0.0371, v)))
    assert not bent.ridges.jump.any()
    assert bent.ridges.x.size > 60
    assert bent.ridges.y == pytest.approx(bent.ridges.x + 0.0371, abs=1e-5)
    smooth = surface_of(op_of_two(lambda u, v: torch.sin(10 * u * v)))
    assert smooth.ridges.x.size == 0


def test_where_two_ridges_meet_a_subgradient_is_no_fault():
    found = surface_of("clamp_with_grad_that_works", "input", "min")
    assert found.second.returned is None
    assert not (found.first.status == Status.DIFFERS).any()


@pytest.mark.parametrize("slope", [-0.5, 1.5])
def test_what_lies_outside_the_slopes_of_a_ridge_is_caught(slope: float):
    found = surface_of(
        op_of_two(lambda u, v: torch.relu(u) + v, lambda u, v: (torch.where(u == 0, slope, (u > 0) * 1.0), 1 + 0 * v))
    )
    assert counted(found.first) == {"AGREES": 3660, "DIFFERS": 61}
    assert counted(found.second) == {"AGREES": 3721}


def test_of_a_parameter_there_are_differences_only():
    found = surface_of("clipped_relu", "input", "clip", y=(0.0, 3.0))
    assert found.second.returned is None
    assert found.potential is None
    inside = np.tile(found.x, found.y.size) > np.repeat(found.y, found.x.size) + 0.01
    assert found.second.numerical[inside] == pytest.approx(1.0, abs=1e-9)
    assert surface_sentence(found, "input", "clip").startswith("backward returns no gradient for clip")


def test_a_function_of_chance_is_not_compared():
    found = surface_of(op_of_two(lambda u, v: u * v + torch.rand_like(u)), count=9)
    assert not found.deterministic
    assert set(counted(found.first)) == {"UNDECIDED"}
    assert found.potential is None


def test_a_failing_backward_is_told_and_a_failing_forward_raised():
    def refuse(u, v):
        raise ValueError("not today")

    found = surface_of(op_of_two(torch.mul, refuse), count=9)
    assert found.failure is not None
    assert "not today" in surface_sentence(found, "u", "v")
    with pytest.raises(FunctionFailed, match="not today"):
        surface_of(op_of_two(refuse), count=9)


def test_two_points_a_side_are_a_plane_too():
    found = surface_of("abs_product", count=2)
    assert found.values.tolist() == [9.0, 9.0, 9.0, 9.0]
