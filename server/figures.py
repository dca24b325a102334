"""Numbers as people read them: a true minus sign, powers of ten, no digits of noise."""

from __future__ import annotations

import math
from decimal import ROUND_HALF_UP, Context, Decimal

RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
PLAIN = (1e-3, 1e6)  # between these sizes without a power of ten
MOST = 17


def number(value: float | None, digits: int = 4) -> str:
    """``value`` in so many digits, – for none."""
    if value is None or math.isnan(value):
        return "–"
    if math.isinf(value):
        return "+∞" if value > 0 else "−∞"
    if value == 0:
        return "0"
    rounded = Context(prec=digits, rounding=ROUND_HALF_UP).create_decimal(value)
    if PLAIN[0] <= abs(value) < PLAIN[1]:
        return _typographic(_bare(rounded))
    exponent = rounded.adjusted()
    text = f"{_typographic(_bare(rounded.scaleb(-exponent)))}·10{str(exponent).translate(RAISED)}"
    return text.replace("1·", "", 1) if text.removeprefix("−").startswith("1·") else text


def telling(value: float, span: float) -> str:
    """``value``, an end of a range as long as ``span``, with the digits that tell it from the other end."""
    digits = 3 + math.ceil(math.log10(abs(value) / span)) if value else 4
    return number(value, min(MOST, max(4, digits)))


def fixed(value: float, step: float) -> str:
    """``value`` with as many decimals as neighbours ``step`` apart need to be told from each other."""
    decimals = math.ceil(-math.log10(step) - 1e-9)
    if decimals > 6 or abs(value) >= PLAIN[1]:
        return telling(value, step)
    places = Decimal(1).scaleb(-max(0, decimals))
    return _typographic(str(Decimal(value).quantize(places, ROUND_HALF_UP)))


def _bare(value: Decimal) -> str:
    """Without exponent and needless zeros."""
    text = f"{value:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _typographic(text: str) -> str:
    return text.replace("-", "−")
