"""Extrapolation, on differences whose truth is known."""

import numpy as np

from gradloupe.server.numerics.differentiation.richardson import extrapolate, tableau


def central(function, x, steps):
    return np.array([[(function(x + h) - function(x - h)) / (2 * h)] for h in steps])


def test_four_levels_of_a_cubic_are_exact():
    steps = [0.3, 0.1, 0.1 / 3, 0.1 / 9]
    differences = central(lambda x: x**3, 0.7, steps)
    value, error, _ = extrapolate(differences, np.full((4, 1), 1e-16), tableau(4, 3.0, 2))
    assert abs(value[0] - 3 * 0.7**2) <= error[0] <= 1e-13


def test_an_aliased_wide_step_does_not_win():
    # A step of a whole period sees a constant: the two widest differences agree on 0, and are wrong.
    steps = np.array([2.0, 1.0, 0.02, 0.002]) * np.pi
    differences = central(np.sin, 0.3, steps)
    value, error, _ = extrapolate(differences, np.full((4, 1), 1e-13), tableau(4, 3.0, 2))
    assert abs(value[0] - np.cos(0.3)) <= 1e-3
    assert abs(value[0] - np.cos(0.3)) <= error[0]


def test_a_level_that_is_not_finite_is_left_out():
    differences = central(np.exp, 0.0, [0.3, 0.1, 0.1 / 3, 0.1 / 9])
    differences[0] = np.nan
    value, error, _ = extrapolate(differences, np.full((4, 1), 1e-16), tableau(4, 3.0, 2))
    assert abs(value[0] - 1) <= error[0] <= 1e-7


def test_without_any_finite_level_the_error_is_infinite():
    _, error, _ = extrapolate(np.full((4, 1), np.nan), np.ones((4, 1)), tableau(4, 3.0, 2))
    assert error[0] == np.inf


def test_beside_a_jump_two_differences_that_agree_by_chance_are_not_believed():
    # A staircase, flat between its jumps: the two widest differences see three of them and one, to the same slope.
    differences = np.array([[0.977], [0.977], [2.93], [0.0]])
    value, error, _ = extrapolate(differences, np.full((4, 1), 1e-13), tableau(4, 3.0, 2))
    assert abs(value[0]) <= error[0]
