"""Columns: numbers that depend on t, in many boxes at once; comparisons, and what bends or leaps with one."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from flint import arb, arb_poly, arb_series

from .enclosure import (
    TERMS,
    Value,
    add,
    applied,
    constant,
    divide,
    exact_number,
    head,
    hull,
    multiply,
    power,
    step,
    subtract,
    whole_power,
)

_MOST_STEPS = 8  # budget: leaps within one box of which each is looked for
_Polynomial: Any = arb_poly  # which has no types


class ProofSignal(BaseException):
    """Raised through the code that is looked at, which must not catch it."""


class Undecided(ProofSignal):
    """What no box will decide, however small: a method that is not known, a number that is asked for."""


class Parted(ProofSignal):
    """The lanes part here: ``ways`` has what is asked for, of each; None where that is not the same in all of a box."""

    def __init__(self, ways: list[object]) -> None:
        super().__init__()
        self.ways = ways


@dataclass
class Lanes:
    """The boxes of one run as balls, then their centres in the same order; and what is noted while it lasts.

    ``size`` is that of grad_output. Where they are ``tight``, what is computed is enclosed more narrowly, which costs
    time. ``turns`` are the places in each box at which a comparison may change; ``computed`` is how many values were.
    ``signed`` says that a comparison asked for the sign of grad_output, ``mixed`` that something is not proportional
    to it; ``thresholds`` are sizes at which a comparison with it changes.
    """

    balls: list[arb]
    centres: list[arb]
    size: arb
    tight: bool = False
    turns: list[list[arb]] = field(init=False)
    computed: int = 0
    signed: bool = False
    mixed: bool = False
    thresholds: set[float] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.turns = [[] for _ in self.balls]

    @property
    def count(self) -> int:
        """Boxes and centres."""
        return 2 * len(self.balls)

    def constant(self, number: float) -> Column:
        """The same number in each."""
        return Column(self, [constant(number)] * self.count)

    def same(self, ways: list[Any]) -> Any:
        """What is the same in all boxes. Raises ``Parted``, if it is not, or None in one."""
        if ways[0] is None or any(each != ways[0] for each in ways):
            raise Parted(ways)
        return ways[0]

    def signs(self, differences: list[Value]) -> list[int | None]:
        """1 or −1 where the difference is so for all t of a lane, 0 where it is 0 for all; else None."""
        return [self._sign(lane, each, differences) for lane, each in enumerate(differences)]

    def _sign(self, lane: int, difference: Value, differences: list[Value]) -> int | None:
        number = head(difference)
        if number > 0 or number < 0 or number.is_zero():
            return (number > 0) - (number < 0)
        if lane >= len(self.balls) or not isinstance(difference, arb_series):
            return None
        return self._newton(lane, difference[1], head(differences[lane + len(self.balls)]))

    def _newton(self, lane: int, slope: arb, at_centre: arb) -> int | None:
        """The sign where no zero is in the box; else None, and the one zero that may be there is noted.

        By the mean value theorem: 0 = d(m) + d'(η)(ξ − m) for a zero ξ, with η in the box.
        """
        if not (slope > 0 or slope < 0) or not at_centre.is_finite():
            return None
        zero = self.centres[lane] - at_centre / slope
        if zero.overlaps(self.balls[lane]):
            self.turns[lane].append(zero)
            return None
        return 1 if at_centre > 0 else -1 if at_centre < 0 else None


@dataclass(frozen=True, eq=False, slots=True)
class Column:
    """A value in each lane, times the size of grad_output to the power ``degree``."""

    lanes: Lanes
    values: list[Value]
    degree: int = 0

    def __add__(self, other: Column) -> Column:
        a, b = alike(self, other)
        return Column(self.lanes, list(map(add, a.values, b.values)), a.degree)

    def __sub__(self, other: Column) -> Column:
        a, b = alike(self, other)
        return Column(self.lanes, list(map(subtract, a.values, b.values)), a.degree)

    def __mul__(self, other: Column) -> Column:
        return Column(self.lanes, list(map(multiply, self.values, other.values)), self.degree + other.degree)

    def __truediv__(self, other: Column) -> Column:
        self.lanes.signs(other.values)  # where it is 0 is noted
        return Column(self.lanes, list(map(divide, self.values, other.values)), self.degree - other.degree)

    def __neg__(self) -> Column:
        return Column(self.lanes, [-each for each in self.values], self.degree)

    def scaled(self, number: float) -> Column:
        """Times a number."""
        return self if number == 1 else self * self.lanes.constant(number)

    def plain(self) -> Column:
        """The same as numbers alone."""
        return self if not self.degree or self.is_zero() else self.times_size(self.degree)

    def times_size(self, exponent: int) -> Column:
        """Its values times the size of grad_output to a power, as numbers alone."""
        self.lanes.mixed = True
        size = arb_series([self.lanes.size**exponent], TERMS)
        return Column(self.lanes, [multiply(each, size) for each in self.values])

    def is_zero(self) -> bool:
        """Whether it is 0 in each lane."""
        return all(truth(each) is False for each in self.values)

    def tightened(self) -> Column:
        """The same with less around it in the boxes, by Taylor's theorem at their centres."""
        half = len(self.lanes.balls)
        lanes = zip(self.values[:half], self.values[half:], self.lanes.balls, self.lanes.centres, strict=True)
        found = [_tightened(each, middle, ball - centre) for each, middle, ball, centre in lanes]
        return Column(self.lanes, found + self.values[half:], self.degree)


