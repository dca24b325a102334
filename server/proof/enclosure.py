"""Balls and Taylor series of balls: what is known of a number that depends on t, for all t of a box at once.

A *value* is an ``arb_series``, which encloses the Taylor coefficients in t at each point of the box, of a function that
is analytic there; or a bare ``arb``, which encloses the numbers alone, of a function that may bend or leap within.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from flint import arb, arb_series, ctx

Value = arb_series | arb
Truth = bool | None  # of a comparison: None where it is not the same for all t, as far as is known
TERMS = 24  # budget: coefficients of a series


@lru_cache(maxsize=4096)
def constant(number: float) -> arb_series:
    """A number of Python or torch, exactly: the binary fraction that it holds."""
    return arb_series([arb(number)], TERMS)


def head(value: Value) -> arb:
    """The enclosure of the numbers themselves."""
    return value[0] if isinstance(value, arb_series) else value


def unknown() -> arb:
    """Nothing is known. A new object each time, as each is another number."""
    return arb.nan()


def exact_number(value: Value) -> arb | None:
    """The one number that it is for each t; None where it is not known to be one."""
    number = value[0] if isinstance(value, arb_series) and value.length() <= 1 else None
    return number if number is not None and number.is_exact() and number.is_finite() else None


def is_zero(value: Value) -> bool:
    """Whether it is 0 for each t."""
    return isinstance(value, arb_series) and value.length() == 0


def hull(one: Value, other: Value) -> Value:
    """What holds of either."""
    return one if one is other else head(one).union(head(other))


# ---------------------------------------------------------------- arithmetic


def unary(of_series: Callable[[arb_series], arb_series]) -> Callable[[Value], Value]:
    """A function of values, from one of series; where that is not defined, nothing is known."""

    def applied(value: Value) -> Value:
        try:
            if not isinstance(value, arb_series):
                return of_series(arb_series([value], 1))[0]
            if value.length() <= 1 and not value[0].is_finite():  # of an infinite constant, too
                return arb_series([of_series(arb_series([value[0]], 1))[0]], TERMS)
            return of_series(value)
        except (ValueError, ZeroDivisionError):
            return unknown()

    return applied


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
    return a * b if type(a) is type(b) else head(a) * head(b)


def divide(a: Value, b: Value) -> Value:
    """a / b; nothing is known where b may be 0."""
    try:
        return a / b if type(a) is type(b) else head(a) / head(b)
    except (ValueError, ZeroDivisionError):
        return unknown()


def power(a: Value, exponent: float) -> Value:
    """a to a constant exponent: whole ones by products, others where a is positive, a root at 0 alone too."""
    if exponent == 0.5:
        return SMOOTH["sqrt"](a)
    if not float(exponent).is_integer() or abs(exponent) > 64:
        return SMOOTH["exp"](multiply(SMOOTH["log"](a), constant(exponent)))
    if exponent < 0:
        return divide(constant(1.0), power(a, -exponent))
    result: Value = constant(1.0)
    square, left = a, int(exponent)
    while left:
        result = multiply(result, square) if left & 1 else result
        left >>= 1
        square = multiply(square, square) if left else square
    return result


def general_power(a: Value, b: Value) -> Value:
    """a to the b; where b varies, of a positive a."""
    exponent = exact_number(b)
    if exponent is not None and constant(float(exponent))[0] == exponent:
        return power(a, float(exponent))
    return SMOOTH["exp"](multiply(SMOOTH["log"](a), b))


def _sigmoid(s: arb_series) -> arb_series:
    return 1 / (1 + (-s).exp())


def _tanh(s: arb_series) -> arb_series:
    return 1 - 2 / (1 + (2 * s).exp())


def _softplus(s: arb_series) -> arb_series:
    return (1 + s.exp()).log()


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


def _ln(number: int) -> arb:
    return arb(number).log()


def _root_of_half() -> arb:
    return arb(0.5).sqrt()


SMOOTH: dict[str, Callable[[Value], Value]] = {
    name: unary(formula)
    for name, formula in {
        "neg": lambda s: -s,
        "square": lambda s: s * s,
        "reciprocal": lambda s: 1 / s,
        "exp": lambda s: s.exp(),
        "exp2": lambda s: (s * _ln(2)).exp(),
        "expm1": lambda s: s.exp() - 1,
        "log": lambda s: s.log(),
        "log2": lambda s: s.log() / _ln(2),
        "log10": lambda s: s.log() / _ln(10),
        "log1p": lambda s: (1 + s).log(),
        "sqrt": lambda s: s.sqrt(),
        "rsqrt": lambda s: s.rsqrt(),
        "sin": lambda s: s.sin(),
        "cos": lambda s: s.cos(),
        "tan": lambda s: s.tan(),
        "asin": lambda s: s.asin(),
        "acos": lambda s: s.acos(),
        "atan": lambda s: s.atan(),
        "sinh": lambda s: (s.exp() - (-s).exp()) / 2,
        "cosh": lambda s: (s.exp() + (-s).exp()) / 2,
        "tanh": _tanh,
        "asinh": lambda s: (s + (1 + s * s).sqrt()).log(),
        "acosh": lambda s: (s + (s - 1).sqrt() * (s + 1).sqrt()).log(),
        "atanh": lambda s: ((1 + s) / (1 - s)).log() / 2,
        "sigmoid": _sigmoid,
        "silu": lambda s: s * _sigmoid(s),
        "mish": lambda s: s * _tanh(_softplus(s)),
        "erf": lambda s: s.erf(),
        "erfc": lambda s: s.erfc(),
        "special_erfcx": lambda s: (s * s).exp() * s.erfc(),
        "special_ndtr": lambda s: (-s * _root_of_half()).erfc() / 2,
        "special_log_ndtr": lambda s: ((-s * _root_of_half()).erfc() / 2).log(),
        "special_entr": lambda s: -s * s.log(),
        "lgamma": lambda s: s.lgamma(),
        "digamma": _digamma,
    }.items()
}


# ---------------------------------------------------------------- steps


def step(rounded: Callable[[arb], arb], value: Value) -> Value:
    """floor, ceil or round of a value: a constant where it is the same whole number for each t."""
    number = head(value)
    if not number.is_finite():
        return unknown()
    low, high = rounded(number.lower()), rounded(number.upper())
    whole = low.unique_fmpz()
    if whole is not None and whole == high.unique_fmpz():
        return constant(int(whole)) if abs(int(whole)) < 1 << 53 else arb_series([arb(whole)], TERMS)
    return low.union(high)


def half_to_even(number: arb) -> arb:
    """The nearest whole number of an exact one; of two that are as near the even one."""
    below = (number + 0.5).floor()
    tie = below - number == 0.5
    return below - 1 if tie and not (below / 2).is_integer() else below


STEPS: dict[str, Callable[[arb], arb]] = {
    "floor": lambda number: number.floor(),
    "ceil": lambda number: number.ceil(),
    "trunc": lambda number: number.floor() if number >= 0 else number.ceil(),
    "round": half_to_even,
}
