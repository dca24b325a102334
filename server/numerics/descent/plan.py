"""The plan of a descent: start, goal and learning rate, as asked for, as declared by the op, or by a simple rule."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from functools import partial

import numpy as np

from ....ops import Descent
from ...protocol.question import Question
from ...runtime.arrays import Array
from ...runtime.section import Section
from ..tolerance import ALIKE_SHARE
from .loss import Loss, position_tensor
from .true_gradient import TrueForward

_STEPS = 40  # budget: the steps where neither question nor op says how many
# sample: the learning rate times slope²: where forward is straight, the distance to the goal halves in each step.
_STABLE_RATE = 0.25
# sample: the places of a range, as shares of it: a single number begins at that of the first two where forward is
# steeper, its goal is what forward has at the first where it has another value; at all of them slopes are looked for.
_SHARES = np.array([6, 2, 1, 7, 3, 5, 4]) / 8
_WAYS = 1.0, 0.75, 0.25  # sample: the same of the ways that a tensor may go; not the middle of one, for that may be 0


@dataclass(frozen=True)
class DescentPlan:
    """``start`` is flat; ``goal`` has one number for all elements of the output, or one for each."""

    start: tuple[float, ...]
    goal: tuple[float, ...]
    lr: float
    steps: int


def plan_descent(section: Section, truth: TrueForward, question: Question) -> DescentPlan:
    """What is asked, then what the op declares, and what neither says is chosen. Raises ``FunctionFailed``.

    The goal chosen is what forward has elsewhere in the range, so that it can be reached; the learning rate is such
    that no slope of forward met there makes a step too long. Backward, which is on trial, chooses nothing.
    """
    declared = _declared(section) or Descent()
    start, others = _places(section, truth, question, declared.at if question.at is None else question.at)
    y = truth.output(start)
    own_goal = (declared.goal,) if isinstance(declared.goal, float | int) else declared.goal
    goal = tuple(question.goal or ()) or (own_goal if own_goal and len(own_goal) in (1, y.size) else None)
    if goal:
        Loss(section, goal).at(position_tensor(section, start))  # refuses one that does not fit
    goal = goal or _reachable_goal(truth.outputs(others), y)
    lr = question.lr or declared.lr or _rate(truth, np.concatenate((start[None], others)), y.size)
    return DescentPlan(tuple(start.tolist()), goal, lr, question.steps or declared.steps or _STEPS)


def _declared(section: Section) -> Descent | None:
    """What the op says of its first look, if that is what is looked at."""
    op = section.op
    first = (op.wrt or op.inputs[0].name).partition("[")[0], (op.of or op.outputs[0]).partition("[")[0]
    return op.descent if (section.wrt, section.of) == first else None


def _places(section: Section, truth: TrueForward, question: Question, at: float | None) -> tuple[Array, Array]:
    """Where to begin, and other places (rows) at which a goal may be found: of a tensor, on its ways
    to be reversed, and to be moved a little."""
    span = question.stop - question.start
    if section.here.size == 1:
        others = section.snap(question.start + span * _SHARES[:, None])
        steeper = max(others[:2], key=partial(_steepness, truth)) if at is None else np.array([at])
        return section.snap(steeper), others
    start = np.array(dict(section.inputs)[section.wrt])
    if at is not None:
        start[section.place] = at
    ways = np.stack((start[::-1] - start, np.where(start + span / 4 <= question.stop, span / 4, -span / 4)))
    return section.snap(start), section.snap(np.concatenate([start + share * ways for share in _WAYS]))


def _reachable_goal(values: Array, y: Array) -> tuple[float, ...]:
    """The first of the outputs elsewhere that is not ``y``, as at the start; if there is none, one out of reach."""
    with np.errstate(invalid="ignore"):
        away = np.abs(values - y).max(axis=1, initial=0.0)
    other = np.flatnonzero(np.isfinite(away) & (away > ALIKE_SHARE * np.abs(y).max(initial=0.0)))
    goal = values[other[0]] if other.size else y + 1
    if not np.isfinite(goal).all():
        return (0.0,)
    return (float(goal[0]),) if np.ptp(goal) == 0 else tuple(goal.tolist())


def _rate(truth: TrueForward, places: Array, count: int) -> float:
    """A learning rate of one or two digits that is stable for the steepest slope of forward at some places."""
    steepest = max(_steepness(truth, place) for place in places)
    largest = _STABLE_RATE * count / steepest / steepest if steepest else math.inf  # a square might be 0
    return float(f"{largest if sys.float_info.min < largest < sys.float_info.max else _STABLE_RATE * count:.2g}")


def _steepness(truth: TrueForward, position: Array) -> float:
    """The spectral norm of the Jacobian of forward there, unknown slopes taken as 0."""
    y = truth.outputs(position[None])[0]
    slopes = truth.slopes(position, y).value.reshape(y.size, position.size)
    return float(np.linalg.norm(np.where(np.isfinite(slopes), slopes, 0.0), 2)) if y.size else 0.0
