"""Columns: numbers that depend on t, in many boxes at once; comparisons, and what bends or leaps with one."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

from flint import arb, arb_series

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
    narrowed,
    power,
    step,
    subtract,
    whole_power,
)

_MOST_STEPS = 8  # budget: leaps within one box of which each is looked for


class ProofSignal(BaseException):
    """Raised through the code that is looked at, which must not catch it."""


class Undecided(ProofSignal):
    """What no box will decide, however small: a method that is not known, a number that is asked for."""


class Parted(ProofSignal):
    """The lanes part here: ``ways`` has what is asked for, of each; None where that is not the same in all of a box."""

    def __init__(self, ways: list[object]) -> None:
        super().__init__()
        self.ways = ways


class Uniform(list[Value]):
    """The values of lanes that all have the same, as of what does not depend on t."""


def lanewise(function: Callable[..., Any], *rows: Iterable[Any]) -> list[Any]:
    """What a function makes of the values of each lane; once, where each row has the same in all."""
    if all(type(row) is Uniform for row in rows):
        return Uniform([function(*(row[0] for row in rows))] * len(rows[0]))  # type: ignore[arg-type, index]
    return list(map(function, *rows))


@dataclass(frozen=True)
class Axis:
    """A number: its ball in each lane, the centres of these, and how far it goes along the direction of the lane."""

    balls: list[arb]
    centres: list[arb]
    steps: list[arb]

    @cached_property
    def series(self) -> list[Value]:
        """It, as series along the directions: first of the balls, then of the centres."""
        return [arb_series(list(each), TERMS) for each in zip(self.balls + self.centres, self.steps * 2, strict=True)]


@dataclass
class Lanes:
    """The boxes of one run as balls, then their centres in the same order; and what is noted while it lasts.

    Of what is swept there is an ``axis``, and one of what is ``held`` in a range: then each box has as many lanes as
    there are ``lines`` through it, in one direction each. ``size`` is that of grad_output. At an ``end`` of the line, 1
    or -1, the boxes are of u > 0, and x = end / u. Where they are ``tight``, what is computed is enclosed more
    narrowly, which costs time. ``turns`` are the places in each box at which a comparison may change; where its place
    moves over all of a box, that is ``moving``. ``computed`` is how many values were. ``signed`` says that a comparison
    asked for the sign of grad_output, ``mixed`` that something is not proportional to it; ``thresholds`` are sizes at
    which a comparison with it changes.
    """

    axis: Axis
    size: arb
    tight: bool = False
    end: int = 0
    held: Axis | None = None
    lines: int = 1
    turns: list[list[arb]] = field(init=False)
    moving: set[int] = field(default_factory=set)
    computed: int = 0
    signed: bool = False
    mixed: bool = False
    thresholds: set[float] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.balls = self.axis.balls
        self.turns = [[] for _ in self.balls[:: self.lines]]

    @property
    def count(self) -> int:
        """Lanes of boxes and of their centres."""
        return 2 * len(self.balls)

    def constant(self, number: float) -> Column:
        """The same number in each."""
        return Column(self, Uniform([constant(number)] * self.count))

    def swept(self) -> Column:
        """The number that is swept."""
        return self.constant(self.end).times_u(-1) if self.end else Column(self, list(self.axis.series))

    def ranging(self) -> Column:
        """The number that is held in a range."""
        assert self.held is not None
        return Column(self, list(self.held.series))

    def same(self, ways: list[Any]) -> Any:
        """What is the same in all boxes. Raises ``Parted``, if it is not, or None in one."""
        if ways[0] is None or any(each != ways[0] for each in ways):
            raise Parted(ways)
        return ways[0]

    def signs(self, differences: list[Value]) -> list[int | None]:
        """1 or −1 where the difference is so for all t of a lane, 0 where it is 0 for all; else None."""
        found: list[int | None] = lanewise(_sign, differences)
        if None not in found:
            return found
        found = list(found)
        for lane in (lane for lane, sign in enumerate(found) if sign is None):
            first = lane - lane % self.lines
            if lane > first:
                found[lane] = found[first]
            elif lane < len(self.balls):
                found[lane] = self._newton(lane, differences)
        return found

    def _newton(self, lane: int, differences: list[Value]) -> int | None:
        """The sign where no zero is in the box; else None, and the one zero that may be there is noted.

        By the mean value theorem: 0 = d(m) + ∂d/∂ξ ξ + ∂d/∂η η for a zero, with the derivatives somewhere in the box.
        """
        along, across = differences[lane], differences[lane + self.lines // 2] if self.held else constant(0.0)
        at_centre = head(differences[lane + len(self.balls)])
        if not (isinstance(along, arb_series) and isinstance(across, arb_series)) or not at_centre.is_finite():
            return None
        slope = along[1]
        if not (slope > 0 or slope < 0):
            return None
        zero = self.axis.centres[lane] - self.axis.steps[lane] * (at_centre + across[1] * arb(0, 1)) / slope
        if across[1].abs_lower() > slope.abs_upper() + at_centre.abs_upper():
            self.moving.add(lane // self.lines)
        if zero.overlaps(self.balls[lane]):
            self.turns[lane // self.lines].append(zero)
            return None
        return 1 if at_centre > 0 else -1 if at_centre < 0 else None


def _sign(value: Value) -> int | None:
    number = head(value)
    return (number > 0) - (number < 0) if number > 0 or number < 0 or number.is_zero() else None


@dataclass(frozen=True, eq=False, slots=True)
class Column:
    """A value in each lane, times the size of grad_output to the power ``degree``, times u to the power ``order``."""

    lanes: Lanes
    values: list[Value]
    degree: int = 0
    order: int = 0

    def __add__(self, other: Column) -> Column:
        a, b = alike(self, other)
        return a.with_values(lanewise(add, a.values, b.values))

    def __sub__(self, other: Column) -> Column:
        a, b = alike(self, other)
        return a.with_values(lanewise(subtract, a.values, b.values))

    def __mul__(self, other: Column) -> Column:
        values = next((a.values for a, b in ((self, other), (other, self)) if a._vanishes_beside(b)), None)
        values = lanewise(multiply, self.values, other.values) if values is None else values
        return Column(self.lanes, values, self.degree + other.degree, self.order + other.order)

    def _vanishes_beside(self, other: Column) -> bool:
        """Whether it is 0 by what it was made of, and so is its product with the other, which is finite."""
        zero = type(self.values) is Uniform and truth(self.values[0]) is False
        return zero and all(head(each).is_finite() for each in other.values)

    def __truediv__(self, other: Column) -> Column:
        self.lanes.signs(other.values)  # where it is 0 is noted
        values = lanewise(divide, self.values, other.values)
        return Column(self.lanes, values, self.degree - other.degree, self.order - other.order)

    def __neg__(self) -> Column:
        return self.with_values(lanewise(operator.neg, self.values))

    def with_values(self, values: list[Value]) -> Column:
        """Other values, times the same powers."""
        return Column(self.lanes, values, self.degree, self.order)

    def scaled(self, number: float) -> Column:
        """Times a number."""
        return self if number == 1 else self * self.lanes.constant(number)

    def times_u(self, order: int) -> Column:
        """Times u to a power."""
        return replace(self, order=self.order + order)

    def plain(self) -> Column:
        """The same as numbers alone."""
        if (not self.degree and not self.order) or self.is_zero():
            return Column(self.lanes, self.values)
        found = self.lowered(0) if self.order >= 0 else self.with_values(lanewise(_unknown, self.values))
        return replace(found.times_size() if self.degree else found, order=0)

    def times_size(self) -> Column:
        """With the size of grad_output in its values."""
        self.lanes.mixed = True
        size = arb_series([self.lanes.size**self.degree], TERMS)
        return Column(self.lanes, lanewise(lambda each: multiply(each, size), self.values), 0, self.order)

    def lowered(self, order: int) -> Column:
        """With a smaller power of u, and the rest of it in its values."""
        values = self.values
        for _ in range(self.order - order):
            values = lanewise(multiply, values, self.lanes.axis.series)
        return Column(self.lanes, values, self.degree, order)

    def derivative(self) -> Column:
        """That with respect to what is swept; unknown where it may bend."""
        found = self.with_values(lanewise(_derivative, self.values))
        if not self.lanes.end:
            return found
        found = found.times_u(2)  # du/dx = -end · u²
        return (found + self.scaled(self.order).times_u(1) if self.order else found).scaled(-self.lanes.end)

    def is_zero(self) -> bool:
        """Whether it is 0 in each lane."""
        return not any(each is not False for each in lanewise(truth, self.values))

    def tightened(self) -> Column:
        """The same with less around it in the boxes, by Taylor's theorem at their centres."""
        if type(self.values) is Uniform:
            return self
        half = len(self.lanes.balls)
        lanes = zip(self.values[:half], self.values[half:], self.lanes.balls, self.lanes.axis.centres, strict=True)
        found = [
            narrowed(each, middle, ball - centre) if isinstance(each, arb_series) and each.length() > 2 else each
            for each, middle, ball, centre in lanes
        ]
        return self.with_values(found + self.values[half:])


