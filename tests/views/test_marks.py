"""The marks beside the columns: what stands at each special point, by its kind."""

import pytest
import torch
from support.sections import look, op_of

from gradloupe.server.views.curves import point_marks


def marks_of(function, start=-3.0, stop=3.0, **asked):
    return point_marks(look(op_of(function), start, stop, **asked)[0])


def test_a_kink_is_marked_with_its_two_slopes():
    (mark,) = marks_of(lambda x: 2 * torch.relu(x - 0.3075), grad_output=-3.0)
    assert (mark["kind"], mark["x"]) == ("kink", 0.3075)
    assert (mark["left"], mark["right"]) == pytest.approx((0.0, -6.0))
    assert mark["forward"] == 0.0


@pytest.mark.parametrize("function", [torch.sqrt, lambda x: x.abs().sqrt(), lambda x: (x - 0.1234).abs().sqrt()])
def test_a_cusp_is_marked_as_one_and_its_endless_slope_is_none(function):
    (mark,) = marks_of(function)
    assert mark["kind"] == "cusp"
    assert mark["right"] is None
    assert mark["forward"] == 0.0


def test_a_jump_is_marked_with_its_values_on_both_sides_and_in_between():
    (mark,) = marks_of(torch.sign)
    assert {key: mark[key] for key in ("kind", "x", "below", "forward", "above")} == {
        "kind": "jump",
        "x": 0.0,
        "below": -1.0,
        "forward": 0.0,
        "above": 1.0,
    }


@pytest.mark.parametrize("function", [torch.reciprocal, torch.log, lambda x: 1 / (x - 0.3075) ** 2])
def test_a_pole_is_marked_without_values_on_its_sides(function):
    (mark,) = marks_of(function)
    assert mark["kind"] == "pole"
    assert mark["below"] is None
    assert mark["above"] is None


def test_marks_stand_from_left_to_right():
    found = marks_of(lambda x: (x > 0.3) * (1 + x) + x.abs() + (x + 1.3).abs().sqrt() + 0.01 / (x - 2))
    assert [(mark["kind"], mark["x"]) for mark in found] == [
        ("cusp", -1.3),
        ("kink", 0.0),
        ("jump", 0.3),
        ("pole", 2.0),
    ]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
def test_marks_are_the_same_in_a_shorter_dtype(dtype):
    (mark,) = marks_of(torch.relu, dtype=dtype)
    assert (mark["kind"], mark["x"], mark["left"], mark["right"]) == ("kink", 0.0, 0.0, pytest.approx(1.0))
