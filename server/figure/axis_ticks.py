"""Ticks of an axis: their values and labels. As in js/figure/axes.js."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import ceil, floor, log10, ulp

from ..documents.typography import power_of_ten, with_minus_sign
from .axis_range import AxisRange

_SMALL, _LARGE = 1e-3, 1e5  # beyond, the labels of an axis share a power of ten
_DECADES = (1, 2, 3, 4, 5, 10, 20, 50, 100, 200)
_NARROW = frozenset("-.·⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_LETTER = 0.47  # the width of a digit in rem, at the size of the labels


@dataclass(frozen=True)
class Tick:
    """A value on an axis, and its label."""

    value: float
    text: str


def ticks(span: AxisRange, count: float) -> tuple[Tick, ...]:
    """About ``count`` ticks within ``span``, at multiples of 1, 2 or 5 times a power of ten."""
    low, high = span
    rough = (high - low) / count
    unit = _ten_to(floor(log10(rough)))
    step = unit * (1 if rough < 1.5 * unit else 2 if rough < 3.5 * unit else 5 if rough < 7.5 * unit else 10)
    first, last = ceil(low / step - 1e-9), floor(high / step + 1e-9)
    values = [float(f"{each * step:.15g}") for each in range(first, last + 1)]
    return tuple(map(Tick, values, _labels(values, step)))


def decade_ticks(span: AxisRange, count: float) -> tuple[Tick, ...]:
    """At most ``count`` ticks for an axis of logarithms to the base of ten."""
    low, high = span
    step = next((each for each in _DECADES if (high - low) / each < count), _DECADES[-1])
    exponents = range(ceil(low / step - 1e-9) * step, floor(high / step + 1e-9) * step + 1, step)
    return tuple(Tick(float(each), decade_label(each)) for each in exponents)


def decade_label(exponent: int) -> str:
    """Ten to the ``exponent`` as a label, 1 and 10 as people write them."""
    return {0: "1", 1: "10"}.get(exponent) or power_of_ten(exponent)


def fitting_ticks(span: AxisRange, count: int, room: float) -> tuple[Tick, ...]:
    """As many ticks as have labels that fit side by side into ``room`` rem, ``count`` at most."""
    return fitting_labels(lambda many: ticks(span, many), count, room)


def fitting_labels(labels: Callable[[int], tuple[Tick, ...]], count: int, room: float) -> tuple[Tick, ...]:
    """The same of an axis that has these ``labels`` where there are to be so many."""
    found = labels(count)
    wide = widest_label(found) + 1
    return fitting_labels(labels, count - 1, room) if count > 1 and wide * len(found) > room else found


def without_shared_power(found: tuple[Tick, ...]) -> tuple[tuple[Tick, ...], str]:
    """The ticks without the power of ten that their labels share, and that power, "" where there is none."""
    power = next((tick.text.partition("·")[2] for tick in found if "·" in tick.text), "")
    return tuple(replace(tick, text=tick.text.partition("·")[0]) for tick in found), power


def widest_label(labelled: tuple[Tick, ...]) -> float:
    """The width of the widest label, in rem."""
    return _LETTER * max((sum(0.7 if sign in _NARROW else 1 for sign in tick.text) for tick in labelled), default=0.0)


def _ten_to(exponent: int) -> float:
    """10 to a power, where that would be 0 the least positive number."""
    return 10.0**exponent or ulp(0.0)


def _labels(values: list[float], step: float) -> list[str]:
    size = max(map(abs, values), default=0.0)
    if size == 0:
        return ["0" for _ in values]
    exponent = floor(log10(size) + 1e-9) if size >= _LARGE or size < _SMALL else 0
    decimals = min(100, max(0, exponent - floor(log10(step) + 1e-9)))

    def scaled(value: float) -> str:
        return with_minus_sign(f"{value / _ten_to(exponent):.{decimals}f}")

    if exponent == 0:
        return list(map(scaled, values))
    return [f"{scaled(value)}·{power_of_ten(exponent)}" if value else "0" for value in values]
