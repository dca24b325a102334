"""The ranges of axes, with every finite value but what runs off to a pole, and no zoom into rounding noise; and their
ticks and labels, as in js/figure/axes.js.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from math import ceil, floor, log10, ulp

from ..documents.typography import power_of_ten, with_minus_sign
from ..protocol.answer import CurvesAnswer
from .drawn_section import DrawnSection, Numbers, without_pole_surroundings, without_poles

_AIR = 0.11
_BEYOND = 0.5
_NOISE = 1e-9
_LEAST, _MOST = 1e-290, 1e304  # plotly takes no longer range than 1.8e304
AxisRange = tuple[float, float]


def _span(columns: list[AxisRange], quiet: list[AxisRange], zero: bool = False, natural: float = 1.0) -> AxisRange:
    """The range of an axis for columns of these extents.

    ``zero`` includes 0; numbers below a billionth of ``natural`` count as 0. The range exceeds that of the columns
    ``quiet``, which lack the neighbourhood of poles, by half of it at most on either side.
    """
    unit = min(max(natural, _LEAST), _MOST)
    everything = _around(columns) if columns else (-unit, unit)
    low, high = _visible_range(everything, _around(quiet) if quiet else None, zero)
    low, high = max(-_MOST, min(_MOST, low)), max(-_MOST, min(_MOST, high))
    if max(abs(low), abs(high)) <= _NOISE * unit:
        low, high = -unit, unit
    if zero:
        low, high = min(low, 0.0), max(high, 0.0)
    size = max(abs(low), abs(high))
    if high - low <= _NOISE * size:
        low, high = low - size / 2, high + size / 2
    air = (high - low) * _AIR
    return low - air, high + air


def _extents(columns: Iterable[Numbers]) -> list[AxisRange]:
    """From where to where each of these columns goes, without those that have no numbers."""
    finite = [[value for value in column if value is not None] for column in columns]
    return [(min(column), max(column)) for column in finite if column]


def _visible_range(everything: AxisRange, quiet: AxisRange | None, zero: bool) -> AxisRange:
    if quiet is None:
        return everything
    low, high = (min(quiet[0], 0.0), max(quiet[1], 0.0)) if zero else quiet
    more = _BEYOND * (high - low)
    seen = max(everything[0], low - more), min(everything[1], high + more)
    return seen if seen[0] <= seen[1] else everything


@dataclass(frozen=True)
class _Sides:
    """The extents of the columns that determine the range of the value axis, and of those for the slope axis."""

    values: list[AxisRange]
    slopes: list[AxisRange]


@dataclass(frozen=True)
class AxisRanges:
    """The ranges of the value axis and of the slope axis, and of the one axis that both share when overlaid."""

    upper: AxisRange
    lower: AxisRange
    both: AxisRange

    def of(self, layout: str) -> tuple[AxisRange, AxisRange]:
        """The ranges of the upper and the lower panel; the same range twice where they share an axis."""
        return (self.both, self.both) if layout == "overlaid" else (self.upper, self.lower)


def axis_ranges(whole: DrawnSection, implied: bool = True) -> AxisRanges:
    """The ranges of the axes of a section, in either layout; with or without room for the curve that is implied."""
    section, quiet = without_poles(whole), without_pole_surroundings(whole)
    bends: Numbers = [slope for mark in section.marks if mark.bent for slope in (mark.left, mark.right)]
    seen = _sides(section, bends)
    still = seen if quiet.columns is section.columns else _sides(quiet, bends)
    low, high = _span(seen.values, still.values)
    rise = high - low

    def in_sight(column: Numbers | None) -> list[AxisRange]:
        reach = (low - rise, high + rise)
        wanted = column if implied and column and section.visible_implied else []
        return _extents([[y for y in wanted if y is not None and reach[0] <= y <= reach[1]]])

    values = [*seen.values, *in_sight(section.visible_implied)]
    calm_values = [*still.values, *in_sight(quiet.visible_implied)]
    natural = (abs(whole.nouns.scale) or 1.0) * (rise / (whole.stop - whole.start))
    return AxisRanges(
        upper=_span(values, calm_values),
        lower=_span(seen.slopes, still.slopes, zero=True, natural=natural),
        both=_span([*values, *seen.slopes], [*calm_values, *still.slopes], zero=True),
    )


def _sides(section: DrawnSection, bends: Numbers) -> _Sides:
    """The extents that determine the ranges; numerical slopes that are undecided do not count."""
    judged = section.column("numerical")
    if "undecided" in section.status:
        pairs = zip(judged, section.status, strict=False)
        judged = [None if status == "undecided" else value for value, status in pairs]
    slopes = [section.column("analytical"), judged, section.column("surrogate_numerical"), bends]
    return _Sides(_extents([section.column("forward"), section.column("surrogate")]), _extents(slopes))


def common_axis_ranges(answers: Iterable[CurvesAnswer]) -> AxisRanges | None:
    """Common ranges of the y-axes of several figures, None where nothing is drawn."""
    found = [axis_ranges(DrawnSection.of_answer(answer)) for answer in answers if answer.columns]
    if not found:
        return None
    return AxisRanges(*(_around(getattr(each, axis) for each in found) for axis in ("upper", "lower", "both")))


def _around(axes: Iterable[AxisRange]) -> AxisRange:
    lows, highs = zip(*axes, strict=True)
    return min(lows), max(highs)


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
