"""The picture of every view that is one."""

from __future__ import annotations

from collections.abc import Callable

from ..protocol.answer import Answer
from .view_curves import area_panels, descent_panels, precision_panels, step_panels, wide_panels
from .view_maps import jacobian_panels, map_panels, surface_panels
from .view_sheet import ViewPanel, ViewPicture

_TITLES = {
    "area": "area check",
    "map": "what backward returns for many grad_output",
    "precision": "rounding in every dtype",
    "wide": "whole range of the dtype",
    "step": "error against step size",
    "jacobian": "Jacobian",
    "surface": "two elements at once",
    "descent": "effect on gradient descent",
}
# The panels of a view below each other, and those beside each other.
_STACKED: dict[str, Callable[[Answer], tuple[ViewPanel, ...]]] = {
    "area": area_panels,
    "map": map_panels,
    "precision": precision_panels,
    "wide": wide_panels,
    "step": step_panels,
    "descent": descent_panels,
}


def view_picture(answer: Answer, footer: str) -> ViewPicture:
    """What is drawn of ``answer``: its panels, none where the Function failed."""
    header = answer.header
    view, failure = header["view"], header["failure"]
    sentence = failure["sentence"] if failure else "" if header["view"] == "curves" else header["sentence"]
    rows: tuple[tuple[ViewPanel, ...], ...] = ()
    if not answer.columns:
        rows = ()
    elif view in _STACKED:
        rows = tuple((panel,) for panel in _STACKED[view](answer))
    elif view == "surface":
        rows = surface_panels(answer)
    elif view == "jacobian":
        rows = tuple(row for row in (jacobian_panels(answer),) if row)
    return ViewPicture(f"{header['title']}: {_TITLES[view]}", sentence, rows, footer)
