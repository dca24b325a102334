"""Multiscale confirmation of a slope: differences at steps of all sizes around a point must support it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...runtime.arrays import EPSILON, Array, Forward

# The number of steps, from this fraction of |x|, or from this width where x is small, down to some last places.
_STEPS, _WIDEST, _WIDEST_NEAR_0, _LAST_PLACES = 22, 0.1, 1e-3, 16.0
# The least ratio of the widest to the finest step.
_SPAN = 30.0
# A step is sharp if it can separate the two disputed slopes: its error is at most this fraction of their difference.
_SHARP = 0.3
# A step supports the measured slope if it is this close to it (relative to the difference). At least this many sharp
# steps must support it, and all of the finer ones.
_NEAR, _ENOUGH = 0.25, 4
_COARSE = 2e-3
# The finest sharp steps must see a straight line: both one-sided slopes and the measured one agree to this fraction.
_FINEST, _STRAIGHT = 3, 0.1
# The error of x, in units in the last place of the dtype, that a gradient may suffer from.
_ROUNDED = 4.0
# A deviation counts as evidence only beyond this many rounding bounds.
_BOUNDS = 10.0
_TINY = float(np.finfo(np.float64).tiny)


@dataclass(frozen=True)
class ScaleConfirmation:
    """Whether the measured slope is ``confirmed`` on every scale; the slope at the straightest one, with its error."""

    confirmed: NDArray[np.bool_]
    value: Array
    error: Array


def confirm_on_all_scales(
    forward: Forward, x: Array, slope: Array, error: Array, disputed: Array, precision: float, eps: float
) -> ScaleConfirmation:
    """Whether ``slope``, measured at each ``x`` (1-D) to within ``error``, is confirmed against the ``disputed`` one.

    45 forwards per point. ``precision`` is half a unit in the last place of the precision that forward computes in,
    ``eps`` the machine epsilon of the judged gradient's dtype, which limits how well it knows ``x``. With an infinite
    ``disputed`` slope every step that sees a finite one counts.
    """
    with np.errstate(all="ignore"):
        return _on_all_scales(forward, x, slope, error, disputed, precision, eps)


def _on_all_scales(
    forward: Forward, x: Array, slope: Array, error: Array, disputed: Array, precision: float, eps: float
) -> ScaleConfirmation:
    steps = _steps(np.abs(x), precision)
    points = np.stack((x + steps, x - steps))
    values = forward(np.concatenate((x, points.ravel())))
    y, (above, below) = values[: x.size], values[x.size :].reshape(points.shape)
    right, left = (above - y) / (points[0] - x), (y - below) / (x - points[1])
    run = points[0] - points[1]
    central = (above - below) / run
    size = np.maximum(np.maximum(np.abs(above), np.abs(below)), np.abs(y))
    noise = np.where(size > 0, _BOUNDS * 2 * (2 * precision * size + _TINY) / run, 0.0)
    bend = np.abs(right - left)
    if precision > EPSILON:  # x is rounded too, before anything is done with it
        noise += 4 * precision * np.abs(x) * np.fmax(np.abs(slope), np.abs(disputed)) / run

    apart = np.abs(disputed - slope)
    sharp = bend + noise <= _SHARP * apart
    near = np.abs(central - slope) <= _NEAR * apart
    finest = sharp & (np.cumsum(sharp[::-1], axis=0)[::-1] <= _FINEST)
    straight = bend <= _STRAIGHT * (np.abs(right) + np.abs(left)) + noise
    alike = _STRAIGHT * (np.abs(central) + np.abs(slope)) + noise + _BOUNDS * error
    # Wide steps may see neither slope; but not near 0, where cancellation makes the finer ones unreliable.
    other = (np.abs(central - disputed) > _NEAR * apart) & (steps > _COARSE * np.abs(x)) & (np.abs(x) > _WIDEST_NEAR_0)
    confirmed = ((sharp & near).sum(axis=0) >= _ENOUGH) & (near | other | ~sharp).all(axis=0)
    confirmed &= ((straight & (np.abs(central - slope) <= alike)) | ~finest).all(axis=0)
    confirmed &= (steps[0] >= _SPAN * steps[-1]) & (sharp & near & (steps >= _ROUNDED * eps * np.abs(x))).any(axis=0)
    turn = np.fmax.reduce((bend - noise) / steps, axis=0)
    confirmed &= apart > _ROUNDED * eps * np.abs(x) * turn

    doubt = np.where(straight & np.isfinite(central), bend + noise, np.inf)
    best = doubt.argmin(axis=0), np.arange(x.size)
    known = np.isfinite(doubt[best])
    return ScaleConfirmation(confirmed, np.where(known, central[best], np.nan), doubt[best])


def _steps(size: Array, precision: float) -> Array:
    """The steps at points of this size, widest first: (steps, n)."""
    widest = np.maximum(_WIDEST * size, _WIDEST_NEAR_0)
    finest = np.maximum(_LAST_PLACES * 2 * precision * size, _LAST_PLACES * _TINY)
    return widest * (finest / widest) ** np.linspace(0, 1, _STEPS)[:, None]
