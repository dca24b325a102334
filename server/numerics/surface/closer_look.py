"""A closer look at the points of a plane that seem to differ, each on its line, before backward is accused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch
from numpy.typing import NDArray

from ...runtime.arrays import Array, Mask, evenly_chosen, largest_magnitude
from ...runtime.plane import Plane
from ..curve.curve import nan_outside_domain
from ..differentiation.confirmation import Closeness, Dispute, confirmed
from ..differentiation.fine_structure import contradicted
from ..differentiation.finite_differences import PointKind, Slopes
from ..differentiation.other_sign import goes_the_other_way
from ..status import Status
from ..tolerance import SIMILAR
from ..verdict.closer_look import for_all
from ..verdict.slope_judge import Statuses
from .axes import PlaneGrid
from .point_status import PlaneJudge

_MOST, _MOST_EXPENSIVE = 16, 3  # budget: at most so many points are looked at; the others follow the nearest of them


@np.errstate(all="ignore")
def look_closely(judge: PlaneJudge, plane: Plane, axis: int, status: Statuses, returned: Array) -> None:
    """Decide at the smallest scale on which forward is straight what seems to differ of what ``plane`` returned.

    As on a curve, differences miss waves and stairs that are finer than their steps. What they leave in doubt because
    forward rounds coarsely differs where that goes the other way.
    """
    if not judge.grad_output:
        return
    ground, slopes, unit = judge.ground, judge.slopes[axis], returned / judge.grad_output
    vague = np.flatnonzero((status == Status.UNDECIDED) & np.isfinite(returned) & (returned != 0))
    off = np.abs(unit - slopes.value)
    asked = (status == Status.DIFFERS) & (slopes.kind == PointKind.SMOOTH) & (off > 0) & np.isfinite(off)
    if asked.any():
        stairs = asked & _rises_as_returned(ground, axis, unit, off)
        status[stairs] = Status.UNDECIDED
        disputed = np.flatnonzero(asked & ~stairs)
        dispute = Dispute(ground.points[axis], unit, off)
        status[disputed[~_confirmed(judge, plane, axis, disputed, dispute, slopes)]] = Status.UNDECIDED
    if vague.size:
        forward, (x, y) = ground.forward_at(axis, vague), (ground.points[axis][vague], ground.values[vague])
        status[vague[goes_the_other_way(forward, x, y, unit[vague], slopes.at(vague))]] = Status.DIFFERS


def _rises_as_returned(ground: PlaneGrid, axis: int, returned: Array, off: Array) -> Mask:
    """Where forward rises to the points on either side as was returned, whatever its slope is between two of its steps.

    The steps are finer than the points then, as those of a curve may be finer than its rows.
    """
    lines, x = ground.lines(axis), ground.axis(axis)
    expected = returned[lines]
    apart = np.diff(ground.values[lines]) / np.diff(x) - (expected[:, 1:] + expected[:, :-1]) / 2
    ends = np.pad(np.abs(apart), ((0, 0), (1, 1)), mode="edge")
    follows = np.zeros(returned.size, bool)
    follows[lines] = np.maximum(ends[:, 1:], ends[:, :-1]) <= SIMILAR * off[lines]
    return follows


def _confirmed(
    judge: PlaneJudge, plane: Plane, axis: int, disputed: NDArray[np.intp], dispute: Dispute, slopes: Slopes
) -> Mask:
    """At which of these points forward contradicts what was returned, seen as closely as rounding lets."""
    if not disputed.size:
        return np.zeros(0, bool)
    chosen = evenly_chosen(disputed, _MOST_EXPENSIVE if plane.expensive else _MOST)
    chosen = np.union1d(chosen, disputed[dispute.distance[disputed].argmax()])
    holds = np.array([_is_confirmed(judge, plane, axis, dispute, slopes, point) for point in chosen])
    return for_all(disputed, chosen, holds)


def _is_confirmed(judge: PlaneJudge, plane: Plane, axis: int, dispute: Dispute, slopes: Slopes, point: np.intp) -> bool:
    ground, held = judge.ground, float(judge.ground.points[1 - axis][point])
    forward = nan_outside_domain(ground.plane.line(axis, held), ground.axis(axis))
    eps, height = torch.finfo(judge.allowance.dtype).eps, largest_magnitude(ground.values)
    closeness = Closeness(forward, slopes.step, slopes.precision, eps, height, largest_magnitude(ground.axis(axis)))
    here = dispute.at(np.array([point]))
    answer = confirmed(closeness, here)
    # What rounding hides on every scale is told by the wide steps alone.
    answer = replace(answer, contradicts=answer.contradicts | answer.hidden, plainly=answer.plainly | answer.hidden)
    return bool(contradicted(closeness, plane.line(axis, held), judge.grad_output, here, answer)[0])
