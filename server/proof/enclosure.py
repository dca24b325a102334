"""Balls and Taylor series of balls: what is known of a number that depends on t, for all t of a box at once.

A *value* is an ``arb_series``, which encloses the Taylor coefficients in t at each point of the box, of a function that
is analytic there; or a bare ``arb``, which encloses the numbers alone, of a function that may bend or leap within.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from typing import Any

from flint import arb, arb_poly, arb_series, ctx

Value = arb_series | arb
_Polynomial: Any = arb_poly  # which has no types
TERMS = 24  # budget: coefficients of a series
_MOST_POWER = 64  # budget: a power up to it is a product
_MOST_WHOLE = 2.0**62  # bound: numbers up to it are rounded to whole ones


@lru_cache(maxsize=4096)
def constant(number: float) -> arb_series:
    """A number of Python or torch, exactly: the binary fraction that it holds."""
    return arb_series([arb(number)], TERMS)


def head(value: Value) -> arb:
    """The enclosure of the numbers themselves."""
    return value[0] if isinstance(value, arb_series) else value


def exact_number(value: Value) -> arb | None:
    """The one number that it is for each t; None where it is not known to be one."""
    number = None if isinstance(value, arb_series) and value.length() > 1 else head(value)
    return number if number is not None and number.is_exact() and number.is_finite() else None


def float_of(value: Value) -> float | None:
    """The one number that it is for each t, if a float holds it."""
    number = exact_number(value)
    return float(number) if number is not None and constant(float(number))[0] == number else None


def hull(one: Value, other: Value) -> Value:
    """What holds of either."""
    return one if one is other else head(one).union(head(other))


# ---------------------------------------------------------------- arithmetic


def applied(formula: Callable[[arb_series], arb_series], value: Value) -> Value:
    """A function of a series; where it is not defined, nothing is known."""
    try:
        if not isinstance(value, arb_series):
            return formula(arb_series([value], 1))[0]
        if value.length() <= 1 and not value[0].is_finite():  # of an infinite constant, too
            return arb_series([formula(arb_series([value[0]], 1))[0]], TERMS)
        return formula(value)
    except (ValueError, ZeroDivisionError):
        return arb.nan()


def add(a: Value, b: Value) -> Value:
    """a + b."""
    return a + b if type(a) is type(b) else head(a) + head(b)


def subtract(a: Value, b: Value) -> Value:
    """a − b; one object stands for one number, so the difference of it and itself is 0."""
    if a is b and isinstance(a, arb_series) and a[0].is_finite():
        return constant(0.0)
    return a - b if type(a) is type(b) else head(a) - head(b)


def multiply(a: Value, b: Value) -> Value:
    """a · b; of an infinite number and 0 nothing is known."""
    if type(a) is not type(b):
        return head(a) * head(b)
    product = a * b
    is_zero = isinstance(product, arb_series) and product.length() == 0
    return arb.nan() if is_zero and not (head(a).is_finite() and head(b).is_finite()) else product


def divide(a: Value, b: Value) -> Value:
    """a / b; nothing is known where b may be 0."""
    try:
        return a / b if type(a) is type(b) else head(a) / head(b)
    except (ValueError, ZeroDivisionError):
        return arb.nan()


def whole_power(value: Value) -> int | None:
    """A constant exponent, if it is one for which a power is a product."""
    number = exact_number(value)
    return int(float(number)) if number is not None and number.is_integer() and abs(number) <= _MOST_POWER else None


def power(a: Value, b: Value) -> Value:
    """a to the b: whole ones by products, others where a is positive, a root at 0 alone too."""
    exponent = whole_power(b)
    if exponent is None:
        root = exact_number(b) == arb(0.5)
        return applied(arb_series.sqrt, a) if root else applied(_exp, multiply(applied(arb_series.log, a), b))
    result: Value = constant(1.0)
    for _ in range(abs(exponent)):
        result = multiply(result, a)
    return result if exponent >= 0 else divide(constant(1.0), result)


def _exp(s: arb_series) -> arb_series:
    return s.exp()


def _sigmoid(s: arb_series) -> arb_series:
    """By the one of e⁻ˢ and eˢ that is small, so that of a wide one little is left beside 1."""
    if s[0].mid() > 0:
        return 1 / (1 + (-s).exp())
    small = s.exp()
    return small / (1 + small)


def _tanh(s: arb_series) -> arb_series:
    return 2 / (1 + (-2 * s).exp()) - 1 if s[0].mid() > 0 else 1 - 2 / (1 + (2 * s).exp())


def _ndtr(s: arb_series) -> arb_series:
    return (-s * arb(0.5).sqrt()).erfc() / 2


def _digamma(s: arb_series) -> arb_series:
    """By the Taylor series of log Γ at the ball of its argument."""
    centre, terms = s[0], s.prec
    if not centre > 0:
        raise ValueError
    cap, ctx.cap = ctx.cap, terms + 1
    try:
        outer = arb_series([centre, 1], terms + 1).lgamma().derivative()
    finally:
        ctx.cap = cap
    outer = arb_series([outer[k] for k in range(terms)], terms)
    rest = arb_series([0, *(s[k] for k in range(1, terms))], terms)
    return outer(rest) if terms > 1 else arb_series([outer[0]], 1)


# Of each operation its series, and where its domain ends.
SMOOTH: dict[str, tuple[Any, ...]] = {
    "exp": (_exp,),
    "exp2": (lambda s: (s * arb(2).log()).exp(),),
    "expm1": (lambda s: s.exp() - 1,),
    "log": (lambda s: s.log(), 0),
    "log2": (lambda s: s.log() / arb(2).log(), 0),
    "log10": (lambda s: s.log() / arb(10).log(), 0),
    "log1p": (lambda s: (1 + s).log(), -1),
    "sin": (lambda s: s.sin(),),
    "cos": (lambda s: s.cos(),),
    "tan": (lambda s: s.tan(),),
    "asin": (lambda s: s.asin(), -1, 1),
    "acos": (lambda s: s.acos(), -1, 1),
    "atan": (lambda s: s.atan(),),
    "sinh": (lambda s: (s.exp() - (-s).exp()) / 2,),
    "cosh": (lambda s: (s.exp() + (-s).exp()) / 2,),
    "tanh": (_tanh,),
    "asinh": (lambda s: (s + (1 + s * s).sqrt()).log(),),
    "acosh": (lambda s: (s + (s - 1).sqrt() * (s + 1).sqrt()).log(), 1),
    "atanh": (lambda s: ((1 + s) / (1 - s)).log() / 2, -1, 1),
    "sigmoid": (_sigmoid,),
    "silu": (lambda s: s * _sigmoid(s),),
    "mish": (lambda s: s * _tanh((1 + s.exp()).log()),),
    "erf": (lambda s: s.erf(),),
    "erfc": (lambda s: s.erfc(),),
    "special_erfcx": (lambda s: (s * s).exp() * s.erfc(),),
    "special_ndtr": (_ndtr,),
    "special_log_ndtr": (lambda s: _ndtr(s).log(),),
    "special_entr": (lambda s: -s * s.log(), 0),
    "lgamma": (lambda s: s.lgamma(), 0),
    "digamma": (_digamma, 0),
}


# ---------------------------------------------------------------- Taylor's theorem


def narrowed(value: Value, middle: Value, off: arb) -> Value:
    """The same with less around it: of a function analytic in a box what it is in the ``middle``, ``off`` from it.

    Of f⁽ʲ⁾/j! each: Σ (k over j) cₖ(m) (x − m)ᵏ⁻ʲ, with the last coefficient that of all of the box.
    """
    if not isinstance(value, arb_series) or not isinstance(middle, arb_series) or middle.prec < value.prec:
        return value
    found = _by_the_middle(value, middle)(_Polynomial([off, 1]))
    return arb_series(found.coeffs(), value.prec) if _is_less(found[0], value[0]) else value


def narrowed_head(value: Value, middle: Value, off: arb) -> arb:
    """The numbers alone of what is narrowed."""
    if not isinstance(value, arb_series) or not isinstance(middle, arb_series) or middle.prec < value.prec:
        return head(value)
    found = _by_the_middle(value, middle)(off)
    return found if _is_less(found, value[0]) else value[0]


def _by_the_middle(value: arb_series, middle: arb_series) -> Any:
    last = value.prec - 1
    return _Polynomial([*(middle[k] for k in range(last)), value[last]])


def _is_less(found: arb, known: arb) -> bool:
    return bool(found.is_finite() and not found.rad() >= known.rad())


# ---------------------------------------------------------------- steps

STEPS: dict[str, Callable[[Fraction], int]] = {
    "floor": math.floor,
    "ceil": math.ceil,
    "trunc": math.trunc,
    "round": round,
}


def step(name: str, value: Value) -> Value:
    """floor, ceil or round of a value: a constant where it is the same whole number for each t."""
    number = head(value)
    if not abs(number) < _MOST_WHOLE:
        return arb.nan()
    low, high = (STEPS[name](_fraction(end)) for end in (number.lower(), number.upper()))
    return arb_series([arb(low)], TERMS) if low == high else arb(low).union(arb(high))


def _fraction(number: arb) -> Fraction:
    mantissa, exponent = number.man_exp()
    return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)
