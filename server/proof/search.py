"""The search: the range is cut into boxes until in each backward and the derivative are near, or differ, or bend."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import torch
from flint import arb

from ..runtime.section import Section
from .call import Box, Enclosed, centre, enclose, lanes_of, precision
from .column import Column, Lanes, Parted, Undecided
from .comparison import Comparison, compared, floats_around
from .directions import LINES
from .enclosure import head
from .record import Held, Piece, Witness, merged

NARROW = 2.0**-39  # bound: half of the width to which a kink, a jump or an edge is enclosed
# budget: bits, and whether each step is tightened, which costs as much again
_EFFORTS = ((128, False), (128, True), (320, True), (800, True))
MOST_EFFORT = len(_EFFORTS)
_FIRST_PARTS = 8  # budget: boxes that the range is cut into before anything is known
_AT_ONCE, _ELEMENTS_AT_ONCE = 64, 1024  # budget: boxes in one call, and elements of inputs in all of them
_OF_ANY_SIZE = 16  # budget: boxes in one call, of whatever tensors, where so many can be afforded
_VALUES = 120  # budget: computed for one box, before it counts as more than one
_WIDE = 1 / 16  # bound: of the range; a box with a zero of the slope in it is no wider
_NARROWER = 1 / 64  # pattern: of the range; where such a box is not decided, each step is tightened
_ROUNDINGS = 128.0  # ulps: constants of a backward may be off by so many
_WITNESSES = (2.0**-10, 2.0**-15, 2.0**-25, 2.0**-35)  # sample: half of the width of one, of the range

Middle = tuple[float, float, float, float | None]


@dataclass
class Search:
    """What is known so far, and what is left to look at: boxes with the place of their effort.

    Of ``points`` a curve bends or leaps in each, of ``unknown`` nothing is known. ``refuted`` has how far the two
    differ in each at least, ``largest`` is a lower bound of the largest slope. ``middles`` are t, the curve and
    backward in the middle of each box that is decided. It holds for a grad_output of all ``sizes``. At an
    ``end`` of the line, 1 or -1, from ``start`` to ``stop`` goes u, and t is end / u.
    """

    section: Section
    surrogate: Callable[..., Any] | None
    grad_output: float
    start: float
    stop: float
    left: int
    sizes: Box
    end: int = 0
    held: Held | None = None
    todo: list[tuple[Box, int]] = field(default_factory=list)
    proved: list[Piece] = field(default_factory=list)
    refuted: list[tuple[float, Box]] = field(default_factory=list)
    largest: float = 0.0
    points: list[Box] = field(default_factory=list)
    unknown: list[Box] = field(default_factory=list)
    epsilon: float = 0.0
    bits: int = 0
    boxes: int = 0
    cost: float = 0.0  # of a box, as last seen; what does not depend on t is computed once for all in a call
    signed: bool = False
    mixed: bool = False
    thresholds: set[float] = field(default_factory=set)
    draws: tuple[tuple[float, ...], ...] | None = None
    middles: list[Middle] = field(default_factory=list)

    def run(self) -> None:
        """Look at boxes, many at once, until none is left or the budget is. Raises ``Undecided``."""
        width = self.stop - self.start
        parts = 1 if self.end else _FIRST_PARTS
        edges = [self.start + width * part / parts for part in range(parts)] + [self.stop]
        self.todo = [((*box, *self._range), 0) for box in pairwise(edges)]
        self._go_on()

    def confirm(self, pieces: Sequence[Piece]) -> bool:
        """Whether each of these boxes is found to be proved, with the same effort. Raises ``Undecided``."""
        self.todo, self.left = [((start, stop, *part), effort) for start, stop, effort, *part in pieces], sys.maxsize
        self._go_on()
        return sorted(self.proved) == sorted(pieces)

    def _go_on(self) -> None:
        while self.todo and self.left > 0:
            self.todo.sort(key=lambda each: (each[1], each[0][0] - each[0][1], each[0]))
            effort = self.todo[0][1]
            batch = [box for box, needed in self.todo if needed == effort][: min(self._at_once, self.left)]
            self.todo = self.todo[len(batch) :]
            with precision(_EFFORTS[effort][0]):
                self._look(batch, effort)

    @property
    def is_complete(self) -> bool:
        """Whether all is proved, and no point left out."""
        return not (self.todo or self.unknown or self.points or self.refuted)

    @property
    def _range(self) -> tuple[float, ...]:
        return (self.held.low, self.held.high) if self.held else ()

    @property
    def _at_once(self) -> int:
        elements = sum(len(values) for _, values in self.section.inputs)
        affordable = min(_OF_ANY_SIZE, int(self.left / self.cost)) if self.cost else 1
        return max(1, min(_AT_ONCE, max(affordable, _ELEMENTS_AT_ONCE // elements)) // (LINES if self.held else 1))

    def _look(self, boxes: list[Box], effort: int) -> None:
        lanes = lanes_of(boxes, _EFFORTS[effort][1], self.sizes, self.end)
        self.boxes += len(boxes)
        try:
            found = self._enclosed(lanes)
        except Parted as parted:
            self._part(boxes, effort, parted.ways, lanes)
            return
        finally:
            spent = max(len(boxes), lanes.computed // (_VALUES * lanes.lines))
            self.cost, self.left = spent / len(boxes), self.left - spent
        if self.draws not in (None, found.draws):
            raise Undecided("it draws other random numbers in each call")
        self.draws = found.draws
        self.signed |= lanes.signed
        self.mixed |= lanes.mixed
        self.thresholds |= lanes.thresholds
        for lane, box in enumerate(boxes):
            self._judge(found, lanes, lane, box, effort)

    def _part(self, boxes: list[Box], effort: int, ways_of: list[Any], lanes: Lanes) -> None:
        """Boxes that go different ways are looked at again in groups; those that go no one way are cut."""
        ways: dict[Hashable, list[Box]] = {}
        for number, (box, way) in enumerate(zip(boxes, ways_of[:: lanes.lines], strict=True)):
            if way is None:
                self._cut(box, effort, lanes.turns[number], True, number in lanes.moving)
            else:
                ways.setdefault(way, []).append(box)
        for group in ways.values():
            if len(group) < len(boxes):
                self._look(group, effort)
            else:
                self.unknown += group

    def _judge(self, found: Enclosed, lanes: Lanes, number: int, box: Box, effort: int) -> None:
        turns, lane = lanes.turns[number], number * lanes.lines
        known, middle = compared(found, lanes, number), lane + len(lanes.balls)
        if known is None or not known.is_finite:
            lost = number in lanes.moving or not (
                _are_finite(lane, found.curve, found.gradient) or _are_finite(middle, found.slope, found.gradient)
            )
            self._cut(box, effort, turns, True, lost)
            return
        self.largest = max(self.largest, float(known.slope.abs_lower()))
        wide = bool(self.end) or box[1] - box[0] > (self.stop - self.start) * _WIDE  # to the end is far from any middle
        epsilon = known.epsilon(wide)
        if epsilon is not None:
            self.epsilon, self.bits = max(self.epsilon, epsilon), max(self.bits, _EFFORTS[effort][0])
            self.proved.append((*box[:2], effort, *box[2:]))  # type: ignore[arg-type]
            self.middles.append(self._middle(box, found, middle))
        elif known.is_refuted(_ROUNDINGS * torch.finfo(self.section.dtype).eps):
            self.middles.append(self._middle(box, found, middle))
            self.refuted.append((float(known.difference.abs_lower()), box))
        elif known.is_blurred and effort + 1 < len(_EFFORTS):
            self.todo.append((box, max(effort + 1, 2)))
        else:
            self._cut(
                box,
                effort,
                [*turns, *([known.zero] if known.zero is not None else [])],
                not known.is_smooth,
                leans=known.leans,
            )

    def _enclosed(self, lanes: Lanes) -> Enclosed:
        return enclose(self.section, self.surrogate, lanes, -1 if self.grad_output < 0 else 1, self.held)

    def _middle(self, box: Box, found: Enclosed, lane: int) -> Middle:
        at = centre(box)

        def number(column: Column) -> float:
            powers = _power(abs(self.grad_output), column.degree) * _power(at, column.order)
            return float(head(column.values[lane])) * powers

        t = self.end / at if self.end else at
        held = centre(box[2:]) if self.held else None
        return t, number(found.curve), number(found.gradient) * self.grad_output, held

    def repeat(self) -> None:
        """Raises ``Undecided`` if the first box that was decided has other numbers now."""
        for known in self.middles[:1]:
            t, *_, held = known
            box = (t, t) if held is None else (t, t, held, held)
            with precision(_EFFORTS[0][0]):
                lanes = lanes_of([box], sizes=self.sizes, end=self.end)
                again = self._enclosed(lanes)
            if self._middle(box, again, lanes.lines) != known:
                raise Undecided("it returns other numbers in each call")

    def witness(self) -> Witness | None:
        """A box around the middle of the one with the largest difference, narrow enough to tell the two apart."""
        if not self.refuted:
            return None
        start, stop, *part_of_held = max(self.refuted)[1]
        at = centre(tuple(part_of_held)) if part_of_held else None
        for part in _WITNESSES:
            half = min((stop - start) / 2, (self.stop - self.start) * part)
            box = centre((start, stop)) - half, centre((start, stop)) + half
            known = self.compare(box, at)
            if known and not known.backward.overlaps(known.slope):
                given = arb(self.grad_output)
                return Witness(*box, *floats_around(known.backward * given), *floats_around(known.slope * given), at)
        return None

    def compare(self, box: Box, at: float | None = None) -> Comparison | None:
        """What is known of one box, held ``at`` a number; None where that is nothing. Raises ``Undecided``."""
        section = self.section if self.held is None or at is None else self.held.at(self.section, at)
        with precision(_EFFORTS[0][0]):
            lanes = lanes_of([box], True, (abs(self.grad_output),) * 2)
            found = enclose(section, self.surrogate, lanes, -1 if self.grad_output < 0 else 1)
            slope, gradient = (each.times_size() if each.degree else each for each in (found.slope, found.gradient))
            known = compared(replace(found, slope=slope, gradient=gradient), lanes, 0)
            return known if known is not None and known.is_finite and known.backward.is_finite() else None

    def _cut(
        self, box: Box, effort: int, turns: Iterable[arb], bent: bool, lost: bool = False, leans: bool = False
    ) -> None:
        """Cut a box at the turns in it, each enclosed narrowly, or in the middle; ``bent`` says that a curve may be.

        One that ``leans`` is cut in the middle of what is held in a range.
        """
        width = min(NARROW, NARROW * (self.stop - self.start))
        around = []
        known = [turn for turn in turns if turn.is_finite() and turn.rad() < width / 2]
        for place in (float(turn.mid()) for turn in known):
            margin = max(width, 4 * math.ulp(place))
            around.append((max(box[0], place - margin), min(box[1], place + margin)))
        around = merged(each for each in around if each[0] < each[1])
        effort = max(effort, int(box[1] - box[0] <= (self.stop - self.start) * _NARROWER))
        if box[1] - box[0] <= 2.5 * max(width, 4 * math.ulp(box[0]), 4 * math.ulp(box[1])):
            (self.points if bent and (known or not self.held) else self.unknown).append(box)
        elif around:
            ends = sorted({box[0], *(end for each in around for end in each), box[1]})
            self.todo += [((*each, *box[2:]), effort) for each in pairwise(ends)]
        elif lost:
            self.unknown.append(box)
        else:
            first, second = (box[2:], box[:2]) if leans else (box[:2], box[2:])
            middle = centre(first)
            for half in ((first[0], middle), (middle, first[1])):
                self.todo.append(((*second, *half) if leans else (*half, *second), effort))


def _are_finite(lane: int, *columns: Column) -> bool:
    return all(head(each.values[lane]).is_finite() for each in columns)


def _power(base: float, exponent: int) -> float:
    """A power, infinite where it is larger than floats are."""
    try:
        return float(base**exponent)
    except OverflowError:
        return math.inf
