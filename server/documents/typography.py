"""Typesetting of numbers and sentences: minus signs, powers of ten, significant digits. As in js/number.js."""

import math
import re
from collections.abc import Callable
from decimal import ROUND_HALF_UP, Context, Decimal

from ..schema.section import Nouns, TermsRecord

_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_MINUS = str.maketrans("-", "−")
_PLAIN = (1e-3, 1e6)  # between these sizes without a power of ten
_MOST = 17
_CODE = re.compile(r"(`[^`]+`)")
_ALONE = re.compile(r"(?<![\w.])1e([-−]?)\+?(\d+)(?!\w)", re.ASCII)
_AFTER = re.compile(r"(\d)e([-−]?)\+?(\d+)(?!\w)", re.ASCII)


def with_minus_sign(text: str) -> str:
    """``text`` with the minus sign − for hyphens."""
    return text.translate(_MINUS)


def power_of_ten(exponent: int) -> str:
    """Ten to the ``exponent``, in superscript digits."""
    return f"10{str(exponent).translate(_RAISED)}"


def typeset_number(value: float | None, digits: int = 4) -> str:
    """``value`` to so many significant digits; – for None and NaN."""
    if value is None or math.isnan(value):
        return "–"
    if math.isinf(value):
        return "+∞" if value > 0 else "−∞"
    if value == 0:
        return "0"
    rounded = Context(prec=digits, rounding=ROUND_HALF_UP).create_decimal(value)
    if _PLAIN[0] <= abs(value) < _PLAIN[1]:
        return with_minus_sign(_bare(rounded))
    exponent = rounded.adjusted()
    text = f"{with_minus_sign(_bare(rounded.scaleb(-exponent)))}·{power_of_ten(exponent)}"
    return text.replace("1·", "", 1) if text.removeprefix("−").startswith("1·") else text


def number_within_span(value: float, span: float) -> str:
    """``value`` with enough digits to resolve a range of length ``span`` around it."""
    ratio = abs(value) / span if span else 0.0
    digits = 3 + math.ceil(math.log10(ratio)) if 0 < ratio < math.inf else 4  # a span may overflow, a ratio underflow
    return typeset_number(value, min(_MOST, max(4, digits)))


def number_apart_from(value: float | None, other: float | None) -> str:
    """``value`` with enough digits to tell it from ``other``."""
    if value is None:
        return "no number"
    return typeset_number(value) if other is None else number_within_span(value, abs(value - other))


def number_on_grid(value: float, step: float) -> str:
    """``value`` with as many decimals as a grid of spacing ``step`` needs."""
    least = math.ceil(-math.log10(step) - 1e-9)
    if least > 6:
        return number_within_span(value, step)
    whole = step * 10.0**least
    decimals = least if abs(whole - round(whole)) < 1e-6 else least + 1  # 0.015 has three
    if decimals > 6 or abs(value) >= _PLAIN[1]:
        return number_within_span(value, step)
    places = Decimal(1).scaleb(-max(0, decimals))
    return with_minus_sign(str(Decimal(value).quantize(places, ROUND_HALF_UP) + 0))  # which makes −0 a 0


def exact_number(value: float) -> str:
    """A number that was entered, with all of its digits."""
    if value == 0 or _PLAIN[0] <= abs(value) < _PLAIN[1]:
        return with_minus_sign(f"{Decimal(repr(float(value))).normalize() + 0:f}")
    return typeset_powers(with_minus_sign(repr(float(value)).replace(".0e", "e")))


def typeset_sentence(text: str) -> str:
    """A typeset sentence: minus signs before numbers, no line breaks within comparisons; code stays as it is."""
    return _outside_code(_typeset_words, text)


def typeset_powers(text: str) -> str:
    """``text`` with 4.6·10⁻⁶ for 4.6e−6, except in code."""
    return _outside_code(_typeset_exponents, text)


def _outside_code(typeset: Callable[[str], str], text: str) -> str:
    """The text typeset, but for what stands between backticks: that is to be copied."""
    return "".join(piece if i % 2 else typeset(piece) for i, piece in enumerate(_CODE.split(text)))


def _typeset_words(text: str) -> str:
    text = re.sub(r"(^|[^\w.-])-(?=\.?\d)", r"\1−", text, flags=re.ASCII)
    return re.sub(" ([≤<>=]) ", "\N{NO-BREAK SPACE}\\1\N{NO-BREAK SPACE}", text)


def _typeset_exponents(text: str) -> str:
    def raised(sign: str, digits: str) -> str:
        return power_of_ten(int(f"{'-' if sign else ''}{digits[:9]}"))

    text = _ALONE.sub(lambda found: raised(found[1], found[2]), text)
    return _AFTER.sub(lambda found: f"{found[1]}·{raised(found[2], found[3])}", text)


def _bare(value: Decimal) -> str:
    """Positional notation without trailing zeros."""
    text = f"{value:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def nouns(asked: TermsRecord) -> Nouns:
    """For a question or an answer, by its ``order``, ``of``, ``wrt`` and ``grad_output``."""
    of, wrt = asked["of"], asked["wrt"]
    if asked["order"] == 1:
        return Nouns(of, "forward", "backward", "forward", f"grad of {wrt}", asked["grad_output"])
    grad = f"grad_{wrt}"
    return Nouns(grad, grad, "double backward", "returned by backward", f"second grad of {wrt}", 1.0)


def reworded_for_order(text: str, asked: TermsRecord) -> str:
    """``text`` with the words forward and backward replaced by the terms for the order of derivative."""
    terms = nouns(asked)
    words = {"forward": terms.forward, "backward": terms.backward}
    return re.sub(r"\b(forward|backward)\b", lambda match: words[match[0]], text)
