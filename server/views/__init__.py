"""The views: each module turns measurements into the document of one ``view=`` (a header and columns of numbers).

The measurements are in ``numerics``, ``contract`` and ``graph_view``; writing documents out is in ``documents``.
"""

from __future__ import annotations

from .area import area_view
from .common import ViewFunction
from .contract import contract_view
from .curves import curves_view
from .descent import descent_view
from .grad_output_map import grad_output_map_view
from .graph_node import graph_node_view
from .jacobian import jacobian_view
from .precision import precision_view
from .proof import proof_view
from .step_sizes import step_sizes_view
from .surface import surface_view
from .whole_range import whole_range_view

VIEW_FUNCTIONS: dict[str, ViewFunction] = {
    "curves": curves_view,
    "area": area_view,
    "map": grad_output_map_view,
    "precision": precision_view,
    "wide": whole_range_view,
    "step": step_sizes_view,
    "jacobian": jacobian_view,
    "surface": surface_view,
    "contract": contract_view,
    "proof": proof_view,
    "node": graph_node_view,
    "descent": descent_view,
}
