"""The points of a section: evenly spaced, with a row for every singularity between them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .noise import Array
from .singularity import Singularity

# Relative to the distance of two points: what is nearer than this is the same point.
SAME = 1e-6


@dataclass(frozen=True)
class Grid:
    """``count`` evenly spaced points from ``start`` to ``stop``."""

    start: float
    stop: float
    count: int

    @property
    def span(self) -> float:
        """The length of the interval."""
        return self.stop - self.start

    def points(self) -> Array:
        """The points, each rounded to the shortest decimal that does not move it visibly.

        So 0 is 0 and not -8e-17, and a kink at 1 is met by a grid point that is 1.
        """
        x = np.linspace(self.start, self.stop, self.count)
        digits = int(np.clip(9 - np.floor(np.log10(self.span / self.count)), 0, 300))
        return np.unique(np.round(x, digits))


@dataclass(frozen=True)
class Rows:
    """The points to evaluate: ``x``, not decreasing, with ``gap`` where the forward has no value to draw.

    ``below`` and ``above`` mark the last point before and the first after a gap.
    """

    x: Array
    gap: NDArray[np.bool_]
    below: NDArray[np.bool_]
    above: NDArray[np.bool_]


def rows(x: Array, found: tuple[Singularity, ...]) -> Rows:
    """The grid ``x`` with one row for each kink and three (below, gap, above) for each jump or pole."""
    if not found:
        none = np.zeros(x.size, bool)
        return Rows(x, none, none, none)
    near = SAME * (x[-1] - x[0]) / x.size
    places = np.array([each.x for each in found])
    kept = np.abs(x[:, None] - places).min(axis=1) > near
    points, marks = [x[kept]], [np.zeros(int(kept.sum()), np.int8)]
    for each in found:
        points.append(np.array([each.x] if each.kind == "kink" else [each.left, each.x, each.right]))
        marks.append(np.array([0] if each.kind == "kink" else [1, 2, 3], np.int8))
    merged, role = np.concatenate(points), np.concatenate(marks)
    order = np.lexsort((role, merged))
    merged, role = merged[order], role[order]
    return Rows(merged, role == 2, role == 1, role == 3)
