"""A section as a scene: axes with tick labels, stripes and layers, without colours.

The pictures of the server are drawn from a ``Scene``, the figure of a page from ``scene_document``.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from math import ceil, copysign

from ..protocol.answer import CurvesAnswer
from ..schema.page import AxesRecord, AxisRecord, SceneRecord
from .axes import AxisRange, AxisRanges, Tick, axis_ranges, fitting_ticks, ticks, widest_label
from .drawn_section import DrawnSection, pole_rows, steep_places, without_poles
from .legend import axis_words, bend_words, legend_curves, stripe_label
from .traces import Layer, curves, layers, mark_layers

_LABELS = {"stacked": 4, "overlaid": 7}
FEW, MANY = (4, 14.0), (7, 25.0)  # how many labels, and their room in rem, below a narrow figure and a wide one
_LEFT = 3.6  # the least room left of the panels, in rem
_LEAST = 0.006  # the least width of a stripe, so that a single point that differs is visible
_EDGE = 1e-3  # no line of the grid is drawn along the edge of a panel
_FAR = 1e6  # heights or widths of a panel: nothing is drawn farther off


@dataclass(frozen=True)
class Axis:
    """From ``span[0]`` to ``span[1]``, with labels."""

    span: AxisRange
    words: str = ""
    ticks: tuple[Tick, ...] = ()

    def share(self, value: float) -> float:
        """The position of ``value`` on the axis: 0 at its start, 1 at its end; limited to ±10⁶."""
        low, high = self.span
        return max(-_FAR, min(_FAR, (value - low) / (high - low)))

    def shares(self, values: Iterable[float | None]) -> list[float | None]:
        """The positions of all ``values``, None of none."""
        low, high = self.span
        size = high - low
        found = (None if value is None else (value - low) / size for value in values)
        return [share if share is None or -_FAR < share < _FAR else copysign(_FAR, share) for share in found]

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


def build_scene(answer: CurvesAnswer, layout: str, held: AxisRanges | None = None) -> Scene:
    """The figure of ``answer``, panels "stacked" or "overlaid"; ``held`` are y-axes that it shares with another."""
    whole = DrawnSection.of_answer(answer)
    section = without_poles(whole)
    upper, lower = _y_axes(section, layout, held or axis_ranges(whole))
    few, many = _x_axes(section)
    widest = widest_label(upper.ticks + (lower.ticks if lower else ()))
    return Scene(
        section=section,
        few=few,
        many=many,
        upper=upper,
        lower=lower,
        left=ceil(4 * max(_LEFT, 0.7 + widest)) / 4,
        stripes=tuple(_stripe(section, interval) for interval in section.intervals),
        opacity=_opacity(section),
        layers=tuple(layers(section)),
    )


def _y_axes(section: DrawnSection, layout: str, ranges: AxisRanges) -> tuple[Axis, Axis | None]:
    words = axis_words(section.nouns, section.wrt, section.word, layout == "overlaid")
    upper, lower = (
        Axis(span, name, ticks(span, _LABELS[layout])) for span, name in zip(ranges.of(layout), words, strict=True)
    )
    return upper, None if layout == "overlaid" else lower


def _x_axes(section: DrawnSection) -> tuple[Axis, Axis]:
    across = (section.start, section.stop)
    few, many = (Axis(across, section.wrt, fitting_ticks(across, *room)) for room in (FEW, MANY))
    return few, many


def _opacity(section: DrawnSection) -> float:
    return 0.15 if section.word == "differs" else 0.055


def _stripe(section: DrawnSection, interval: AxisRange) -> AxisRange:
    low, high = interval
    more = max(0.0, _LEAST * (section.stop - section.start) - (high - low)) / 2
    return low - more, high + more


def scene_document(answer: CurvesAnswer, held: AxisRanges | None = None) -> SceneRecord:
    """The scene in both layouts as plain data, its curves by the names of their columns.

    ``gaps`` are rows in which nothing is drawn, beside poles; ``steep`` are the neighbourhoods of poles and cusps.
    """
    whole = DrawnSection.of_answer(answer)
    section, ranges = without_poles(whole), held or axis_ranges(whole)
    least = ranges if held or section.visible_implied is None else axis_ranges(whole, implied=False)
    few, many = _x_axes(section)
    return {
        "axes": {layout: _axes_document(section, layout, ranges, least) for layout in ("stacked", "overlaid")},
        "few": _ticks_document(few),
        "many": _ticks_document(many),
        "stripes": [_stripe(section, interval) for interval in section.intervals],
        "seen": list(section.seen),
        "opacity": _opacity(section),
        "curves": [(curve.name, curve.column, curve.lower, curve.rows(section)) for curve in curves(section)],
        "marks": [(layer.name, layer.lower, layer.x, layer.y) for layer in mark_layers(section)],
        "gaps": sorted(pole_rows(whole)),
        "steep": steep_places(whole),
        "nouns": section.nouns,
        "legend": {
            "curves": sorted(legend_curves(section)),
            "bends": bend_words(mark.kind for mark in section.marks) or "kink",
            "differing": stripe_label(section.word),
        },
    }


def _axes_document(section: DrawnSection, layout: str, ranges: AxisRanges, least: AxisRanges) -> AxesRecord:
    upper, lower = _y_axes(section, layout, ranges)
    return {
        "upper": _axis_document(upper, least.of(layout)[0]),
        "lower": _axis_document(lower, least.of(layout)[1]) if lower else None,
        "words": axis_words(section.nouns, section.wrt, section.word, layout == "overlaid"),
    }


def _axis_document(axis: Axis, least: AxisRange) -> AxisRecord:
    return {"range": axis.span, "least": least, "ticks": _ticks_document(axis)}


def _ticks_document(axis: Axis) -> list[tuple[float, str]]:
    return [(tick.value, tick.text) for tick in axis.ticks]
