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
from .columns import ColumnArrays

_Look = Callable[[Section, Question], tuple[dict[str, Any], ColumnArrays]]

VIEW_FUNCTIONS: dict[str, _Look] = {
    "curves": curves.curves_view,
    "area": area.area_view,
    "map": grad_output_map.grad_output_map_view,
    "precision": precision.precision_view,
    "wide": whole_range.whole_range_view,
    "step": step_sizes.step_sizes_view,
    "jacobian": jacobian.jacobian_view,
    "surface": surface.surface_view,
    "contract": contract.contract_view,
    "node": graph_node.graph_node_view,
    "descent": descent.descent_view,
}