def _tightened(value: Value, middle: Value, off: arb) -> Value:
    """Of f⁽ʲ⁾/j! each: Σ (k over j) cₖ(m) (x − m)ᵏ⁻ʲ, with the last coefficient that of all of the box."""
    if not isinstance(value, arb_series) or not isinstance(middle, arb_series) or value.length() < 3:
        return value
    polynomial = _Polynomial([*(middle[k] for k in range(TERMS - 1)), value[TERMS - 1]])
    found = polynomial(_Polynomial([off, 1]))
    return arb_series(found.coeffs(), TERMS) if found[0].rad() < value[0].rad() else value


def alike(a: Column, b: Column) -> tuple[Column, Column]:
    """Two columns that are proportional to the same power of grad_output."""
    if a.degree == b.degree:
        return a, b
    if a.is_zero() or b.is_zero():
        degree = b.degree if a.is_zero() else a.degree
        return Column(a.lanes, a.values, degree), Column(b.lanes, b.values, degree)
    return a.plain(), b.plain()


def smooth(formula: Callable[[arb_series], arb_series], *edges: float) -> Callable[[Column], Column]:
    """A function of a column from one of series, with a note of where its domain ends."""

    def of_column(a: Column) -> Column:
        a = a.plain()
        for edge in edges:
            a.lanes.signs([subtract(each, constant(edge)) for each in a.values])
        return Column(a.lanes, [applied(formula, each) for each in a.values])

    return of_column


def raised(a: Column, b: Column) -> Column:
    """a to the b."""
    exponents = {whole_power(each) for each in b.values}
    exponent = exponents.pop() if len(exponents) == 1 else None
    if exponent is None:
        a, b = a.plain(), b.plain()
        a.lanes.signs(a.values)
    return Column(a.lanes, list(map(power, a.values, b.values)), a.degree * (exponent or 0))


# ---------------------------------------------------------------- truths: 1, 0, or between them where it is not known

_OPPOSITE = {"gt": "le", "ge": "lt", "lt": "ge", "le": "gt", "eq": "ne", "ne": "eq"}
_UNKNOWN = arb(0.5, 0.5)


def truth(value: Value) -> bool | None:
    """Whether it is not 0; None where it is not known to be one number."""
    number = exact_number(value)
    return None if number is None else not number.is_zero()


def compare(name: str, a: Column, b: Column) -> Column:
    """``a > b`` and its like, as torch names them."""
    if abs(a.degree - b.degree) == 1:
        a.lanes.thresholds |= _thresholds(a, b)
    a, b = alike(a, b)
    differences = (a - b).values
    if a.degree % 2 and name not in ("eq", "ne"):
        a.lanes.signed = True
    holds, fails = getattr(operator, name), getattr(operator, _OPPOSITE[name])
    found: list[Value] = []
    for sign, each in zip(a.lanes.signs(differences), differences, strict=True):
        known = head(each) if sign is None else sign  # an undecided one may touch 0 alone
        found.append(constant(1.0) if holds(known, 0) else constant(0.0) if fails(known, 0) else _UNKNOWN)
    return Column(a.lanes, found)


