"""The picture of every view that is one."""

from __future__ import annotations

from collections.abc import Callable

from ..protocol.answer import Answer
from ..protocol.views import VIEWS
from .view_curves import area_panels, descent_panels, precision_panels, step_panels, wide_panels
from .view_maps import jacobian_panels, map_panels, surface_panels
from .view_sheet import ViewPanel, ViewPicture

_Panels = tuple[ViewPanel, ...]


def _stacked(panels: Callable[[Answer], _Panels]) -> Callable[[Answer], tuple[_Panels, ...]]:
    """The panels of a view below each other, each a row by itself."""
    return lambda answer: tuple((panel,) for panel in panels(answer))


_ROWS: dict[str, Callable[[Answer], tuple[_Panels, ...]]] = {
    "area": _stacked(area_panels),
    "map": _stacked(map_panels),
    "precision": _stacked(precision_panels),
    "wide": _stacked(wide_panels),
    "step": _stacked(step_panels),
    "jacobian": lambda answer: tuple(filter(None, (jacobian_panels(answer),))),
    "surface": surface_panels,
    "descent": _stacked(descent_panels),
}


def view_picture(answer: Answer, footer: str) -> ViewPicture:
    """What is drawn of ``answer``: its panels, none where the Function failed."""
    header = answer.header
    view, failure = header["view"], header["failure"]
    sentence = failure["sentence"] if failure else "" if header["view"] == "curves" else header["sentence"]
    rows = _ROWS[view](answer) if answer.columns else ()
    return ViewPicture(f"{header['title']}: {VIEWS[view].title}", sentence, rows, footer)
