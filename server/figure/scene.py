"""A section as a scene: axes with tick labels, stripes and layers, without colours. As in js/figure/figure.js."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

from ..protocol.frames import Frame
from .axis_range import AxisRange, axis_ranges
from .drawn_section import DrawnSection, without_poles
from .legend import axis_words
from .ticks import Tick, fitting_ticks, ticks, widest_label
from .traces import Layer, layers

_LABELS = {"stacked": 4, "overlaid": 7}
_FEW, _MANY = (4, 14.0), (7, 25.0)  # how many labels, and their room in rem, below a narrow figure and a wide one
_LEFT = 3.6  # the least room left of the panels, in rem
_LEAST = 0.006  # the least width of a stripe, so that a single point that differs is visible
_EDGE = 1e-3  # no line of the grid is drawn along the edge of a panel


@dataclass(frozen=True)
class Axis:
    """From ``span[0]`` to ``span[1]``, with labels."""

    span: AxisRange
    ticks: tuple[Tick, ...]
    words: str

    def share(self, value: float) -> float:
        """The position of ``value`` on the axis: 0 at its start, 1 at its end; limited to ±10⁶."""
        low, high = self.span
        return max(-1e6, min(1e6, (value - low) / (high - low)))

    def inside(self, value: float) -> bool:
        """Is ``value`` between the ends, and not along an edge of the panel?"""
        return _EDGE < self.share(value) < 1 - _EDGE


@dataclass(frozen=True)
class Scene:
    """One figure. ``few`` and ``many`` are the x-axis below a narrow figure and a wide one; ``lower`` is None when
    overlaid; ``left`` is the room before the panels in rem; ``stripes`` are from where to where slopes differ."""

    section: DrawnSection
    few: Axis
    many: Axis
    upper: Axis
    lower: Axis | None
    left: float
    stripes: tuple[AxisRange, ...]
    opacity: float
    layers: tuple[Layer, ...]

    def axis(self, layer: Layer) -> Axis:
        return self.lower if layer.lower and self.lower else self.upper


def build_scene(answer: Frame, layout: str, held: tuple[AxisRange, AxisRange] | None = None) -> Scene:
    """The figure of ``answer``, panels "stacked" or "overlaid"; ``held`` are y-axes that it shares with another."""
    whole = DrawnSection.of_answer(answer)
    section = without_poles(whole)
    overlaid = layout == "overlaid"
    above, below = held or axis_ranges(whole, overlaid)
    words = axis_words(section.nouns, section.wrt, section.word, overlaid)
    upper = Axis(above, ticks(above, _LABELS[layout]), words[0])
    lower = Axis(below, ticks(below, _LABELS[layout]), words[1])
    across = (section.start, section.stop)
    few, many = (Axis(across, fitting_ticks(across, *room), section.wrt) for room in (_FEW, _MANY))
    return Scene(
        section=section,
        few=few,
        many=many,
        upper=upper,
        lower=None if overlaid else lower,
        left=ceil(4 * max(_LEFT, 0.7 + widest_label(upper.ticks + lower.ticks))) / 4,
        stripes=tuple(_stripe(section, interval) for interval in section.intervals),
        opacity=0.15 if section.word == "differs" else 0.055,
        layers=tuple(layers(section)),
    )


def _stripe(section: DrawnSection, interval: AxisRange) -> AxisRange:
    low, high = interval
    more = max(0.0, _LEAST * (section.stop - section.start) - (high - low)) / 2
    return low - more, high + more
