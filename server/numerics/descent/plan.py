"""The plan of a descent: start, goal and learning rate, as asked for, as declared by the op, or chosen."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from ....ops import Descent
from ...runtime.arrays import Array
from ...runtime.failure import FunctionFailed
from ...runtime.section import Section
from .loss import Loss, backpropagate, flat_array, moved_size, output_at, position_tensor, seed_generators
from .true_gradient import TrueForward

_STEPS = 40
# The learning rate as a share of 1/slope²: where forward is straight, the distance to the goal halves in each step.
_CALM = 0.25
_NUMBERS = (5.0, 2.5, 2.0, 1.0)
# Where to begin and what to reach, as shares of the range, and the places among which the slopes are looked at.
_QUARTERS = (0.75, 0.25)
_PLACES = np.linspace(1 / 8, 7 / 8, 7)
# And those on the way to where the goal is reached, which does not lead through its middle: that may be 0.
_WAY = (0.0, 0.25, 0.75, 1.0)
# A gradient of this share of the first says nothing of how long steps may be: it is what rounding leaves of 0.
_NO_LONGER = 1e-6
# Outputs nearer to each other than this share of their size are no goal.
_SAME = 1e-6


@dataclass(frozen=True)
class DescentRequest:
    """What a question says of a descent: None where that is to be chosen. ``at`` is where the swept element starts."""

    start: float
    stop: float
    goal: tuple[float, ...] | None = None
    lr: float | None = None
    steps: int | None = None
    at: float | None = None


@dataclass(frozen=True)
class DescentPlan:
    """``start`` is flat; ``goal`` has one number for all elements of the output, or one for each."""

    start: tuple[float, ...]
    goal: tuple[float, ...]
    lr: float
    steps: int


def plan_descent(section: Section, truth: TrueForward, asked: DescentRequest) -> DescentPlan:
    """What is asked, then what the op declares, and what neither says is chosen. Raises ``FunctionFailed``.

    The goal chosen is what forward has elsewhere in the range, so that it can be reached; the learning rate is
    such that no slope on the way, neither of forward nor of backward, makes a step too long.
    """
    declared = _declared(section) or Descent()
    at = declared.at if asked.at is None else asked.at
    start = _start(section, truth, asked, at)
    y = truth.outputs(start[None])[0]
    own = (declared.goal,) if isinstance(declared.goal, float | int) else declared.goal
    goal = asked.goal or (own if own and len(own) in (1, y.size) else None)
    if goal:
        Loss(section, goal).at(position_tensor(section, start))  # refuses one that does not fit
    elsewhere = start if goal else _elsewhere(section, truth, asked, start, y)
    goal = goal or _values(truth, elsewhere, y)
    lr = asked.lr or declared.lr or _calm(section, truth, Loss(section, goal), asked, (start, elsewhere))
    return DescentPlan(tuple(start.tolist()), goal, lr, asked.steps or declared.steps or _STEPS)


def _declared(section: Section) -> Descent | None:
    """What the op says of its first look, if that is what is looked at."""
    op = section.op
    first = (op.wrt or op.inputs[0].name).partition("[")[0], (op.of or op.outputs[0]).partition("[")[0]
    return op.descent if (section.wrt, section.of) == first else None


def _start(section: Section, truth: TrueForward, asked: DescentRequest, at: float | None) -> Array:
    if moved_size(section) > 1:
        start = np.array(dict(section.inputs)[section.wrt])
        if at is not None:
            shape = next(each.shape for each in section.op.inputs if each.name == section.wrt)
            start[np.ravel_multi_index(section.wrt_index, shape)] = at
        return section.snap(start)
    if at is not None:
        return section.snap(np.array([at]))
    quarters = section.snap(asked.start + np.array(_QUARTERS) * (asked.stop - asked.start))
    steep = [_steepness(truth, place[None]) for place in quarters]
    return quarters[[int(steep[1] > steep[0])]]


def _elsewhere(section: Section, truth: TrueForward, asked: DescentRequest, start: Array, y: Array) -> Array:
    """Another position, at which the output is another one; the start where there is none."""
    span = asked.stop - asked.start
    if start.size > 1:
        shift = np.where(start + span / 4 <= asked.stop, span / 4, -span / 4)
        others = np.array([start[::-1], start + shift, asked.start + asked.stop - start])
    else:
        near = [place for share in _QUARTERS if (place := asked.start + share * span) != start[0]]
        others = np.array([*near, *(asked.start + _PLACES * span)])[:, None]
    others = section.snap(others)
    away = np.abs(truth.outputs(others) - y).max(axis=1, initial=0.0)
    away = np.where(np.isfinite(away), away, 0.0)
    enough = _SAME * float(np.abs(y).max(initial=0.0))
    first = 0 if start.size > 1 or away[0] > enough else int(away.argmax())
    found = next((row for row in (first, int(away.argmax())) if away[row] > enough), None)
    return start if found is None else np.asarray(others[found])


def _values(truth: TrueForward, elsewhere: Array, y: Array) -> tuple[float, ...]:
    """The output there; where it is the same everywhere, one that is out of reach."""
    values = truth.outputs(elsewhere[None])[0]
    if not np.isfinite(values).all():
        return (0.0,)
    values = values + 1 if np.array_equal(values, y) else values
    return (float(values[0]),) if np.ptp(values) == 0 else tuple(values.tolist())


def _calm(section: Section, truth: TrueForward, loss: Loss, asked: DescentRequest, ends: tuple[Array, Array]) -> float:
    """A learning rate of one or two digits that is stable for the steepest slope between start and goal."""
    start, elsewhere = ends
    way = [start + share * (elsewhere - start) for share in _WAY]
    if start.size == 1:
        way += [np.array([asked.start + share * (asked.stop - asked.start)]) for share in _PLACES]
    y = truth.outputs(start[None])[0]
    least, many = _NO_LONGER * float(np.linalg.norm(loss.residual(y))), y.size
    steepest = max(size for each in way for size in (_steepness(truth, each), *_returned(section, loss, each, least)))
    if not 0 < steepest < math.sqrt(np.finfo(np.float64).max):
        return _CALM * many
    most = _CALM * many / steepest**2
    decade = 10.0 ** math.floor(math.log10(most))
    return float(f"{next(each for each in _NUMBERS if each * decade <= most * (1 + _SAME)) * decade:.2g}")


def _steepness(truth: TrueForward, position: Array) -> float:
    """The spectral norm of the Jacobian of forward there, unknown slopes taken as 0."""
    y = truth.outputs(position[None])[0]
    slopes = truth.slopes(position, y).value.reshape(position.size, y.size)
    return float(np.linalg.norm(np.where(np.isfinite(slopes), slopes, 0.0), 2)) if y.size else 0.0


def _returned(section: Section, loss: Loss, position: Array, least: float) -> Iterator[float]:
    """By how much backward stretches what it is handed there: the loss's gradient, and ones of either sign.

    Next to the goal the loss's gradient has no direction: one no longer than ``least`` is not handed over.
    """
    if section.sweeps_parameter:
        return
    with suppress(FunctionFailed):  # the descent itself will say what is wrong
        for sign in (None, 1.0, -1.0):
            leaf = position_tensor(section, position).requires_grad_()
            seed_generators(0)
            y = output_at(section, leaf)
            if not loss.of(y).requires_grad:
                return
            given = loss.residual(flat_array(y)) if sign is None else np.full(y.numel(), sign)
            if np.linalg.norm(given) <= least:
                continue
            backpropagate(section, (y.reshape(-1) * y.new_tensor(given)).sum())
            if leaf.grad is not None and given.any():
                size = float(np.linalg.norm(flat_array(leaf.grad)) / np.linalg.norm(given))
                yield size if math.isfinite(size) else 0.0
