"""Typesetting of numbers and sentences: minus signs, powers of ten, significant digits. As in js/number.js."""

from __future__ import annotations

import math
import re
from decimal import ROUND_HALF_UP, Context, Decimal

_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
MINUS = str.maketrans("-", "−")
_PLAIN = (1e-3, 1e6)  # between these sizes without a power of ten
_MOST = 17
_ALONE = re.compile(r"(?<![\w.])1e([-−]?)\+?(\d+)(?!\w)", re.ASCII)
_AFTER = re.compile(r"(\d)e([-−]?)\+?(\d+)(?!\w)", re.ASCII)


def typographic(text: str) -> str:
    """``text`` with the minus sign − for hyphens."""
    return text.translate(MINUS)


def power(exponent: int) -> str:
    """Ten to the ``exponent``, in superscript digits."""
    return f"10{str(exponent).translate(_RAISED)}"


def number(value: float | None, digits: int = 4) -> str:
    """``value`` to so many significant digits; – for None and NaN."""
    if value is None or math.isnan(value):
        return "–"
    if math.isinf(value):
        return "+∞" if value > 0 else "−∞"
    if value == 0:
        return "0"
    rounded = Context(prec=digits, rounding=ROUND_HALF_UP).create_decimal(value)
    if _PLAIN[0] <= abs(value) < _PLAIN[1]:
        return typographic(_bare(rounded))
    exponent = rounded.adjusted()
    text = f"{typographic(_bare(rounded.scaleb(-exponent)))}·{power(exponent)}"
    return text.replace("1·", "", 1) if text.removeprefix("−").startswith("1·") else text


def telling(value: float, span: float) -> str:
    """``value`` with enough digits to resolve a range of length ``span`` around it."""
    ratio = abs(value) / span if span else 0.0
    digits = 3 + math.ceil(math.log10(ratio)) if 0 < ratio < math.inf else 4  # a span may overflow, a ratio underflow
    return number(value, min(_MOST, max(4, digits)))


def apart(value: float | None, other: float | None) -> str:
    """``value`` with enough digits to tell it from ``other``."""
    if value is None:
        return "no number"
    return number(value) if other is None else telling(value, abs(value - other))


def fixed(value: float, step: float) -> str:
    """``value`` with as many decimals as a grid of spacing ``step`` needs."""
    least = math.ceil(-math.log10(step) - 1e-9)
    if least > 6:
        return telling(value, step)
    whole = step * 10.0**least
    decimals = least if abs(whole - round(whole)) < 1e-6 else least + 1  # 0.015 has three
    if decimals > 6 or abs(value) >= _PLAIN[1]:
        return telling(value, step)
    places = Decimal(1).scaleb(-max(0, decimals))
    return typographic(str(Decimal(value).quantize(places, ROUND_HALF_UP)))


def chosen(value: float) -> str:
    """A number that was entered, with all of its digits."""
    if value == 0 or _PLAIN[0] <= abs(value) < _PLAIN[1]:
        return typographic(f"{Decimal(repr(float(value))).normalize():f}")
    return powers(typographic(repr(float(value)).replace(".0e", "e")))


def prose(text: str) -> str:
    """A typeset sentence: minus signs before numbers, no line breaks within comparisons."""
    text = re.sub(r"(^|[^\w.])-(?=\.?\d)", r"\1−", text, flags=re.ASCII)
    return re.sub(" ([≤<>=]) ", "\N{NO-BREAK SPACE}\\1\N{NO-BREAK SPACE}", text)


def powers(text: str) -> str:
    """``text`` with 4.6·10⁻⁶ for 4.6e−6."""

    def raised(sign: str, digits: str) -> str:
        return power(int(f"{'-' if sign else ''}{digits[:9]}"))

    text = _ALONE.sub(lambda found: raised(found[1], found[2]), text)
    return _AFTER.sub(lambda found: f"{found[1]}·{raised(found[2], found[3])}", text)


def _bare(value: Decimal) -> str:
    """Positional notation without trailing zeros."""
    text = f"{value:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
