"""The simplest number of an interval."""

from __future__ import annotations

from decimal import Decimal


def simplest(low: float, high: float) -> float:
    """The number of fewest decimals in ``[low, high]``: a bound of 1.37 is found as 1.37."""
    if low <= 0 <= high:
        return 0.0
    middle = Decimal((low + high) / 2)
    for digits in range(1, 18):
        near = float(f"{middle:.{digits}g}")
        if low <= near <= high:
            return near
    return float(middle)
