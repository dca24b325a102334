"""Richardson extrapolation: one slope with an error bound from finite differences at several steps."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from ...runtime.arrays import Array

# bound: the next change is extrapolated from the last two. The truncation error is taken as ten times that,
# and at most the last change itself.
_SAFETY = 10.0
_TINY = 1e-300  # unit: added to a divisor that may be 0
# ulps: the last change counts if above this multiple of its rounding and this fraction (a pattern) of the differences.
_NOISE_FACTOR, _GROSS = 30.0, 0.2


@dataclass(frozen=True)
class Tableau:
    """The extrapolation triangle (Neville's scheme); every entry is a row of weights on the differences."""

    stacked: Array
    """The E entries; each minus its coarser parent; for the later ones, that parent's own change."""
    gain: Array
    """(E, levels): how rounding errors of the differences add up in an entry."""
    used: Array
    """(E, levels): 1 where an entry depends on a level."""
    finest: int
    """The entry made of the two smallest steps: the least truncated, the noisiest."""
    first: int
    """The number of entries (they come first) without a grandparent, whose rate of convergence is unknown."""
    falls: float
    """Where the slope converges, the largest ratio of a change from step to step to the one before."""


@lru_cache(maxsize=16)
def tableau(levels: int, ratio: float, order: int) -> Tableau:
    """The triangle for steps ``h, h/ratio, …`` of differences whose error grows with ``h**order``.

    ``order`` is 2 for central and 1 for one-sided differences. Source: L. F. Richardson 1911;
    C. J. F. Ridders 1982 for choosing the entry by its own change.
    """
    cell = {(j, 0): row for j, row in enumerate(np.eye(levels))}
    for depth in range(1, levels):
        c = ratio ** (order * depth)
        for j in range(levels - depth):
            cell[j, depth] = (c * cell[j + 1, depth - 1] - cell[j, depth - 1]) / (c - 1)
    keys = [key for key in cell if key[1]]
    value = np.array([cell[key] for key in keys])
    change = np.array([cell[j, q] - cell[j + 1, q - 1] for j, q in keys])
    before = np.array([cell[j + 1, q - 1] - cell[j + 2, q - 2] for j, q in keys if q > 1]).reshape(-1, levels)
    return Tableau(
        stacked=np.concatenate((value, change, before)),
        gain=np.abs(value),
        used=(value != 0).astype(float),
        finest=keys.index((levels - 2, 1)),
        first=levels - 1,
        falls=ratio ** (-order / 2),
    )


def extrapolate(
    differences: Array, rounding: Array, table: Tableau, *, wary: bool = True
) -> tuple[Array, Array, Array]:
    """For each column of (levels, n) ``differences``: the best slope, its error bound, and the noise part of that.

    ``rounding`` bounds the rounding error of each difference. Among the entries that agree with the finest
    one, which cannot alias, the one with the least truncation plus noise is taken. Entries that use a level
    that is not finite are excluded; where none is left the error is infinite. Where the differences do not converge,
    as next to a jump, two entries may agree by chance: with ``wary`` the error there is at least the last change.
    """
    broken = ~np.isfinite(differences)
    any_broken = bool(broken.any())
    if any_broken:
        differences = np.where(broken, 0.0, differences)
        rounding = np.where(broken, 0.0, rounding)
    entries = len(table.gain)
    stacked = table.stacked @ differences
    value = stacked[:entries]
    changes = np.abs(stacked[entries:], out=stacked[entries:])
    change, before = changes[:entries], changes[entries:]
    noise = table.gain @ rounding
    slowness = change[table.first :] / (before + _TINY)
    slowness *= _SAFETY
    error = change.copy()
    error[table.first :] *= np.minimum(slowness, 1.0, out=slowness)
    error += noise
    if any_broken:
        error[table.used @ broken > 0] = np.inf
    reach = error[table.finest] + change[table.finest]
    off = value - value[table.finest]
    np.abs(off, out=off)
    off -= error
    np.putmask(error, off > reach, np.inf)
    best = error.argmin(axis=0)
    flat = best * best.size + np.arange(best.size)
    bound = error.ravel().take(flat)
    if wary:
        unconverged = _unconverged_change(differences, rounding, table.falls)
        bound = np.maximum(bound, np.where(broken[-3:].any(axis=0), 0.0, unconverged) if any_broken else unconverged)
    return value.ravel().take(flat), bound, noise.ravel().take(flat)


def _unconverged_change(differences: Array, rounding: Array, falls: float) -> Array:
    """The last change of each column that does not converge; 0 for the others, and where there is only one."""
    if len(differences) < 3:
        return np.zeros(differences.shape[1])
    before, last = np.abs(differences[-2:] - differences[-3:-1])
    unconverged = last > falls * before
    if not unconverged.any():
        return np.zeros(last.size)
    least = _NOISE_FACTOR * (rounding[-1] + rounding[-2]) + _GROSS * np.abs(differences[-2:]).max(axis=0)
    return np.where((last > least) & unconverged, last, 0.0)
