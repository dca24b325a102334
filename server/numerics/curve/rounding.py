"""The rounding error of forward in the chosen dtype, estimated from its values in double precision."""

from __future__ import annotations

import numpy as np
import torch

from ...runtime.arrays import Array, largest_magnitude
from ..differentiation.finite_differences import PointKind
from ..differentiation.noise import moving_maximum
from .curve import Curve

# Safety factor on the noise estimated from a few samples …
_NOISE = 3.0
# … within this many rows. The difference to double precision is a smooth bias and not noise if it is _ANOTHER times
# its own third difference, and forward takes distinct values at a share _DISTINCT of the rows.
_AROUND = 25
_ANOTHER = 100.0
_DISTINCT = 0.5


def forward_rounding(dtype: torch.dtype, x: Array, curve: Curve, rounded: Array) -> Array:
    """How far forward's values at ``x`` may be off by rounding, in a section's ``dtype``.

    ``curve`` is forward in double precision, ``rounded`` its values in the dtype. On its way a forward may round ``x``.
    """
    values, slopes = curve.values, curve.slopes
    smooth = (slopes.kind == PointKind.SMOOTH) & np.isfinite(slopes.value)
    steep = np.where(smooth, np.abs(slopes.value), 0.0)
    eps = max(torch.finfo(dtype).eps, 2 * slopes.precision)
    known = np.maximum(2 * eps * np.abs(values) + eps * np.abs(x) * steep, _NOISE * slopes.noise)
    return known if dtype == torch.float64 else np.maximum(_lost(values, rounded), known)


def _lost(values: Array, rounded: Array) -> Array:
    """What a shorter dtype has lost of the ``values``.

    If it is another, smooth function that is computed there, only what is rough about the difference is rounding.
    """
    off = np.nan_to_num(rounded - values, posinf=0.0, neginf=0.0)
    rough = np.abs(np.diff(off, 3, prepend=off[:1], append=np.repeat(off[-1:], 2)))
    stepped = np.unique(rounded).size < _DISTINCT * rounded.size
    another = not stepped and largest_magnitude(off) > _ANOTHER * largest_magnitude(rough)
    return 2 * _NOISE * moving_maximum(rough if another else np.abs(off), _AROUND)
