"""The plan of a descent: start, goal and learning rate, as asked for, as declared by the op, or chosen."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass

import numpy as np

from ....ops import Descent
from ...protocol.question import Question
from ...runtime.arrays import Array
from ...runtime.section import Section
from ..tolerance import ALIKE_SHARE
from .loss import Loss, moved_size, position_tensor
from .true_gradient import TrueForward

_STEPS = 40  # budget: the steps where neither question nor op says how many
# sample: the learning rate times slope²: where forward is straight, the distance to the goal halves in each step.
_STABLE_RATE = 0.25
_MANTISSAS = (5.0, 2.5, 2.0, 1.0)  # unit: the leading digits that a chosen learning rate may have
_START_SHARES = (0.75, 0.25)  # sample: where to begin and what to reach, as shares of the range
_SAMPLES = np.linspace(1 / 8, 7 / 8, 7)  # sample: the places at which slopes, and another goal, are looked for
# sample: the places on the way to where the goal is reached, as shares of it; not its middle, for that may be 0.
_PATH = (0.0, 0.25, 0.75, 1.0)


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
    that no slope of forward on the way makes a step too long. Backward, which is on trial, chooses nothing.
    """
    declared = _declared(section) or Descent()
    at = declared.at if question.at is None else question.at
    start = _start(section, truth, question, at)
    y = truth.output(start)
    own_goal = (declared.goal,) if isinstance(declared.goal, float | int) else declared.goal
    goal = tuple(question.goal or ()) or (own_goal if own_goal and len(own_goal) in (1, y.size) else None)
    if goal:
        Loss(section, goal).at(position_tensor(section, start))  # refuses one that does not fit
    other = start if goal else _other_position(section, truth, question, start, y)
    goal = goal or _goal_at(truth, other, y)
    lr = question.lr or declared.lr or _rate(truth, y.size, question, start, other)
    return DescentPlan(tuple(start.tolist()), goal, lr, question.steps or declared.steps or _STEPS)


def _declared(section: Section) -> Descent | None:
    """What the op says of its first look, if that is what is looked at."""
    op = section.op
    first = (op.wrt or op.inputs[0].name).partition("[")[0], (op.of or op.outputs[0]).partition("[")[0]
    return op.descent if (section.wrt, section.of) == first else None


def _start(section: Section, truth: TrueForward, question: Question, at: float | None) -> Array:
    if moved_size(section) > 1:
        start = np.array(dict(section.inputs)[section.wrt])
        if at is not None:
            start[section.place] = at
        return section.snap(start)
    if at is not None:
        return section.snap(np.array([at]))
    quarters = section.snap(question.start + np.array(_START_SHARES) * (question.stop - question.start))
    steep = [_steepness(truth, place[None]) for place in quarters]
    return quarters[[int(steep[1] > steep[0])]]


def _other_position(section: Section, truth: TrueForward, question: Question, start: Array, y: Array) -> Array:
    """Another position, at which the output is another one; the start where there is none."""
    span = question.stop - question.start
    if start.size > 1:
        shift = np.where(start + span / 4 <= question.stop, span / 4, -span / 4)
        others = np.array([start[::-1], start + shift, question.start + question.stop - start])
    else:
        near = [place for share in _START_SHARES if (place := question.start + share * span) != start[0]]
        others = np.array([*near, *(question.start + _SAMPLES * span)])[:, None]
    others = section.snap(others)
    away = np.abs(truth.outputs(others) - y).max(axis=1, initial=0.0)
    away = np.where(np.isfinite(away), away, 0.0)
    least = ALIKE_SHARE * float(np.abs(y).max(initial=0.0))
    first = 0 if start.size > 1 or away[0] > least else int(away.argmax())
    found = next((row for row in (first, int(away.argmax())) if away[row] > least), None)
    return start if found is None else np.asarray(others[found])


def _goal_at(truth: TrueForward, position: Array, y: Array) -> tuple[float, ...]:
    """The output there; where it is the same everywhere, one that is out of reach."""
    values = truth.outputs(position[None])[0]
    if not np.isfinite(values).all():
        return (0.0,)
    values = values + 1 if np.array_equal(values, y) else values
    return (float(values[0]),) if np.ptp(values) == 0 else tuple(values.tolist())


def _rate(truth: TrueForward, count: int, question: Question, start: Array, other: Array) -> float:
    """A learning rate of one or two digits that is stable for the steepest slope of forward between start and goal."""
    path = [start + share * (other - start) for share in _PATH]
    if start.size == 1:
        path += [np.array([question.start + share * (question.stop - question.start)]) for share in _SAMPLES]
    steepest = max(_steepness(truth, each) for each in path)
    largest = _STABLE_RATE * count / steepest / steepest if steepest else math.inf  # a square might be 0
    if not sys.float_info.min < largest < sys.float_info.max:
        return _STABLE_RATE * count
    decade = 10.0 ** math.floor(math.log10(largest))
    return float(f"{next(each for each in _MANTISSAS if each * decade <= largest * (1 + ALIKE_SHARE)) * decade:.2g}")


def _steepness(truth: TrueForward, position: Array) -> float:
    """The spectral norm of the Jacobian of forward there, unknown slopes taken as 0."""
    y = truth.outputs(position[None])[0]
    slopes = truth.slopes(position, y).value.reshape(y.size, position.size)
    return float(np.linalg.norm(np.where(np.isfinite(slopes), slopes, 0.0), 2)) if y.size else 0.0