def _unknown(_: Value) -> Value:
    return arb.nan()


def _derivative(value: Value) -> Value:
    return value.derivative() if isinstance(value, arb_series) else arb.nan()


def alike(a: Column, b: Column) -> tuple[Column, Column]:
    """Two columns that are proportional to the same powers."""
    if (a.degree, a.order) == (b.degree, b.order):
        return a, b
    if a.is_zero() or b.is_zero():
        like = b if a.is_zero() else a
        return like.with_values(a.values), like.with_values(b.values)
    if a.degree != b.degree:
        a, b = (each.times_size() if each.degree else each for each in (a, b))
    order = min(a.order, b.order)
    return a.lowered(order), b.lowered(order)


def _less(a: Column, number: float) -> list[Value]:
    return lanewise(lambda each: subtract(each, constant(number)), a.values)


def smooth(formula: Callable[[arb_series], arb_series], *edges: float) -> Callable[[Column], Column]:
    """A function of a column from one of series, with a note of where its domain ends."""

    def of_column(a: Column) -> Column:
        a = a.plain()
        for edge in edges:
            a.lanes.signs(_less(a, edge))
        return Column(a.lanes, lanewise(partial(applied, formula), a.values))

    return of_column


def raised(a: Column, b: Column) -> Column:
    """a to the b."""
    b = b.plain()
    exponents = {whole_power(each) for each in b.values}
    exponent = exponents.pop() if len(exponents) == 1 else None
    if exponent is None:
        a = a.plain()
        a.lanes.signs(a.values)
    values = lanewise(power, a.values, b.values)
    return Column(a.lanes, values, a.degree * (exponent or 0), a.order * (exponent or 0))


