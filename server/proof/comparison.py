"""Backward and the derivative of a curve in one box: how far they are apart, by Taylor's theorem."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

from flint import arb, arb_series

from .call import Box, centre
from .enclosure import TERMS, Value, head, narrowed, subtract

EPSILONS = (1e-12, 1e-9)  # bound: of the difference, relative to the slope at its place


@dataclass(frozen=True)
class Comparison:
    """What is known in a box and in the middle of it, of the ``slope`` and of the ``gradient``, both over grad_output.

    Each is enclosed by its Taylor series at the middle.
    """

    slopes: Value
    gradient: Value
    slopes_middle: Value
    gradient_middle: Value
    box: Box

    @cached_property
    def is_smooth(self) -> bool:
        """Whether backward is analytic in the box, as the slope must be."""
        return isinstance(self.gradient, arb_series) and isinstance(self.gradient_middle, arb_series)

    @cached_property
    def slope(self) -> arb:
        """An enclosure of the slope in all of the box."""
        return self._enclosed(self.slopes, self.slopes_middle)

    @cached_property
    def backward(self) -> arb:
        """An enclosure of what backward returns in all of the box."""
        return self._enclosed(self.gradient, self.gradient_middle)

    @cached_property
    def difference(self) -> arb:
        """An enclosure of the difference of the two in all of the box."""
        return self._enclosed(self._apart, subtract(self.gradient_middle, self.slopes_middle))

    @property
    def is_finite(self) -> bool:
        """Whether anything is known in all of the box."""
        of_curve = isinstance(self.slopes, arb_series) and isinstance(self.slopes_middle, arb_series)
        if not of_curve or any(each.prec < TERMS - 1 for each in self._series()):
            return False
        return bool(self.difference.is_finite() and self.slope.is_finite())

    def _series(self) -> list[arb_series]:
        values = (self.slopes, self.gradient, self.slopes_middle, self.gradient_middle)
        return [each for each in values if isinstance(each, arb_series)]

    @property
    def is_finite_in_the_middle(self) -> bool:
        """Whether anything is known in the middle."""
        return bool(head(self.slopes_middle).is_finite() and head(self.gradient_middle).is_finite())

    def epsilon(self, wide: bool) -> float | None:
        """The share of the slope that the difference nowhere exceeds: 0, or one of ``EPSILONS``; else None.

        In a box that is not ``wide``, of a slope that may be 0 in it, it is a share of the slope at the middle. The
        larger one is taken where the difference in the middle is more than the smaller.
        """
        scale = self.slope.abs_lower()
        if not scale > 0 and not wide:
            scale = self._middle_slope
        size = self.difference.abs_upper()
        if size.is_zero():
            return 0.0
        off = self._middle_off.abs_lower() if self.is_smooth else arb(0)
        apart = bool(off > self._middle_slope * arb(EPSILONS[0]))
        return next((each for each in EPSILONS[: 1 + apart] if size <= scale * arb(each)), None)

    def is_refuted(self, share: float) -> bool:
        """Whether they differ in all of the box by more than each of ``EPSILONS``, and than this share of the slope."""
        return bool(self.difference.abs_lower() > self.slope.abs_upper() * arb(max(share, EPSILONS[-1])))

    @property
    def is_blurred(self) -> bool:
        """Whether the middle alone is not known well enough to tell, for want of bits."""
        off = self._middle_off if self.is_smooth else arb(0)
        return bool(off.contains(0) and not off.abs_upper() <= self._middle_slope * arb(EPSILONS[0]) / 16)

    def zeros(self) -> list[arb]:
        """Where the difference may change its sign, if that is one place."""
        slope = self._apart[1] if isinstance(self._apart, arb_series) else arb(0)
        if not (self.is_smooth and (slope > 0 or slope < 0)) or not self._middle_off.is_finite():
            return []
        zero = arb(centre(self.box)) - self._middle_off / slope
        return [zero] if zero.overlaps(arb(self.box[0]).union(arb(self.box[1]))) else []

    @cached_property
    def _apart(self) -> Value:
        return subtract(self.gradient, self.slopes)

    @cached_property
    def _middle_off(self) -> arb:
        return head(subtract(self.gradient_middle, self.slopes_middle))

    @cached_property
    def _middle_slope(self) -> arb:
        return head(self.slopes_middle).abs_lower()

    def _enclosed(self, value: Value, middle: Value) -> arb:
        return head(narrowed(value, middle, arb(self.box[0]).union(arb(self.box[1])) - arb(centre(self.box))))


def floats_around(ball: arb) -> tuple[float, float]:
    """Floats on both sides of a ball."""
    low, high = float(ball.lower()), float(ball.upper())
    low = low if arb(low) <= ball.lower() else math.nextafter(low, -math.inf)
    return low, high if arb(high) >= ball.upper() else math.nextafter(high, math.inf)
