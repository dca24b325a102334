"""Runs: stretches of neighbours that have something in common."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def runs(mask: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """The first and the last of every unbroken run in ``mask``."""
    edges = np.diff(np.concatenate(([0], mask.astype(np.int8), [0])))
    firsts, lasts = np.flatnonzero(edges == 1), np.flatnonzero(edges == -1) - 1
    return list(zip(firsts.tolist(), lasts.tolist(), strict=True))


def longest_run(mask: NDArray[np.bool_]) -> tuple[int, int]:
    """The first and the last of the longest run in ``mask``, of which there is one: of equals the first."""
    return max(runs(mask), key=lambda run: run[1] - run[0])
