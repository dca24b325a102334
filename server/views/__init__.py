"""The views: each module turns measurements into the document of one ``view=`` (a header and columns of numbers).

The measurements are in ``numerics``, ``contract`` and ``graph_view``; writing documents out is in ``documents``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..protocol.question import Question
from ..runtime.section import Section
from . import (
    area,
    contract,
    curves,
    descent,
    grad_output_map,
    graph_node,
    jacobian,
    precision,
    step_sizes,
    surface,
    whole_range,
)
from .columns import Columns

_Look = Callable[[Section, Question], tuple[dict[str, Any], Columns]]

VIEWS: dict[str, _Look] = {
    "curves": curves.look,
    "area": area.look,
    "map": grad_output_map.look,
    "precision": precision.look,
    "wide": whole_range.look,
    "step": step_sizes.look,
    "jacobian": jacobian.look,
    "surface": surface.look,
    "contract": contract.look,
    "node": graph_node.look,
    "descent": descent.look,
}
