"""Ranges of the two y-axes: every finite value but what runs off to a pole, and no zoom into rounding noise."""

from collections.abc import Iterable
from dataclasses import dataclass

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
