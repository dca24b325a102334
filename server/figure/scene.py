"""A section as a scene: axes with tick labels, stripes and layers, without colours.

The pictures of the server are drawn from a ``Scene``, the figure of a page from ``scene_document``.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from math import ceil, copysign

from ..protocol.answer import CurvesAnswer
from ..schema.page import AxesRecord, AxisRecord, SceneRecord
from .axes import AxisRange, AxisRanges, Tick, axis_ranges, fitting_ticks, ticks, widest_label
from .drawn_section import DrawnSection, pole_rows, steep_places, without_poles
from .legend import axis_words, bend_words, legend_curves, stripe_label
from .traces import DrawnCurve, Layer, curves, layers, mark_layers

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
        found = [None if value is None else (value - low) / size for value in values]
        return [share if share is None or -_FAR < share < _FAR else copysign(_FAR, share) for share in found]

    def inside(self, value: float) -> bool:
        """Is ``value`` between the ends, and not along an edge of the panel?"""
        return _EDGE < self.share(value) < 1 - _EDGE


@dataclass(frozen=True)
class Scene:
    """One figure. ``few`` and ``many`` are the x-axis below a narrow figure and a wide one; ``stripes`` are from where
    to where slopes differ.

    ``section`` is what is drawn of the ``whole``; ``ranges`` are those of its y-axes in either layout, ``least`` what
    they were without the curve that is implied.
    """

    whole: DrawnSection
    section: DrawnSection
    layout: str
    ranges: AxisRanges
    least: AxisRanges
    few: Axis
    many: Axis
    stripes: tuple[AxisRange, ...]
    opacity: float

    @cached_property
    def axes(self) -> dict[str, tuple[Axis, Axis | None]]:
        """The y-axes by layout: the upper one, and the lower, None when overlaid."""
        return {layout: _y_axes(self.section, layout, self.ranges) for layout in _LABELS}

    @property
    def upper(self) -> Axis:
        return self.axes[self.layout][0]

    @property
    def lower(self) -> Axis | None:
        return self.axes[self.layout][1]

    @property
    def left(self) -> float:
        """The room before the panels in rem."""
        widest = widest_label(self.upper.ticks + (self.lower.ticks if self.lower else ()))
        return ceil(4 * max(_LEFT, 0.7 + widest)) / 4

    @cached_property
    def curves(self) -> tuple[DrawnCurve, ...]:
        """The curves, from back to front."""
        return tuple(curves(self.section))

    @cached_property
    def layers(self) -> tuple[Layer, ...]:
        """The curves, areas and marks, from back to front."""
        return tuple(layers(self.section, self.curves))

    def axis(self, layer: Layer) -> Axis:
        return self.lower if layer.lower and self.lower else self.upper


def build_scene(answer: CurvesAnswer, layout: str, held: AxisRanges | None = None) -> Scene:
    """The figure of ``answer``, panels "stacked" or "overlaid"; ``held`` are y-axes that it shares with another."""
    whole = DrawnSection.of_answer(answer)
    section, ranges = without_poles(whole), held or axis_ranges(whole)
    across = (section.start, section.stop)
    few, many = (Axis(across, section.wrt, fitting_ticks(across, *room)) for room in (FEW, MANY))
    return Scene(
        whole=whole,
        section=section,
        layout=layout,
        ranges=ranges,
        least=ranges if held or section.visible_implied is None else axis_ranges(whole, implied=False),
        few=few,
        many=many,
        stripes=tuple(_stripe(section, interval) for interval in section.intervals),
        opacity=0.15 if section.word == "differs" else 0.055,
    )


def _y_axes(section: DrawnSection, layout: str, ranges: AxisRanges) -> tuple[Axis, Axis | None]:
    words = axis_words(section.nouns, section.wrt, section.word, layout == "overlaid")
    upper, lower = (
        Axis(span, name, ticks(span, _LABELS[layout])) for span, name in zip(ranges.of(layout), words, strict=True)
    )
    return upper, None if layout == "overlaid" else lower


def _stripe(section: DrawnSection, interval: AxisRange) -> AxisRange:
    low, high = interval
    more = max(0.0, _LEAST * (section.stop - section.start) - (high - low)) / 2
    return low - more, high + more


def scene_document(drawn: Scene) -> SceneRecord:
    """A scene in both layouts as plain data, its curves by the names of their columns.

    ``gaps`` are rows in which nothing is drawn, beside poles; ``steep`` are the neighbourhoods of poles and cusps.
    """
    section = drawn.section
    return {
        "axes": {layout: _axes_document(drawn, layout) for layout in ("stacked", "overlaid")},
        "few": _ticks_document(drawn.few),
        "many": _ticks_document(drawn.many),
        "stripes": list(drawn.stripes),
        "seen": list(section.seen),
        "opacity": drawn.opacity,
        "curves": [(curve.name, curve.column, curve.lower, curve.rows(section)) for curve in drawn.curves],
        "marks": [(layer.name, layer.lower, layer.x, layer.y) for layer in mark_layers(section)],
        "gaps": sorted(pole_rows(drawn.whole)),
        "steep": steep_places(drawn.whole),
        "nouns": section.nouns,
        "legend": {
            "curves": sorted(legend_curves(section)),
            "bends": bend_words(mark.kind for mark in section.marks) or "kink",
            "differing": stripe_label(section.word),
        },
    }


def _axes_document(drawn: Scene, layout: str) -> AxesRecord:
    section, least = drawn.section, drawn.least.of(layout)
    upper, lower = drawn.axes[layout]
    return {
        "upper": _axis_document(upper, least[0]),
        "lower": _axis_document(lower, least[1]) if lower else None,
        "words": axis_words(section.nouns, section.wrt, section.word, layout == "overlaid"),
    }


def _axis_document(axis: Axis, least: AxisRange) -> AxisRecord:
    return {"range": axis.span, "least": least, "ticks": _ticks_document(axis)}


def _ticks_document(axis: Axis) -> list[tuple[float, str]]:
    return [(tick.value, tick.text) for tick in axis.ticks]
