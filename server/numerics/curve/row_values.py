"""What a section returned at the rows of its curve, and between them, calling the Function only where that is new."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ...runtime.arrays import Array
from ...runtime.failure import Failure, FunctionFailed, unless_backward_fails
from ...runtime.section import BackwardResult, Section
from ..differentiation.quadrature import NODES, gauss_nodes
from ..sampling.grid import Rows
from .integral_check import leaping_nodes


@dataclass(frozen=True)
class RowValues:
    """What a section's backward returned at the points ``x``, increasing, and its reference's forward there.

    They are those of ``rows``, once it was asked for its values ``at`` some. ``inside`` is what backward returned at
    the Gauss nodes of the cells between them, where that was asked too.
    """

    section: Section
    reference: Section
    grad_output: float
    rows: Rows
    x: Array
    y: Array
    returned: BackwardResult
    failure: Failure | None
    inside: Array | None

    def at(self, rows: Rows) -> RowValues:
        """The same at these rows, calling the Function for those only that are new."""
        x = rows.x
        place = np.minimum(np.searchsorted(self.x, x), self.x.size - 1)
        new = self.x[place] != x
        if self.failure or self.section.one_draw:
            return self._again(rows)
        y, known, inside, count = self.y[place], self.returned.at(place), self.inside, np.count_nonzero(new)
        if not count:
            return replace(self, rows=rows, x=x, y=y, returned=known, inside=inside if x.size == self.x.size else None)
        cells = np.flatnonzero(new[1:] | new[:-1] | (place[1:] - place[:-1] != 1))
        nodes = np.empty(0) if inside is None else gauss_nodes(self.section, x[cells], x[cells + 1])
        try:
            more, failure = backward_or_failure(self.section, np.concatenate((x[new], nodes)), y[new], self.grad_output)
            same = self.reference is self.section
            y[new] = more.values[:count] if same else self.reference.forward(x[new])
        except FunctionFailed:  # among so few points none may be rejected
            return self._again(rows)
        if failure or (more.grad_input is None) is not (known.grad_input is None):
            return self._again(rows)
        values, gradient = known.values, known.grad_input
        values[new] = more.values[:count]
        if gradient is not None and more.grad_input is not None:
            gradient[new] = more.grad_input[:count]
            if inside is not None:
                inside = inside[np.minimum(place[:-1], len(inside) - 1)]
                inside[cells] = more.grad_input[count:].reshape(-1, NODES.size)
        returned = BackwardResult(values, gradient, (known.none or more.none,))
        return replace(self, rows=rows, x=x, y=y, returned=returned, inside=inside)

    def looked_inside(self) -> RowValues:
        """The same, with what backward returns ``inside`` the cells, if that is not known and a call takes them all."""
        asked = self.inside is None and self.section.stacked and self.x.size > 1
        if not asked or self.failure or self.returned.grad_input is None:
            return self
        nodes = gauss_nodes(self.section, self.x[:-1], self.x[1:])
        returned, failure = backward_or_failure(self.section, nodes, self.y, self.grad_output)
        if failure or returned.grad_input is None:
            return self
        return replace(self, inside=returned.grad_input.reshape(-1, NODES.size))

    def leaps(self) -> Array:
        """Points between the rows where backward leaps; none where ``inside`` is not known."""
        gradient, inside = self.returned.grad_input, self.inside
        if gradient is None or inside is None or not inside.size or self.failure or not self.section.stacked:
            return np.empty(0)
        return leaping_nodes(self.section, self.rows, gradient, inside)

    def _again(self, rows: Rows) -> RowValues:
        y = self.reference.forward(rows.x)
        returned, failure = backward_or_failure(self.section, rows.x, y, self.grad_output)
        return replace(self, rows=rows, x=rows.x, y=y, returned=returned, failure=failure, inside=None)


def backward_or_failure(
    section: Section, x: Array, values: Array, grad_output: float
) -> tuple[BackwardResult, Failure | None]:
    """What backward returns at the points ``x``, where forward has these ``values``, and how it has failed.

    Raises ``FunctionFailed`` where forward fails.
    """
    return unless_backward_fails(lambda: section.backward(x, grad_output), lambda: BackwardResult(values))
