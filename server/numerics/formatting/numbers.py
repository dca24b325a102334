"""Formatting of numbers in sentences: digits, minus signs, infinities."""

from __future__ import annotations

import math
from decimal import Decimal


def simplest_number(low: float, high: float) -> float:
    """The number with the fewest significant digits in ``[low, high]``: a bound of 1.37 is found as 1.37."""
    if low <= 0 <= high:
        return 0.0
    middle = Decimal((low + high) / 2)
    for digits in range(1, 18):
        near = float(f"{middle:.{digits}g}")
        if low <= near <= high:
            return near
    return float(middle)


def format_number(value: float, span: float = math.inf) -> str:
    """A number as text: a true minus sign, four digits, and more where ``span``, the range it lies in, is small."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    value += 0.0  # −0 is 0
    more = math.ceil(math.log10(abs(value)) - math.log10(span)) if value and span < math.inf else 0
    return (
        f"{value:.{min(max(4, 4 + more), 17)}g}".replace("e-0", "e-")
        .replace("e+0", "e")
        .replace("e+", "e")
        .replace("-", "−")
    )


def format_distinct(value: float, other: float) -> str:
    """The number as text, with enough digits to differ from the ``other``."""
    if not (math.isfinite(value) and math.isfinite(other)) or format_number(value) != format_number(other):
        return format_number(value)
    return f"{value:.15g}".replace("-", "−")
