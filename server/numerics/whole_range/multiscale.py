"""What a forward does around a point on all scales at once, for a slope that must be beyond doubt."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...runtime.arrays import EPSILON, Array, Forward

# Steps from this share of |x|, or from this where x is small, down to the last places.
_STEPS, _WIDEST, WIDEST_NEAR_0, _LAST_PLACES = 22, 0.1, 1e-3, 16.0
# Where the widest is not so many times the finest, there are not scales enough to tell anything.
SPAN = 30.0
# A step is sharp that tells the two slopes in dispute apart: it sees one slope to this share of their distance.
SHARP = 0.3
# It speaks for the slope that was measured if it is so near to it. Enough sharp steps must, and of the finer ones all.
_NEAR, _ENOUGH = 0.25, 4
_COARSE = 2e-3
# The finest of them must see a line: two sides, and the slope that was measured, alike to this share.
_FINEST, _STRAIGHT = 3, 0.1
# Of its dtype's last places at x a gradient may lose so many on the way.
_ROUNDED = 4.0
# Bounds of rounding that count as evidence.
_BOUNDS = 10.0
_TINY = float(np.finfo(np.float64).tiny)


@dataclass(frozen=True)
class Scales:
    """Whether the measured slope is ``confirmed`` on every scale, and the slope of the straightest, with its error."""

    confirmed: NDArray[np.bool_]
    value: Array
    error: Array


def on_all_scales(
    forward: Forward, x: Array, slope: Array, error: Array, disputed: Array, precision: float, eps: float
) -> Scales:
    """Whether ``slope``, measured at each ``x`` (1-D) to within ``error``, stands against the ``disputed`` one.

    45 forwards a point. ``precision`` is half a unit in the last place of what forward computes in, ``eps`` the unit
    of the dtype whose gradient is judged: it cannot know ``x`` better. An infinite ``disputed`` slope is compared
    by what is seen at all.
    """
    with np.errstate(all="ignore"):
        return _on_all_scales(forward, x, slope, error, disputed, precision, eps)


def _on_all_scales(
    forward: Forward, x: Array, slope: Array, error: Array, disputed: Array, precision: float, eps: float
) -> Scales:
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
    sharp = bend + noise <= SHARP * apart
    near = np.abs(central - slope) <= _NEAR * apart
    finest = sharp & (np.cumsum(sharp[::-1], axis=0)[::-1] <= _FINEST)
    straight = bend <= _STRAIGHT * (np.abs(right) + np.abs(left)) + noise
    alike = _STRAIGHT * (np.abs(central) + np.abs(slope)) + noise + _BOUNDS * error
    # Wide steps, in which much happens, may see neither slope; but not near 0, where cancellation spoils finer ones.
    other = (np.abs(central - disputed) > _NEAR * apart) & (steps > _COARSE * np.abs(x)) & (np.abs(x) > WIDEST_NEAR_0)
    confirmed = ((sharp & near).sum(axis=0) >= _ENOUGH) & (near | other | ~sharp).all(axis=0)
    confirmed &= ((straight & (np.abs(central - slope) <= alike)) | ~finest).all(axis=0)
    confirmed &= (steps[0] >= SPAN * steps[-1]) & (sharp & near & (steps >= _ROUNDED * eps * np.abs(x))).any(axis=0)
    turn = np.fmax.reduce((bend - noise) / steps, axis=0)
    confirmed &= apart > _ROUNDED * eps * np.abs(x) * turn

    doubt = np.where(straight & np.isfinite(central), bend + noise, np.inf)
    best = doubt.argmin(axis=0), np.arange(x.size)
    known = np.isfinite(doubt[best])
    return Scales(confirmed, np.where(known, central[best], np.nan), doubt[best])


def _steps(size: Array, precision: float) -> Array:
    """The steps at points of this size, widest first: (steps, n)."""
    widest = np.maximum(_WIDEST * size, WIDEST_NEAR_0)
    finest = np.maximum(_LAST_PLACES * 2 * precision * size, _LAST_PLACES * _TINY)
    return widest * (finest / widest) ** np.linspace(0, 1, _STEPS)[:, None]
