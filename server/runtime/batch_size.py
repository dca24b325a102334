"""How many copies of a Function's inputs share one call, where they may."""

from __future__ import annotations

# budget: limits of one batch: beyond some megabytes bigger batches are slower, and a Function that compares each
# element with every other costs the square of their number.
_BATCH_ELEMENTS = 1 << 20
_BATCH_TENSORS, _BATCH_NUMBERS = 1 << 10, 9 << 10  # budget: the eight steps of 1000 points, and the probes for noise


def batch_size(size: int) -> int:
    """The batch size for copies of ``size`` elements each."""
    return max(1, min(_BATCH_ELEMENTS // size, _BATCH_TENSORS if size > 1 else _BATCH_NUMBERS))