def _thresholds(a: Column, b: Column) -> set[float]:
    """Sizes of grad_output at which two columns are equal, of which one is proportional to it."""
    large, small = (a, b) if a.degree > b.degree else (b, a)
    found = [head(divide(y, x)) for x, y in zip(large.values, small.values, strict=True)]
    return {float(end) for each in found if each.is_finite() for end in (each.lower(), each.upper())}


def is_true(a: Column) -> Column:
    """Whether each is not 0."""
    if all(truth(each) is not None or each is _UNKNOWN for each in a.values):
        found = [each if each is _UNKNOWN else constant(float(bool(truth(each)))) for each in a.values]
        return Column(a.lanes, found)
    return compare("ne", a, a.lanes.constant(0.0))


def negated(a: Column) -> Column:
    """``not a``, of truths."""
    return a.lanes.constant(1.0) - a


def either(a: Column, b: Column) -> Column:
    """``a or b``, of truths."""
    return negated(negated(a) * negated(b))


def is_finite(a: Column) -> Column:
    """Whether each is a number."""
    return Column(a.lanes, [constant(1.0) if head(each).is_finite() else _UNKNOWN for each in a.values])


# ---------------------------------------------------------------- what bends or leaps


def where(condition: Column, yes: Column, no: Column) -> Column:
    """One of two, or what holds of both."""
    truths = list(map(truth, condition.values))
    if yes.degree != no.degree and len(set(truths)) == 1 and truths[0] is not None:
        return yes if truths[0] else no
    yes, no = alike(yes, no)
    lanes = zip(truths, yes.values, no.values, strict=True)
    return Column(yes.lanes, [hull(a, b) if known is None else a if known else b for known, a, b in lanes], yes.degree)


def _extreme(name: str, bound: Callable[[arb, arb], arb]) -> Callable[[Column, Column], Column]:
    def of_two(a: Column, b: Column) -> Column:
        found = where(compare(name, a, b), a, b)
        if all(isinstance(each, arb_series) for each in found.values):
            return found
        a, b = alike(a, b)
        lanes = zip(found.values, a.values, b.values, strict=True)
        return Column(
            a.lanes, [v if isinstance(v, arb_series) else bound(head(x), head(y)) for v, x, y in lanes], a.degree
        )

    return of_two


least, greatest = _extreme("le", arb.min), _extreme("ge", arb.max)


def clamp(a: Column, low: Column | None = None, high: Column | None = None) -> Column:
    """min(max(a, low), high)."""
    a = a if low is None else greatest(a, low)
    return a if high is None else least(a, high)


def absolute(a: Column) -> Column:
    """|a|."""
    found = where(compare("ge", a, a.lanes.constant(0.0)), a, -a)
    values = [v if isinstance(v, arb_series) else abs(head(x)) for v, x in zip(found.values, a.values, strict=True)]
    return Column(a.lanes, values, a.degree)


def signum(a: Column) -> Column:
    """−1, 0 or 1."""
    zero = a.lanes.constant(0.0)
    return where(is_finite(a), compare("gt", a, zero) - compare("lt", a, zero), zero / zero)


def stepped(name: str, a: Column) -> Column:
    """floor, ceil, trunc or round, with a note of where they leap."""
    a = a.plain()
    found = [step(name, each) for each in a.values]
    half = 0.5 if name == "round" else 0.0
    for place in sorted({place for each in found[: len(a.lanes.balls)] for place in _leaps(each, half)}):
        a.lanes.signs([subtract(each, constant(place)) for each in a.values])
    return Column(a.lanes, found)


def _leaps(value: Value, half: float) -> list[float]:
    if isinstance(value, arb_series) or not value.is_finite():
        return []
    low, high = float(value.lower()), float(value.upper())
    if high - low > _MOST_STEPS:
        return []
    return [round(low) + each - half for each in range(round(high - low) + 2)]
