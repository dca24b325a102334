"""Backward and the derivative of a curve in one box: how far they are apart, by Taylor's theorem."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from flint import arb, arb_series

from .call import Enclosed
from .column import Lanes
from .directions import difference_along
from .enclosure import TERMS, Value, head, narrowed_head, subtract

EPSILONS = (1e-12, 1e-9)  # bound: of the difference, relative to the slope at its place


@dataclass(frozen=True)
class Comparison:
    """What is known in all of a box, of the ``slope``, of what ``backward`` returns and of their ``difference``.

    The first two are over grad_output. In the middle the slope is no less than ``slope_middle`` in size, and the
    difference is ``off``. What ``is_smooth`` is analytic in the box, as the slope is. A ``zero`` is where the
    difference may change its sign, if that is one place; a box that ``leans`` is better cut in what is held in a range.
    """

    slope: arb
    backward: arb
    difference: arb
    slope_middle: arb
    off: arb
    is_smooth: bool
    zero: arb | None = None
    leans: bool = False

    @property
    def is_finite(self) -> bool:
        """Whether anything is known in all of the box."""
        return bool(self.difference.is_finite() and self.slope.is_finite())

    def epsilon(self, wide: bool) -> float | None:
        """The share of the slope that the difference nowhere exceeds: 0, or one of ``EPSILONS``; else None.

        In a box that is not ``wide``, of a slope that may be 0 in it, it is a share of the slope at the middle. The
        larger one is taken where the difference in the middle is more than the smaller.
        """
        scale = self.slope.abs_lower()
        if not scale > 0 and not wide:
            scale = self.slope_middle
        size = self.difference.abs_upper()
        if size.is_zero():
            return 0.0
        apart = bool(self.off.abs_lower() > self.slope_middle * arb(EPSILONS[0]))
        return next((each for each in EPSILONS[: 1 + apart] if size <= scale * arb(each)), None)

    def is_refuted(self, share: float) -> bool:
        """Whether they differ in all of the box by more than each of ``EPSILONS``, and than this share of the slope."""
        return bool(self.difference.abs_lower() > self.slope.abs_upper() * arb(max(share, EPSILONS[-1])))

    @property
    def is_blurred(self) -> bool:
        """Whether the middle alone is not known well enough to tell, for want of bits."""
        return bool(self.off.contains(0) and not self.off.abs_upper() <= self.slope_middle * arb(EPSILONS[0]) / 16)


def compared(found: Enclosed, lanes: Lanes, number: int) -> Comparison | None:
    """What is known in one of the boxes of a run; None where a curve may bend, or not enough is known of it."""
    first = number * lanes.lines
    parts = [slice(at, at + lanes.lines) for at in (first, first + len(lanes.balls))]
    columns: list[list[list[Any]]] = [[each.values[part] for part in parts] for each in (found.slope, found.gradient)]
    slopes, gradients = columns
    if not all(map(_is_known, (*slopes[0], *slopes[1]))):
        return None
    is_smooth = all(isinstance(each, arb_series) for each in (*gradients[0], *gradients[1]))
    if is_smooth and not all(map(_is_known, (*gradients[0], *gradients[1]))):
        return None
    (slope, slope_middle), (gradient, gradient_middle) = ([some[0] for some in each] for each in (slopes, gradients))
    if lanes.held:
        return _along_lines(slopes, gradients, lanes.axis.steps[first], is_smooth)
    off = lanes.balls[number] - lanes.axis.centres[number]
    apart: Any = subtract(gradient, slope)
    apart_middle = subtract(gradient_middle, slope_middle)
    zero = None
    if is_smooth and (apart[1] > 0 or apart[1] < 0) and head(apart_middle).is_finite():
        zero = lanes.axis.centres[number] - head(apart_middle) / apart[1]
    return Comparison(
        narrowed_head(slope, slope_middle, off),
        narrowed_head(gradient, gradient_middle, off),
        narrowed_head(apart, apart_middle, off),
        head(slope_middle).abs_lower(),
        head(apart_middle) if is_smooth else arb(0),
        is_smooth,
        zero if zero is not None and zero.overlaps(lanes.balls[number]) else None,
    )


def _along_lines(slopes: list[list[Any]], gradients: list[list[Any]], step: arb, is_smooth: bool) -> Comparison:
    (backward, backward_middle), (slope, slope_middle) = (
        [head(each[0]) for each in gradients],
        [head(each[0]) / step for each in slopes],
    )
    difference, leans = backward - slope, False
    if is_smooth:
        found = difference_along(slopes, gradients, step)
        difference = found if found.is_finite() and not found.rad() >= difference.rad() else difference
        last = [each[TERMS - 2].abs_upper() for each in gradients[0]]
        leans = bool(last[len(last) // 2] > last[0])
    off = backward_middle - slope_middle if is_smooth else arb(0)
    return Comparison(slope, backward, difference, slope_middle.abs_lower(), off, is_smooth, leans=leans)


def _is_known(value: Value) -> bool:
    return isinstance(value, arb_series) and value.prec >= TERMS - 1


def floats_around(ball: arb) -> tuple[float, float]:
    """Floats on both sides of a ball."""
    low, high = float(ball.lower()), float(ball.upper())
    low = low if arb(low) <= ball.lower() else math.nextafter(low, -math.inf)
    return low, high if arb(high) >= ball.upper() else math.nextafter(high, math.inf)
