"""Batching of a Jacobian's block: whether copies of the inputs may be stacked into one call, and in which layout."""

from __future__ import annotations

import warnings
from itertools import product

import numpy as np

from .arrays import Array, largest_magnitude
from .batching import BATCH_TOLERANCE
from .failure import FunctionFailed
from .section import Section
from .stacked_inputs import InputCopies
from .timing import minimum_time

# The cost of one stacked copy, as a fraction of a call of its own.
_SHARED = 0.2


def seconds_per_copy(copies: InputCopies, enough: float) -> float:
    """The estimated seconds per copy, from the quickest of several calls. Raises ``FunctionFailed``.

    Timing stops early once a copy takes no more than ``enough`` seconds.
    """
    share = _SHARED if copies.stacked else 1.0
    return minimum_time(lambda: copies.forward(copies.repeated(1)), enough / share) * share


# The distances of the witnesses from the held ``wrt``, as fractions of the range …
_SPREAD = np.array([0.0, 1e-3, 0.03, 0.3, 1.0])
# … and the largest output (elements) and slowest call (seconds) for which batching is tried at all.
_LARGEST, _SLOWEST = 1 << 20, 0.03


def batched_copies(section: Section, span: float) -> InputCopies:
    """The copies of ``section``, with as many inputs stacked as leave values and gradients unchanged.

    Tried are all inputs together and ``wrt`` alone, along the first dimension and along a new one. Raises
    ``FunctionFailed`` where forward fails.
    """
    alone = InputCopies(section)
    if section.sweeps_parameter or not 0 < alone.size <= _LARGEST or seconds_per_copy(alone, _SLOWEST) > _SLOWEST:
        return alone
    draw = np.random.default_rng(alone.here.size)
    points = alone.here + span * _SPREAD[:, None] * draw.standard_normal((_SPREAD.size, alone.here.size))
    points = points[np.isfinite(alone.willing(points)).any(axis=1)]
    if len(points) < 2:
        return alone
    points.flags.writeable = False
    given = draw.standard_normal((len(points), alone.size))
    try:
        wanted = alone.forward(points), _pulled(alone, points, given)
    except FunctionFailed:
        return alone
    every = tuple(name for name, _ in section.inputs)
    for names, above in product(dict.fromkeys((every, (section.wrt,))), (False, True)):
        together = InputCopies(section, names, above)
        if _bears(together, points, given, wanted):
            return together
    return alone


def _pulled(copies: InputCopies, points: Array, given: Array) -> Array | None:
    """Gradients at all points, in one call if stacked; None where there are none or backward fails."""
    some = [slice(None)] if copies.stacked else [slice(row, row + 1) for row in range(len(points))]
    try:
        parts = [copies.pulled(points[each], given[each]).gradients for each in some]
    except FunctionFailed:
        return None
    found = [each for each in parts if each is not None]
    return np.concatenate(found) if len(found) == len(parts) else None


def _bears(together: InputCopies, points: Array, given: Array, wanted: tuple[Array, Array | None]) -> bool:
    values, gradients = wanted
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # warnings about shapes that only this test passes
        try:
            if not _alike(together, together.forward(points), values):
                return False
        except FunctionFailed:
            return False
        if gradients is None:
            return True
        found = _pulled(together, points, given)
        return found is not None and _alike(together, found, gradients)


def _alike(copies: InputCopies, found: Array, wanted: Array) -> bool:
    """Equal but for the last places of the dtype, in which vectorised and scalar code may differ."""
    tolerance = BATCH_TOLERANCE[copies.section.dtype.itemsize]
    return np.allclose(found, wanted, rtol=tolerance, atol=tolerance * largest_magnitude(wanted), equal_nan=True)
