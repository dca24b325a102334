"""Kinks and jumps are found between the grid points, and nothing else is taken for one."""

import numpy as np
import pytest
import torch

from gradloupe.server.numerics.grid import Grid
from gradloupe.server.numerics.special import special_points

F = torch.nn.functional


def found_in(function, start=-3.0, stop=3.0, count=401):
    def forward(t):
        return function(torch.from_numpy(t)).numpy()

    x = Grid(start, stop, count).points()
    return special_points(forward, x, forward(x))


@pytest.mark.parametrize(
    ("function", "places"),
    [
        (torch.relu, [0.0]),
        (lambda x: x.clamp(-0.731, 1.37), [-0.731, 1.37]),
        (lambda x: (x - 0.1234567).abs(), [0.1234567]),
        (F.hardtanh, [-1.0, 1.0]),
        (F.leaky_relu, [0.0]),
        (F.softshrink, [-0.5, 0.5]),
        (lambda x: (x - 0.1).abs().sqrt(), [0.1]),
    ],
)
def test_every_kink_is_found_where_it_is(function, places):
    found = found_in(function)
    assert [each.kind for each in found] == ["kink"] * len(places)
    assert [each.x for each in found] == places


@pytest.mark.parametrize(
    ("function", "places"),
    [
        (lambda x: (x >= 0.377).double(), [0.377]),
        (torch.floor, [-2.0, -1.0, 0.0, 1.0, 2.0, 3.0]),
        (lambda x: torch.floor(x + 0.123456), [-2.123456, -1.123456, -0.123456, 0.876544, 1.876544, 2.876544]),
        (F.hardshrink, [-0.5, 0.5]),
        (torch.sign, [0.0]),
        (lambda x: torch.sign(x - 0.3075), [0.3075]),
    ],
)
def test_every_jump_is_found_where_it_is(function, places):
    found = found_in(function)
    assert [each.kind for each in found] == ["jump"] * len(places)
    assert [each.x for each in found] == places
    assert all(each.left <= each.x <= each.right and each.right - each.left < 1e-12 for each in found)


@pytest.mark.parametrize("count", [400, 401])
@pytest.mark.parametrize("stop", [3.0, 3.1])
def test_a_pole_is_found_on_and_between_the_points(count, stop):
    assert [each.kind for each in found_in(torch.reciprocal, stop=stop, count=count)] == ["pole"]


def test_a_pole_is_no_jump():
    assert {each.kind for each in found_in(torch.tan)} == {"pole"}


@pytest.mark.parametrize(
    "function",
    [
        torch.tanh,
        torch.exp,
        torch.sigmoid,
        F.gelu,
        F.silu,
        F.mish,
        lambda x: x**3,
        lambda x: 2 * x,
        lambda x: 0 * x,
        lambda x: torch.sin(50 * x),
        lambda x: torch.tanh(100 * (x - 0.0123)),
        lambda x: torch.tanh(1e5 * (x - 0.0123)),
        lambda x: torch.sigmoid(200 * x),
        lambda x: torch.exp(-100 * x * x),
    ],
)
def test_what_is_only_steep_is_no_special_point(function):
    assert found_in(function) == ()


@pytest.mark.parametrize("count", [2, 3, 5, 9])
def test_a_coarse_grid_finds_what_it_can_without_failing(count):
    assert len(found_in(torch.relu, count=count)) <= 1


def test_a_forward_that_is_nowhere_finite_has_no_special_points():
    assert found_in(lambda x: x * np.nan) == ()
