"""The other ways to a numerical derivative, all of a function of arrays: values in, slopes out."""

from __future__ import annotations

from collections.abc import Callable

import jacobi
import numdifftools
import numpy as np
import scipy.differentiate
from numpy.typing import NDArray

Array = NDArray[np.float64]
Forward = Callable[[Array], Array]


def central(forward: Forward, x: Array) -> Array:
    """What gradcheck compares with: one central difference, step 1e-6."""
    return (forward(x + 1e-6) - forward(x - 1e-6)) / 2e-6


def by_numdifftools(forward: Forward, x: Array) -> Array:
    return numdifftools.Derivative(forward)(x)


def by_jacobi(forward: Forward, x: Array) -> Array:
    return jacobi.jacobi(forward, x, diagonal=True)[0]


def by_scipy(forward: Forward, x: Array) -> Array:
    return scipy.differentiate.derivative(_of_any_shape(forward), x).df


def _of_any_shape(forward: Forward) -> Forward:
    return lambda x: forward(x.ravel()).reshape(x.shape)


PEERS = {
    "central, h = 1e-6 (gradcheck)": central,
    "numdifftools": by_numdifftools,
    "jacobi": by_jacobi,
    "scipy.differentiate": by_scipy,
}
