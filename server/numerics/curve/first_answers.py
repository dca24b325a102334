"""What a section answers first, at the points of the grid, and how it is called; of that all else is worked out."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch

from ...runtime.arrays import Array
from ...runtime.batching import Batch, Known, find_batch
from ...runtime.failure import Failure, FunctionFailed
from ...runtime.reference import find_reference, is_deterministic, with_one_draw
from ...runtime.section import BackwardResult, Section
from ...runtime.symmetric_inputs import with_mirrored_element
from ...runtime.vjp import MonitoredLayout
from ..differentiation.arithmetic import precision_of
from ..differentiation.finite_differences import LadderPoints, ladder_points
from ..differentiation.quadrature import NODES, gauss_nodes
from ..linearity.laws import Linearity, above_rounding, check_linearity, screened_linearity, with_mixed_batch
from ..sampling.grid import Grid, Rows, grid_rows, thin_grid
from ..sampling.refinement import kink_sides
from ..singularities.special_points import SpecialPoint
from .curve import nan_outside_domain
from .row_values import backward_or_failure
from .section_singularities import forward_singularities

_FEW_TURNS = 8  # pattern: the points, about, at which second differences of a forward with kinks are large


@dataclass(frozen=True)
class FirstAnswers:
    """A ``section`` as it is to be called, and what it answered for ``grad_output`` at the points ``x`` of a ``grid``.

    ``y`` are the values of its ``reference`` in double precision, which forward really has to within ``precision``.
    ``in_proportion`` says that backward was seen to be for grad_outputs of all sizes; then it is also known ``inside``
    the cells between the points ``at``, where kinks are among them, what it ``answered`` there, and forward at a
    ``ladder`` around those, where that is one of the reference. ``exact`` is what backward returned in double
    precision, where that is known. ``special`` are the singularities of a forward that answers the same again, ``rows``
    those of the grid with kinks and their sides, where backward was asked for these as well.
    """

    section: Section
    reference: Section
    grid: Grid
    grad_output: float
    x: Array
    y: Array
    precision: float
    returned: BackwardResult
    failure: Failure | None
    linearity: Linearity
    deterministic: bool
    in_proportion: bool
    at: Array
    answered: BackwardResult
    inside: Array | None
    ladder: LadderPoints | None
    exact: Array | None
    special: tuple[SpecialPoint, ...]
    rows: Rows | None

    @property
    def repeats(self) -> bool:
        """Whether both forward and backward answer the same when they are asked again."""
        return self.deterministic and not self.failure and not self.linearity.breaks("repeats")


def first_answers(section: Section, grid: Grid, grad_output: float, step: float | None, known: Known) -> FirstAnswers:
    """The section with as many points in a call as it takes, and its answers at those of the ``grid``."""
    x = _snapped(section, grid)
    batch = find_batch(section, x, grad_output, known)
    section = with_mirrored_element(batch.section, x, grad_output)
    grid = thin_grid(section, grid, grad_output)
    x = _snapped(section, grid) if grid.count < x.size else x
    double = find_reference(batch if section is batch.section else Batch(section), x, grad_output)
    reference = double.section
    # In a shorter dtype other code for single numbers may round otherwise.
    mixed = double.mixed if reference.dtype == torch.float64 else None
    kinks = _kinks(section, batch, grid, x) if reference == section else None
    at = np.union1d(x, kinks.rows.x) if kinks and kinks.rows else x
    ladder = ladder_points(at, grid.span, step) if reference == section else None
    first = _first_returned(section, batch, x, at, grad_output, double, ladder)
    returned, failure, linearity = first.returned, first.failure, first.linearity
    y = reference.forward(x) if failure or reference != section else returned.values
    if failure:
        returned = BackwardResult(y)
    elif reference == section and batch.given is None:
        double = Batch(section, returned)
        y = reference.forward(x)
    deterministic = is_deterministic(double, x, y)
    if not deterministic and (same_draw := with_one_draw(section, x, grad_output)):
        section, reference, linearity = same_draw, same_draw, None
        y = section.forward(x)
        returned, failure = backward_or_failure(section, x, y, grad_output)
    if kinks and deterministic and np.array_equal(y, kinks.y):
        precision, special, rows = kinks.precision, kinks.special, kinks.rows
    else:
        precision, rows = precision_of(reference, nan_outside_domain(reference, x), x, y), None
        steady = deterministic or section.one_draw
        special = forward_singularities(section, reference, grid, precision, x, y) if steady else ()
    in_proportion = linearity is not None
    if linearity is None:
        linearity = Linearity() if failure else check_linearity(section, x, grad_output, returned)
    if deterministic and not failure:
        linearity = with_mixed_batch(linearity, mixed, grad_output)
    if section.order == 2:
        linearity = above_rounding(linearity, section, returned, grid.span)
    at, answered = (at, first.answered) if first.answered else (x, returned)
    last = failure, linearity, deterministic, in_proportion, at, answered, first.inside, first.ladder, double.gradient
    return FirstAnswers(section, reference, grid, grad_output, x, y, precision, returned, *last, special, rows)


@dataclass(frozen=True)
class _Kinks:
    """Singularities of a forward with values ``y``; where all are kinks, the ``rows`` with these and their sides."""

    y: Array
    precision: float
    special: tuple[SpecialPoint, ...]
    rows: Rows | None


def _kinks(section: Section, batch: Batch, grid: Grid, x: Array) -> _Kinks | None:
    """What there is at the points ``x`` where forward turns at few of them, as far as the ``batch`` tells of it."""
    if batch.given is None or batch.results is None or batch.section is not section:
        return None
    y = batch.results.values
    turn = np.abs(y[2:] - 2 * y[1:-1] + y[:-2])
    if not 0 < np.count_nonzero(turn > turn.max(initial=0.0) / 4) <= _FEW_TURNS:
        return None
    precision = precision_of(section, nan_outside_domain(section, x), x, y)
    special = forward_singularities(section, section, grid, precision, x, y)
    if not special or any(each.kind != "kink" for each in special):
        return _Kinks(y, precision, special, None)
    at = grid_rows(x, special)
    return _Kinks(y, precision, special, at.joined(kink_sides(section, at, special)))


def _snapped(section: Section, grid: Grid) -> Array:
    """The points of a grid in the dtype of a section; none beyond its ends, where a domain may end, if any is left."""
    if section.dtype == torch.float64:
        return grid.points()
    x = np.unique(section.snap(grid.points()))
    within = x[(grid.start <= x) & (x <= grid.stop)]
    return within if within.size > 1 else x


@dataclass(frozen=True)
class _FirstReturned:
    """What backward returned at the points of the grid, and which laws it breaks where that is known.

    Then it is also known what it ``answered`` at more points, what it returned ``inside`` the cells between those, at
    their Gauss nodes, and forward at the ``ladder``.
    """

    returned: BackwardResult
    failure: Failure | None
    linearity: Linearity | None = None
    answered: BackwardResult | None = None
    inside: Array | None = None
    ladder: LadderPoints | None = None


def _first_returned(
    section: Section, batch: Batch, x: Array, at: Array, grad_output: float, double: Batch, ladder: LadderPoints | None
) -> _FirstReturned:
    """What backward returns at the points ``x`` and others ``at`` which they are, after forward was called in between.

    That is for the ``ladder``, if any. ``double`` is the section in double precision at ``x``.
    """
    if batch.given is not None and batch.section is section:
        heights: list[Array] = []
        between = ladder.points if ladder else np.roll(x, x.size // 3)
        other = MonitoredLayout(lambda: heights.append(section.forward(between)))
        nodes = gauss_nodes(section, at[:-1], at[1:])
        try:
            found = section.backward(np.concatenate((at, nodes)), grad_output, other)
            answered = found.at(slice(at.size))
            returned = answered if at is x else answered.at(np.searchsorted(at, x))
            linearity = screened_linearity(section, x, grad_output, returned, batch, double, other)
            if linearity is not None and found.grad_input is not None:
                inside = found.grad_input[at.size :].reshape(-1, NODES.size)
                ladder = replace(ladder, values=heights[0]) if ladder else None
                return _FirstReturned(returned, None, linearity, answered, inside, ladder)
        except FunctionFailed:
            pass  # as it does then by itself
    return _FirstReturned(*backward_or_failure(section, x, np.empty(0), grad_output))
