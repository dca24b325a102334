"""Comparisons over a box, and what bends or leaps where one changes: abs, clamp, where, sign, round.

A *column* has a value for each *lane*. The first half of the lanes are boxes of t, the second half the centres of
these boxes, in the same order.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from flint import arb, arb_poly, arb_series

from .enclosure import STEPS, TERMS, Truth, Value, constant, head, hull, step, subtract, unknown

Column = list[Value]
Truths = list[Truth]
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


@dataclass
class Lanes:
    """The boxes of one run as balls with their centres, and the places in each at which a comparison may change.

    Where they are ``tight``, what is computed is enclosed more narrowly, which costs time. ``values`` is how many were
    computed."""

    balls: list[arb]
    centres: list[arb]
    tight: bool = False
    turns: list[list[arb]] = field(default_factory=list)
    values: int = 0

    def __post_init__(self) -> None:
        self.turns = [[] for _ in self.balls]

    @property
    def count(self) -> int:
        """Boxes and centres."""
        return 2 * len(self.balls)

    def tightened(self, column: Column) -> Column:
        """The same with less around it in the boxes, by Taylor's theorem at their centres."""
        half = len(self.balls)
        pairs = zip(column[:half], column[half:], self.balls, self.centres, strict=True)
        return [*(_tightened(each, middle, ball - centre) for each, middle, ball, centre in pairs), *column[half:]]

    def signs(self, differences: Column) -> list[int | None]:
        """1 or −1 where the difference is so for all t of a lane, 0 where it is 0 for all; else None."""
        return [self._sign(lane, each, differences) for lane, each in enumerate(differences)]

    def _sign(self, lane: int, difference: Value, differences: Column) -> int | None:
        number = head(difference)
        if number > 0:
            return 1
        if number < 0:
            return -1
        if number.is_zero():
            return 0
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


_Polynomial: Any = arb_poly  # which has no types


def _tightened(value: Value, middle: Value, off: arb) -> Value:
    """Of f⁽ʲ⁾/j! each: Σ (k over j) cₖ(m) (x − m)ᵏ⁻ʲ, with the last coefficient that of all of the box."""
    if not isinstance(value, arb_series) or not isinstance(middle, arb_series) or value.length() < 3:
        return value
    polynomial = _Polynomial([*(middle[k] for k in range(TERMS - 1)), value[TERMS - 1]])
    found = polynomial(_Polynomial([off, 1]))
    return arb_series(found.coeffs(), TERMS) if found[0].rad() < value[0].rad() else value


_TRUTH: dict[str, Callable[[int], bool]] = {
    "gt": lambda sign: sign > 0,
    "ge": lambda sign: sign >= 0,
    "lt": lambda sign: sign < 0,
    "le": lambda sign: sign <= 0,
    "eq": lambda sign: sign == 0,
    "ne": lambda sign: sign != 0,
}
# What holds at an end of the box, too.
_TOUCHING: dict[str, Callable[[arb], Truth]] = {
    "gt": lambda d: False if d <= 0 else None,
    "ge": lambda d: True if d >= 0 else None,
    "lt": lambda d: False if d >= 0 else None,
    "le": lambda d: True if d <= 0 else None,
    "eq": lambda d: None,
    "ne": lambda d: None,
}


def compare(lanes: Lanes, name: str, a: Column, b: Column) -> Truths:
    """``a > b`` and its like, for each lane."""
    differences = [subtract(x, y) for x, y in zip(a, b, strict=True)]
    signs = lanes.signs(differences)
    truth, touching = _TRUTH[name], _TOUCHING[name]
    return [
        touching(head(each)) if sign is None else truth(sign) for sign, each in zip(signs, differences, strict=True)
    ]


def choose(truths: Truths, yes: Column, no: Column) -> Column:
    """``where``: one of two, or what holds of both."""
    return [hull(a, b) if truth is None else a if truth else b for truth, a, b in zip(truths, yes, no, strict=True)]


def number(truth: Truth) -> Value:
    """1 or 0; or somewhere between."""
    return arb(0.5, 0.5) if truth is None else constant(float(truth))


def numbers(truths: Truths) -> Column:
    """Ones and zeros."""
    return [number(each) for each in truths]


def both(a: Truth, b: Truth) -> Truth:
    """a and b."""
    return False if a is False or b is False else None if a is None or b is None else True


def negated(a: Truth) -> Truth:
    """not a."""
    return None if a is None else not a


def either(a: Truth, b: Truth) -> Truth:
    """a or b."""
    return negated(both(negated(a), negated(b)))


def differ(a: Truth, b: Truth) -> Truth:
    """Either a or b."""
    return None if a is None or b is None else a is not b


def least(lanes: Lanes, a: Column, b: Column) -> Column:
    """The smaller of two: no larger than either, where it is not known which."""
    return _bounded(choose(compare(lanes, "le", a, b), a, b), a, b, lambda x, y: x.min(y))


def greatest(lanes: Lanes, a: Column, b: Column) -> Column:
    """The larger of two."""
    return _bounded(choose(compare(lanes, "ge", a, b), a, b), a, b, lambda x, y: x.max(y))


def _bounded(found: Column, a: Column, b: Column, extreme: Callable[[arb, arb], arb]) -> Column:
    each = zip(found, a, b, strict=True)
    return [known if isinstance(known, arb_series) else extreme(head(x), head(y)) for known, x, y in each]


def clamp(lanes: Lanes, a: Column, low: Column | None, high: Column | None) -> Column:
    """min(max(a, low), high)."""
    a = a if low is None else greatest(lanes, a, low)
    return a if high is None else least(lanes, a, high)


def absolute(lanes: Lanes, a: Column) -> Column:
    """|a|."""
    found = choose(compare(lanes, "ge", a, zeros(lanes)), a, [subtract(constant(0.0), each) for each in a])
    return [each if isinstance(each, arb_series) else abs(head(x)) for each, x in zip(found, a, strict=True)]


def sign(lanes: Lanes, a: Column) -> Column:
    """−1, 0 or 1."""
    return [
        constant(float(each)) if each is not None else arb(0, 1) if head(x).is_finite() else unknown()
        for each, x in zip(lanes.signs(a), a, strict=True)
    ]


def stepped(lanes: Lanes, name: str, a: Column) -> Column:
    """floor, ceil, trunc or round, with a note of where they leap."""
    found = [step(STEPS[name], each) for each in a]
    half = 0.5 if name == "round" else 0.0
    places = {place for each in found[: len(lanes.balls)] for place in _leaps(each, half)}
    for place in sorted(places):
        sides = lanes.signs([subtract(each, constant(place)) for each in a])
        del sides
    return found


def _leaps(value: Value, half: float) -> list[float]:
    if isinstance(value, arb_series) or not value.is_finite():
        return []
    low, high = float(value.lower()), float(value.upper())
    if high - low > _MOST_STEPS:
        return []
    first = round(low)
    return [first + each - half for each in range(round(high - low) + 2)]


def zeros(lanes: Lanes) -> Column:
    """0 in each lane."""
    return [constant(0.0)] * lanes.count
