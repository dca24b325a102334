"""How far a slope between two small jumps may be off, and what is no jump."""

import numpy as np
import pytest

from gradloupe.server.numerics.differentiation.scatter import slope_scatter


@pytest.mark.parametrize("reach", [0.2, 0.5, 1.0])
def test_jumps_are_known_by_their_sum_for_the_length_of_a_window(reach):
    found = slope_scatter(lambda t: np.sin(t) + 1e-6 * np.floor(7 * t + 0.5), 1.0, 1e-4, reach)
    assert 2e-6 < found < 2e-5


@pytest.mark.parametrize("waves", [3e3, 3e5, 3e7])
def test_a_wave_of_many_kinks_is_no_jump(waves):
    wave = slope_scatter(lambda t: 0.142 * t + 0.013 * np.abs(np.mod(t, 1 / waves) - 0.5 / waves), 0.155, 1e-8, 1e-2)
    assert wave < 1e-8
