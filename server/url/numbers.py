"""Numbers in query strings: strict parsing, and the shortest text that round-trips to the same float."""

import math
import re

from ..protocol.errors import BadQuestion
from ..protocol.parameter_kinds import LARGEST, SMALLEST

_DECIMAL = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_WHOLE = re.compile(r"[+-]?\d+", re.ASCII)


class BadQuery(BadQuestion):
    """An invalid query; each sentence names the culprit and what is allowed."""


def printable_excerpt(text: str) -> str:
    """Untrusted text made safe to quote in a message: unprintable characters replaced, cut after 40."""
    text = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)
    return text if len(text) <= 40 else f"{text[:40]}…"


def read_float(name: str, text: str, minimum: float = -LARGEST, maximum: float = LARGEST) -> float:
    """The finite number in ``text``, the value of the parameter ``name``, within the bounds; raises ``BadQuery``."""
    culprit, text = f"{name}={printable_excerpt(text)}", _plain(text)
    if text.lstrip("+-").lower() in ("nan", "inf", "infinity"):
        raise BadQuery(f"{culprit} is not finite; give a number {_between(minimum, maximum)}.", name)
    if not _DECIMAL.fullmatch(text):
        meant = with_a_point(text)
        hint = f"with a point, {meant}" if meant else "in plain digits, like -1.5 or 2e-3"
        raise BadQuery(f"{culprit} is not a number; write it {hint}.", name)
    value = float(text)
    if not minimum <= value <= maximum:
        raise BadQuery(f"{culprit} is out of bounds; give a number {_between(minimum, maximum)}.", name)
    return value


def with_a_point(text: str) -> str:
    """The number in ``text`` with a point in place of its decimal comma; empty where it is no such number."""
    meant = text.replace(",", ".", 1)
    return meant if _DECIMAL.fullmatch(meant) else ""


def read_int(name: str, text: str, minimum: float = -LARGEST, maximum: float = LARGEST, label: str = "") -> int:
    """The whole number in ``text``, within the bounds; raises ``BadQuery``.

    ``name`` is the parameter, and ``label`` what the sentence calls it, by default its name.
    """
    culprit, text = f"{label or name}={printable_excerpt(text)}", _plain(text)
    if not _WHOLE.fullmatch(text):
        hint = f"give one {_between(minimum, maximum)}, in plain digits"
        raise BadQuery(f"{culprit} is not a whole number; {hint}.", name)
    if not minimum <= float(text) <= maximum:
        raise BadQuery(f"{culprit} is out of bounds; give a whole number {_between(minimum, maximum)}.", name)
    if len(text) > 19:
        raise BadQuery(f"{culprit} has too many digits; a whole number of at most 18 digits is allowed.", name)
    return int(text)


def _between(minimum: float, maximum: float) -> str:
    """The bounds in words."""
    if minimum == SMALLEST:
        return "above 0"
    low, high = minimum > -LARGEST, maximum < LARGEST
    if low and high:
        return f"from {write_number(minimum)} to {write_number(maximum)}"
    if low:
        return f"of at least {write_number(minimum)}"
    return f"of at most {write_number(maximum)}" if high else f"of at most {write_number(LARGEST)} in size"


def write_number(value: float) -> str:
    """The shortest text that ``float`` reads back as the same bits: ``1``, ``-0.5``, ``1e-7``."""
    if isinstance(value, int) or not math.isfinite(value):
        return str(value)
    mantissa, _, exponent = repr(value).partition("e")
    mantissa = mantissa.removesuffix(".0")
    return f"{mantissa}e{int(exponent)}" if exponent else mantissa


def _plain(text: str) -> str:
    """Undoes form encoding, in which a plus reads as a space, and turns the sign − into a hyphen."""
    return text.strip(" ").replace(" ", "+").replace("−", "-")
