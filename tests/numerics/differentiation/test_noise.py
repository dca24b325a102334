"""What is found out about the rounding of a forward."""

import numpy as np
import pytest

from gradloupe.server.numerics.differentiation.noise import mantissa_bits, noise_along, noise_probes, relative_precision
from gradloupe.server.runtime.arrays import EPSILON

X = np.linspace(-3, 3, 401)


def in_float32(x):
    return np.tanh(x.astype(np.float32)).astype(np.float64)


def test_a_forward_that_rounds_to_float32_inside_is_recognised():
    assert relative_precision(in_float32, X, in_float32(X)) == 2.0**-24


def test_a_double_precision_forward_is_not_mistaken_for_one():
    assert relative_precision(np.tanh, X, np.tanh(X)) == EPSILON


def test_short_values_of_a_short_grid_are_no_sign_of_low_precision():
    x = np.linspace(-4, 4, 257)
    assert mantissa_bits(2 * x) < 24
    assert relative_precision(lambda t: 2 * t, x, 2 * x) == EPSILON


def test_a_staircase_is_no_sign_of_low_precision():
    assert relative_precision(np.floor, X, np.floor(X)) == EPSILON


def test_a_long_staircase_of_many_steps_is_no_sign_of_low_precision():
    x = np.linspace(-500, 500, 401)
    assert relative_precision(np.round, x, np.round(x)) == EPSILON


@pytest.mark.parametrize("size", [1e-10, 1e-12])
def test_the_noise_of_a_forward_is_measured(size):
    rng = np.random.default_rng(0)

    def forward(x):
        return np.sin(x) + rng.normal(0, size, x.size)

    noise = noise_along(forward(noise_probes(X, 6.0)), X, 1.0)
    assert 0.3 * size < np.median(noise) < 3 * size


def test_noise_too_coarse_to_be_seen_close_by_is_seen_from_further_off():
    x = np.linspace(-7, -5, 401)

    def forward(t):
        return (1 + np.tanh(t)) * 1e-3 + 0 * t

    noise = noise_along(forward(noise_probes(x, 2.0)), x, np.ptp(forward(x)))
    assert (noise > 1e-21).all()
