"""The size of a difference in words: absolute, and as a share of the slope at its place."""

from __future__ import annotations

import math

from .numbers import format_number

# bound: a slope below this share of the slopes nearby, or of the difference, is called 0: the latter is its rounding.
_NOTHING, _ROUNDING = 1e-9, 1e-15
_LEAST, _MOST = 0.001, 10.0  # pattern: between these a share is told in percent
_SLOPE = "the slope there"


def slope_share(off: float, slope: float, nearby: float = 0.0) -> float | None:
    """A difference as a share of the slope at its place; None where either is no number, or the slope nothing."""
    known = math.isfinite(off) and abs(slope) > max(_NOTHING * nearby, _ROUNDING * off)
    return off / abs(slope) if known else None


def describe_size(off: float, slope: float, nearby: float = 0.0, of: str = _SLOPE) -> str:
    """The end of a sentence: ", off by 0.3, 15 % of the slope there"; empty where that would say nothing more."""
    if not math.isfinite(off):
        return ""
    if slope_share(off, slope, nearby) is None:  # what is right was told, and is nothing
        return f", and nearby at most {two_digits(nearby)}" if nearby > _NOTHING * off else ""
    return f", off by {two_digits(off)}, {describe_share(off, slope, nearby, of)}"


def describe_share(off: float, slope: float, nearby: float = 0.0, of: str = _SLOPE) -> str:
    """A difference by what it is a part ``of``; ``nearby`` is the largest slope near its place."""
    share = slope_share(off, slope, nearby)
    if share is None:
        around = f" and nearby at most {two_digits(nearby)}" if nearby > _NOTHING * off else ""
        return f"where {of.removesuffix(' there')} is 0{around}"
    if _LEAST <= share < _MOST:
        return f"{two_digits(100 * share)} % of {of}"
    return f"{two_digits(share)} {'times' if share > 1 else 'of'} {of}"


def two_digits(value: float) -> str:
    """A number in two digits, whole numbers below ten thousand in all of theirs."""
    return format_number(float(f"{value:.0f}" if 10 <= abs(value) < 1e4 else f"{value:.2g}"))
