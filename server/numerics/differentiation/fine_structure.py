"""The fine structure that explains a contradiction: waves, stairs, and steps below what differences can see.

A slope that is measured is a mean over a step. It contradicts what was returned at a point only if neither forward nor
what is returned moves within that step.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...runtime.arrays import EPSILON, Array, Forward, Mask, consecutive_differences
from ...runtime.failure import FunctionFailed
from ...runtime.section import Section
from ..tolerance import SIMILAR
from .confirmation import FLOAT32_STEP, Answer, Closeness, Dispute

_NEIGHBOURS = 8  # sample: so many numbers on either side tell whether a gradient is but noise
# budget: the windows around a point in which backward is averaged, each a fourth (a sample) of the last, and the nodes
# of C. F. Gauss in each; bound: a wave makes it vary by at least this share of what is contested, and swing (a pattern)
# about its trend so often.
_WINDOWS, _NODES, _WAVES, _SWINGS = 8, 64, 0.5, 6
# pattern: a wave that is resolved swings so often at least and at most; noise swings at every second node.
_RESOLVED = 4, _NODES // 4
_GAUSS = np.polynomial.legendre.leggauss(_NODES)
_PIECES = 64  # budget: so many pieces of forward around x are compared with what is returned on each
# bound: on a staircase most rise as returned. They are so small a share of the least step that rounding could hide
# what is disputed, at its bound, but hardly ever does.
_STAIR = 1 / 16
_FLOAT32_STEPS = 1, 2, 4, 8, 16, 32  # sample: windows are so many steps of float32 wide


def contradicted(closeness: Closeness, section: Section, grad_output: float, dispute: Dispute, answer: Answer) -> Mask:
    """Where forward contradicts what backward returned for ``grad_output``, and no fine structure explains that.

    Where each point costs a call, of that only the noise of what is returned is asked for.
    """
    against, returned_at = answer.contradicts.copy(), returned_for(section, grad_output)
    asked = np.flatnonzero(against)
    against[asked[wavers(returned_at, dispute.at(asked), closeness.eps)]] = False
    asked = np.flatnonzero(against)
    if asked.size and section.stacked:
        explained = _explained_by_structure(closeness.at(asked), returned_at, dispute.at(asked), answer.at(asked))
        against[asked[explained]] = False
    return against


def returned_for(section: Section, grad_output: float) -> Forward:
    """What backward returns for ``grad_output``, for a unit of it; NaN where it takes none of the points."""

    def returned_at(x: Array) -> Array:
        try:
            return section.gradient(section.snap(x), grad_output) / grad_output if x.size else np.empty(0)
        except FunctionFailed:
            return np.full(x.size, np.nan)

    return returned_at


def wavers(returned_at: Forward, dispute: Dispute, eps: float) -> Mask:
    """Whether what is returned changes from one number of a short dtype to the next by as much as is disputed."""
    if eps <= 2 * EPSILON or not dispute.x.size:
        return np.zeros(dispute.x.size, bool)
    steps = eps * np.arange(1, _NEIGHBOURS + 1)[:, None]
    points = np.stack((dispute.x * (1 + steps), dispute.x * (1 - steps)))
    returned = returned_at(points.ravel()).reshape(points.shape)
    changes: Mask = (np.ptp(returned, axis=1) >= dispute.distance / 2).all(axis=0)
    return changes


@np.errstate(all="ignore")
def _explained_by_structure(closeness: Closeness, returned_at: Forward, dispute: Dispute, answer: Answer) -> Mask:
    """Which disputes, in which forward contradicts, waves, stairs or steps of float32 explain."""
    width = np.maximum(_STAIR * answer.least, closeness.eps * np.abs(dispute.x))
    around = _pieces(closeness, returned_at, dispute.x, width)
    explained = np.median(np.abs(around.slopes - around.means), axis=0) <= SIMILAR * dispute.distance  # a staircase
    if (vague := np.flatnonzero(answer.vaguely & ~explained)).size:
        explained[vague] = _follows_over_float32(closeness.at(vague), returned_at, dispute.at(vague))
    bend = around.bend(dispute.returned)
    explained &= around.alone(dispute.returned) <= SIMILAR * dispute.distance
    waves = ~answer.plainly | (np.abs(bend[: round(2 / _STAIR)]) >= _WAVES * dispute.distance).any(axis=0)
    if (waving := np.flatnonzero(waves & ~explained)).size:
        explained[waving] = _averages(closeness.at(waving), returned_at, dispute.at(waving), answer.at(waving))
    return explained


def _averages(closeness: Closeness, returned_at: Forward, dispute: Dispute, answer: Answer) -> Mask:
    """Whether what is returned varies around x by as much as is disputed, and is on average what forward rises by.

    That is asked of steps on which forward contradicts. Where it is plainly straight, it has to be a wave that is
    resolved, and no noise.
    """
    x, nodes = dispute.x, _GAUSS[0][:, None, None]
    widths = np.maximum(answer.widest * 4.0 ** -np.arange(_WINDOWS)[:, None], 64 * closeness.eps * np.abs(x))
    returned = returned_at((x + widths * nodes).ravel()).reshape(_NODES, *widths.shape)
    weighted = _GAUSS[1][:, None, None] * returned
    mean, trend = weighted.sum(axis=0) / 2, 3 * (weighted * nodes).sum(axis=0) / 2
    waves = returned - mean - trend * nodes
    varies = np.median(np.abs(waves), axis=0) >= _WAVES * dispute.distance
    swings = np.count_nonzero(waves[1:] * waves[:-1] < 0, axis=0)
    varies &= np.where(answer.plainly, (_RESOLVED[0] <= swings) & (swings <= _RESOLVED[1]), swings >= _SWINGS)
    above, below = closeness.forward(np.concatenate((x + widths, x - widths)).ravel()).reshape(2, *widths.shape)
    alike: Mask = np.abs((above - below) / (2 * widths) - mean) <= SIMILAR * dispute.distance
    averages: Mask = (varies & alike).any(axis=0)
    return averages


def _follows_over_float32(closeness: Closeness, returned_at: Forward, dispute: Dispute) -> Mask:
    """Whether over several steps of float32 forward rises as was returned there, whatever its slope is on one."""
    width = FLOAT32_STEP * closeness.reach / _PIECES * np.array(_FLOAT32_STEPS)[:, None] * np.ones(dispute.x.size)
    around = _pieces(closeness, returned_at, np.tile(dispute.x, len(_FLOAT32_STEPS)), width.ravel())
    places = (np.arange(_PIECES) + 0.5) / (_PIECES / 2) - 1
    weights = (1 - places**2) / (1 - places**2).sum()  # of least squares: a step at an end counts for nothing
    left = around.slopes - around.means
    left[2 * np.abs(left) > np.abs(left).sum(axis=0)] = 0.0  # where forward jumps: off by more than all others together
    off, mean = (np.abs(weights @ each).reshape(width.shape) for each in (left, around.means))
    # Where a wave averages to nothing, so does what is wrong by a share of it.
    share = np.minimum(mean / np.abs(dispute.returned), 1.0)
    alone = around.alone(np.tile(dispute.returned, len(_FLOAT32_STEPS))).reshape(width.shape)
    limit = SIMILAR * dispute.distance
    explained: Mask = ((off <= limit * share) & (alone <= limit)).any(axis=0)
    return explained


@dataclass(frozen=True)
class _Pieces:
    """Pieces of forward around x: their ``slopes``, the ``means`` of what is returned on each, and that at their ends
    and in their middles.
    """

    slopes: Array
    means: Array
    returned: Array

    def bend(self, at_x: Array) -> Array:
        """How far the mean of what is returned on both sides is off what is at x, by the distance from x."""
        bend: Array = (self.returned[_PIECES + 1 :] + self.returned[_PIECES - 1 :: -1]) / 2 - at_x
        return bend

    def alone(self, at_x: Array) -> Array:
        """How far off is what is returned at x alone: the bend at no distance, extrapolated from one and two pieces."""
        bend = self.bend(at_x)
        alone: Array = np.abs(4 * bend[1] - bend[3]) / 3
        return alone


def _pieces(closeness: Closeness, returned_at: Forward, x: Array, width: Array) -> _Pieces:
    points = x + width * (np.arange(2 * _PIECES + 1) / 2 - _PIECES / 2)[:, None]
    returned, edges = returned_at(points.ravel()).reshape(points.shape), points[::2]
    rises = consecutive_differences(closeness.forward(edges.ravel()).reshape(edges.shape))
    simpson = (returned[:-1:2] + 4 * returned[1::2] + returned[2::2]) / 6
    return _Pieces(rises / consecutive_differences(edges), simpson, returned)
