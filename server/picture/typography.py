"""Numbers and sentences as they are set: true minus signs, powers of ten. As in static/number.js."""

from __future__ import annotations

import re
from decimal import Decimal

RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
MINUS = str.maketrans("-", "−")
ALONE = re.compile(r"(?<![\w.])1e([-−]?)\+?(\d+)(?!\w)", re.ASCII)
AFTER = re.compile(r"(\d)e([-−]?)\+?(\d+)(?!\w)", re.ASCII)


def typographic(text: str) -> str:
    """A number with a true minus sign."""
    return text.translate(MINUS)


def power(exponent: int) -> str:
    """Ten to the ``exponent``, as it is set."""
    return f"10{str(exponent).translate(RAISED)}"


def number(value: float) -> str:
    """A number that somebody chose, with all of its digits."""
    if value == 0 or 1e-3 <= abs(value) < 1e6:
        return typographic(f"{Decimal(repr(float(value))).normalize():f}")
    return powers(typographic(repr(float(value)).replace(".0e", "e")))


def prose(text: str) -> str:
    """A sentence with true minus signs, powers of ten, and comparisons that do not break across lines."""
    text = re.sub(r"(^|[^\w.])-(?=[\d.])", r"\1−", text, flags=re.ASCII)
    return powers(re.sub(" ([≤<>=]) ", "\N{NO-BREAK SPACE}\\1\N{NO-BREAK SPACE}", text))


def powers(text: str) -> str:
    """``text`` with 4.6·10⁻⁶ for 4.6e−6."""

    def raised(sign: str, digits: str) -> str:
        return power(int(f"{'-' if sign else ''}{digits[:9]}"))

    text = ALONE.sub(lambda found: raised(found[1], found[2]), text)
    return AFTER.sub(lambda found: f"{found[1]}·{raised(found[2], found[3])}", text)
