"""A number in a sentence."""

from __future__ import annotations

import math


def number(value: float, span: float = math.inf) -> str:
    """A number as one writes it: a true minus sign, four digits, and more where its ``span`` is small."""
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


def apart(value: float, other: float) -> str:
    """The number, with digits enough to be told from the other."""
    if not (math.isfinite(value) and math.isfinite(other)) or number(value) != number(other):
        return number(value)
    return f"{value:.15g}".replace("-", "−")
