"""The panels of every view that is a picture."""

from collections.abc import Callable
from typing import Any

from ..protocol.answer import Answer
from .panel import Panel
from .view_curves import area_panels, descent_panels, precision_panels, step_panels, wide_panels
from .view_maps import jacobian_panels, map_panels, surface_panels

Rows = tuple[tuple[Panel, ...], ...]


def _stacked(panels: Callable[[Any], tuple[Panel, ...]]) -> Callable[[Any], Rows]:
    """The panels of a view below each other, each a row by itself."""
    return lambda answer: tuple((panel,) for panel in panels(answer))


_ROWS: dict[str, Callable[[Any], Rows]] = {
    "area": _stacked(area_panels),
    "map": _stacked(map_panels),
    "precision": _stacked(precision_panels),
    "wide": _stacked(wide_panels),
    "step": _stacked(step_panels),
    "jacobian": lambda answer: tuple(filter(None, (jacobian_panels(answer),))),
    "surface": surface_panels,
    "descent": _stacked(descent_panels),
}


def view_rows(answer: Answer) -> Rows:
    """The rows of panels of a closer look; none where the Function failed, or nothing was measured."""
    return _ROWS[answer.header["view"]](answer) if answer.columns else ()
