"""Numbers in sentences: digits, minus signs, infinities, and the size of a difference by what it is a part of."""

from __future__ import annotations

import math
from decimal import Decimal

from ...runtime.arrays import EPSILON

MOST_DIGITS = 6  # pattern: a number with more digits than this was not meant as a decimal
_NAMED = {
    "π": math.pi,
    "1/π": 1 / math.pi,
    "2π": 2 * math.pi,
    "1/(2π)": 1 / (2 * math.pi),
    "π/2": math.pi / 2,
    "2/π": 2 / math.pi,
    "π/180": math.pi / 180,
    "180/π": 180 / math.pi,
    "√2": math.sqrt(2),
    "1/√2": 1 / math.sqrt(2),
    "√π": math.sqrt(math.pi),
    "1/√π": 1 / math.sqrt(math.pi),
    "2/√π": 2 / math.sqrt(math.pi),
    "√π/2": math.sqrt(math.pi) / 2,
    "√(2π)": math.sqrt(2 * math.pi),
    "1/√(2π)": 1 / math.sqrt(2 * math.pi),
    "√(2/π)": math.sqrt(2 / math.pi),
    "√(π/2)": math.sqrt(math.pi / 2),
    "e": math.e,
    "1/e": 1 / math.e,
    "ln 2": math.log(2),
    "1/ln 2": 1 / math.log(2),
    "ln 10": math.log(10),
    "1/ln 10": 1 / math.log(10),
    "1/3": 1 / 3,
    "2/3": 2 / 3,
    "1/6": 1 / 6,
}
# bound: a slope below this share of the slopes nearby, or of the difference, is called 0: the latter is its rounding.
NOTHING, _ROUNDING = 1e-9, 1e-15
_LEAST, _MOST = 0.001, 10.0  # pattern: between these a share is told in percent
_SLOPE = "the slope there"
_PRECISE = 1e-6  # bound: the relative error above which no name is given


def simplest_number(low: float, high: float) -> float:
    """The number with the fewest significant digits in ``[low, high]``: a bound of 1.37 is found as 1.37."""
    if low <= 0 <= high:
        return 0.0
    middle = Decimal(low + (high - low) / 2)  # whose sum may be more than a number can hold
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
    return typeset(f"{value:.{min(max(4, 4 + more), 17)}g}")


def typeset(number: str) -> str:
    """The digits of a number with a true minus sign, and no more of its exponent than it needs."""
    digits, e, exponent = number.partition("e")
    return f"{digits}e{int(exponent)}".replace("-", "−") if e else digits.replace("-", "−")


def format_distinct(value: float, other: float) -> str:
    """The number as text, with enough digits to differ from the ``other``."""
    if not (math.isfinite(value) and math.isfinite(other)) or format_number(value) != format_number(other):
        return format_number(value)
    return typeset(f"{value:.15g}")


def format_measured(value: float, within: float) -> str:
    """A number known to ± ``within``, in as few digits as identify it; long ones in four, unless that would read 1."""
    within = max(within, 4 * EPSILON * abs(value))
    near = simplest_number(value - within, value + within)
    text = repr(near).removesuffix(".0")
    long = len(repr(abs(near)).partition("e")[0].replace(".", "").strip("0")) > MOST_DIGITS
    if long and abs(float(f"{value:.4g}")) != 1:
        text = f"{value:.4g}"
    return typeset(text)


def constant_name(value: float, within: float) -> str:
    """The name of the constant with this value, such as ``ln 2`` or ``1/ln 10``; empty if it is not a known one."""
    if not 0 < within < _PRECISE * abs(value):
        return ""
    return next((called for called, constant in _NAMED.items() if abs(value - constant) <= within), "")


def slope_share(off: float, slope: float, nearby: float) -> float | None:
    """A difference as a share of the slope at its place; None where either is no number, or the slope nothing."""
    known = math.isfinite(off) and abs(slope) > max(NOTHING * nearby, _ROUNDING * off)
    return off / abs(slope) if known else None


def describe_size(off: float, slope: float, nearby: float = 0.0, of: str = _SLOPE) -> str:
    """The end of a sentence: ", off by 0.3, 15 % of the slope there"; empty where that would say nothing more."""
    if not math.isfinite(off):
        return ""
    if slope_share(off, slope, nearby) is None:  # what is right was told, and is nothing
        return f" (nearby at most {two_digits(nearby)})" if nearby > NOTHING * off else ""
    return f", off by {two_digits(off)}, {describe_share(off, slope, nearby, of)}"


def describe_share(off: float, slope: float, nearby: float, of: str = _SLOPE) -> str:
    """A difference by what it is a part ``of``; ``nearby`` is the largest slope near its place."""
    share = slope_share(off, slope, nearby)
    if share is None:
        around = f" and nearby at most {two_digits(nearby)}" if nearby > NOTHING * off else ""
        return f"where {of.removesuffix(' there')} is 0{around}"
    if _LEAST <= share < _MOST:
        return f"{two_digits(100 * share)} % of {of}"
    return f"{two_digits(share)} {'times' if share > 1 else 'of'} {of}"


def two_digits(value: float) -> str:
    """A number in two digits, whole numbers below ten thousand in all of theirs."""
    return format_number(float(f"{value:.0f}" if 10 <= abs(value) < 1e4 else f"{value:.2g}"))