def root(a: Column) -> Column:
    """The square root."""
    a = a if a.degree % 2 == a.order % 2 == 0 else a.plain()
    a.lanes.signed |= bool(a.degree)  # that of grad_output squared is its size
    a.lanes.signs(a.values)
    return Column(a.lanes, lanewise(partial(applied, arb_series.sqrt), a.values), a.degree // 2, a.order // 2)


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

    def decided(sign: int | None, difference: Value) -> Value:
        known = head(difference) if sign is None else sign  # an undecided one may touch 0 alone
        return constant(1.0) if holds(known, 0) else constant(0.0) if fails(known, 0) else _UNKNOWN

    return Column(a.lanes, lanewise(decided, a.lanes.signs(differences), differences))


def _thresholds(a: Column, b: Column) -> set[float]:
    """Sizes of grad_output at which two columns are equal, of which one is proportional to it."""
    large, small = (a, b) if a.degree > b.degree else (b, a)
    found = [head(divide(y, x)) for x, y in zip(large.values, small.values, strict=True)]
    return {float(end) for each in found if each.is_finite() for end in (each.lower(), each.upper())}


def is_true(a: Column) -> Column:
    """Whether each is not 0."""
    return compare("ne", a, a.lanes.constant(0.0))


def negated(a: Column) -> Column:
    """``not a``, of truths."""
    return a.lanes.constant(1.0) - a


def either(a: Column, b: Column) -> Column:
    """``a or b``, of truths."""
    return negated(negated(a) * negated(b))


def is_finite(a: Column) -> Column:
    """Whether each is a number."""
    return Column(a.lanes, lanewise(lambda each: constant(1.0) if head(each).is_finite() else _UNKNOWN, a.values))


# ---------------------------------------------------------------- what bends or leaps


def where(condition: Column, yes: Column, no: Column) -> Column:
    """One of two, or what holds of both."""
    truths = lanewise(truth, condition.values)
    if len(set(truths)) == 1 and truths[0] is not None:
        return yes if truths[0] else no
    yes, no = alike(yes, no)

    def chosen(known: bool | None, a: Value, b: Value) -> Value:
        return hull(a, b) if known is None else a if known else b

    return yes.with_values(lanewise(chosen, truths, yes.values, no.values))


def _within(found: Column, bounds: list[arb]) -> Column:
    """What was found, and where it may bend the bounds instead."""
    return found.with_values(lanewise(lambda v, b: v if isinstance(v, arb_series) else b, found.values, bounds))


def _extreme(name: str, bound: Callable[[arb, arb], arb]) -> Callable[[Column, Column], Column]:
    def of_two(a: Column, b: Column) -> Column:
        found = where(compare(name, a, b), a, b)
        if all(isinstance(each, arb_series) for each in found.values):
            return found
        a, b = alike(a, b)
        return _within(found, lanewise(bound, lanewise(head, a.values), lanewise(head, b.values)))

    return of_two


least, greatest = _extreme("le", arb.min), _extreme("ge", arb.max)


def clamp(a: Column, low: Column | None = None, high: Column | None = None) -> Column:
    """min(max(a, low), high)."""
    a = a if low is None else greatest(a, low)
    return a if high is None else least(a, high)


def absolute(a: Column) -> Column:
    """|a|."""
    return _within(where(compare("ge", a, a.lanes.constant(0.0)), a, -a), lanewise(lambda v: abs(head(v)), a.values))


def signum(a: Column) -> Column:
    """−1, 0 or 1."""
    zero = a.lanes.constant(0.0)
    return where(is_finite(a), compare("gt", a, zero) - compare("lt", a, zero), zero / zero)


def stepped(name: str, a: Column) -> Column:
    """floor, ceil, trunc or round, with a note of where they leap."""
    a = a.plain()
    found = lanewise(partial(step, name), a.values)
    half = 0.5 if name == "round" else 0.0
    for place in sorted({place for each in found[: len(a.lanes.balls)] for place in _leaps(each, half)}):
        a.lanes.signs(_less(a, place))
    return Column(a.lanes, found)


def _leaps(value: Value, half: float) -> list[float]:
    if isinstance(value, arb_series) or not value.is_finite():
        return []
    low, high = float(value.lower()), float(value.upper())
    if high - low > _MOST_STEPS:
        return []
    return [round(low) + each - half for each in range(round(high - low) + 2)]
