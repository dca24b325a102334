"""What the two y-axes show. As ``ranges`` in js/figure/ranges.js."""

from __future__ import annotations

from dataclasses import dataclass

from .axis_span import Span, span
from .implied_forward import implied
from .poles import calm, without_poles
from .series import Numbers, Section


@dataclass(frozen=True)
class Sides:
    """The columns that count for an axis, those of the values and those of the slopes."""

    values: list[Numbers]
    slopes: list[Numbers]


def spans(whole: Section, overlaid: bool) -> tuple[Span, Span]:
    """The intervals of the values and of the slopes, the same where they share an axis."""
    section, quiet = without_poles(whole), calm(whole)
    bends: Numbers = [slope for mark in section.marks if mark.bent for slope in (mark.left, mark.right)]
    seen, still = _sides(section, bends), _sides(quiet, bends)
    low, high = span(seen.values, still.values)
    rise = high - low

    def in_sight(column: Numbers | None) -> list[Numbers]:
        reach = (low - rise, high + rise)
        return [[y if y is not None and reach[0] <= y <= reach[1] else None for y in column]] if column else []

    values = [*seen.values, *in_sight(implied(section.word, section.columns))]
    calm_values = [*still.values, *in_sight(implied(quiet.word, quiet.columns))]
    if overlaid:
        both = span([*values, *seen.slopes], [*calm_values, *still.slopes], zero=True)
        return both, both
    natural = (abs(whole.nouns.scale) or 1.0) * (rise / (whole.stop - whole.start))
    return span(values, calm_values), span(seen.slopes, still.slopes, zero=True, natural=natural)


def _sides(section: Section, bends: Numbers) -> Sides:
    """Numerical slopes that are too uncertain do not count."""
    judged: Numbers = [
        None if status == "undecided" else value
        for value, status in zip(section.column("numerical"), section.status, strict=False)
    ]
    slopes = [section.column("analytical"), judged, section.column("surrogate_numerical"), bends]
    return Sides([section.column("forward"), section.column("surrogate")], slopes)
