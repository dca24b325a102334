"""The views of a section, by their names in the address."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..columns import Columns
from ..numerics.section import Section
from ..question import Question
from . import area, contract, curves, descent, jacobian, map, node, precision, step, surface, wide

Look = Callable[[Section, Question], tuple[dict[str, Any], Columns]]

VIEWS: dict[str, Look] = {
    "curves": curves.look,
    "area": area.look,
    "map": map.look,
    "precision": precision.look,
    "wide": wide.look,
    "step": step.look,
    "jacobian": jacobian.look,
    "surface": surface.look,
    "contract": contract.look,
    "node": node.look,
    "descent": descent.look,
}
