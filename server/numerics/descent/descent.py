"""Two gradient descents from one start: with what backward returns, and with the true derivative of forward."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray

from ...protocol.question import Question
from ...runtime import timing
from ...runtime.arrays import Array, Forward
from ...runtime.rng import seed_all_generators
from ...runtime.section import Section
from ..singularities.special_points import special_points
from .loss import Loss, LossGradient, flat_array, position_tensor
from .optimizer import DescentRun, GradientFunction, run_descent
from .plan import DescentPlan, plan_descent
from .true_gradient import TrueForward, downhill_gradient

# budget: time limit in seconds of both runs together, and the least that the second gets.
_SECONDS, _MIN_SECONDS = 3.0, 1.0
# budget: the most elements that a picture can show, and the most pairs of input and output element measured.
MOST_DESCENT_ELEMENTS, _MAX_PAIRS = 256, 1 << 16
_MAX_NUMBERS = 1 << 15  # budget: the most numbers of all steps together
# sample: how far beside its start an element is tried that does not move, as a share of the range.
_SIDE_DISTANCE = 1e-3
# sample: the seeds with which the Function is called to see whether it draws random numbers.
_SEEDS = (0, 7919, 104729, 1299709)
_POINTS = 601  # budget: the points of the picture, without those at jumps
# sample: the picture holds the range and the start, with room for so many more ranges on either side; where the start
# is farther away than that many ranges, only what is around it, this share of it wide, to tell numbers apart.
_MARGIN, _MAX_DISTANCE, _RESOLUTION = 1.0, 32.0, 1e-4


class TooLarge(Exception):
    """There are more elements than a descent can follow; the message says how many are allowed."""


@dataclass(frozen=True)
class DescentPair:
    """Both runs of a section. ``bent``: the true one met a kink or a jump; ``random``: the Function draws lots.

    ``resting`` says of each element that it need not move, as the loss is larger on both sides of its start;
    ``whole`` is the dtype of an output that holds whole numbers, else "". ``landscape`` is None where more than one
    number moves.
    """

    section: Section
    plan: DescentPlan
    returned: DescentRun
    true: DescentRun
    bent: bool
    random: bool
    resting: NDArray[np.bool_]
    whole: str
    landscape: Landscape | None


@np.errstate(all="ignore")  # a descent may leave all numbers behind
def descend(section: Section, question: Question) -> DescentPair:
    """Run both descents. Raises ``FunctionFailed`` where forward fails at the start, and ``TooLarge``."""
    size = section.here.size
    if size > MOST_DESCENT_ELEMENTS:
        raise TooLarge(f"{section.wrt} has {size} elements; a descent is followed in at most {MOST_DESCENT_ELEMENTS}.")
    truth = TrueForward.of(section, question.start, question.stop)
    count = truth.copies.size
    if size * count > _MAX_PAIRS:
        counts = f"{section.wrt} has {size} elements and {section.of} {count}"
        raise TooLarge(f"{counts}: the true derivative is measured of at most {_MAX_PAIRS} pairs of them.")
    plan = plan_descent(section, truth, question)
    plan = replace(plan, steps=min(plan.steps, _MAX_NUMBERS // size))
    loss, start = Loss(section, plan.goal), position_tensor(section, np.array(plan.start))
    random = _is_random(loss, start)
    truth = replace(truth, copies=truth.copies.alone(), random=True) if random else truth
    began = timing.now()
    returned = run_descent(start, plan.lr, plan.steps, lambda position, _: loss.pull(position), _SECONDS)
    left = _SECONDS - (timing.now() - began)
    kinks: list[int] = []
    true = run_descent(start, plan.lr, plan.steps, _true_gradient(truth, loss, kinks), max(_MIN_SECONDS, left))
    paths, unmoved = (returned.positions[:, 0], true.positions[:, 0]), np.ptp(returned.positions, axis=0) == 0
    return DescentPair(
        section=section,
        plan=plan,
        returned=returned,
        true=true,
        bent=bool(kinks),
        random=random,
        resting=_at_rest(truth, loss, np.array(plan.start)) if unmoved.any() else unmoved,
        whole=truth.copies.integer,
        landscape=landscape(truth, loss, question.start, question.stop, *paths) if size == 1 else None,
    )


def _true_gradient(truth: TrueForward, loss: Loss, kinks: list[int]) -> GradientFunction:
    """The true gradient as a function of the position; adds to ``kinks`` the steps at a kink or jump of forward."""
    cache: dict[bytes, Array] = {}  # where it stands still it is not measured again

    def pull(position: torch.Tensor, step: int) -> LossGradient:
        value, where, now = loss.at(position), flat_array(position), replace(truth, step=step)
        if not np.isfinite(value):
            return LossGradient(value, None)
        gradient = None if truth.random else cache.get(where.tobytes())
        if gradient is None:
            y = now.outputs(where[None])[0]
            gradient, bent = downhill_gradient(now.slopes(where, y), loss.residual(y))
            cache.clear()
            cache[where.tobytes()] = gradient
            kinks.extend([step] * bent)
        return LossGradient(value, position_tensor(loss.section, gradient))

    return pull


def _is_random(loss: Loss, start: torch.Tensor) -> bool:
    """Whether the Function answers differently when its random numbers are others."""

    def answer(seed: int) -> Array:
        seed_all_generators(seed)
        pulled = loss.pull(start)
        return np.append([] if pulled.gradient is None else flat_array(pulled.gradient), pulled.loss)

    first, *others = map(answer, _SEEDS)
    return not all(np.array_equal(first, each, equal_nan=True) for each in others)


def _at_rest(truth: TrueForward, loss: Loss, start: Array) -> NDArray[np.bool_]:
    """Which elements are where they should be: the loss is larger on both sides."""
    moves = _SIDE_DISTANCE * truth.span * np.eye(start.size)
    sides = loss.values(truth.outputs(np.concatenate((start + moves, start - moves)))).reshape(2, -1)
    return np.asarray((sides > loss.values(truth.outputs(start[None]))).all(axis=0))


@dataclass(frozen=True)
class Landscape:
    """``y`` at every ``x``: the output where ``of`` is "forward", else the loss. NaN between two sides of a jump.

    ``returned`` and ``true`` are the heights of the two descents, step by step.
    """

    of: Literal["forward", "loss"]
    x: Array
    y: Array
    returned: Array
    true: Array


def landscape(truth: TrueForward, loss: Loss, start: float, stop: float, returned: Array, true: Array) -> Landscape:
    """From ``start`` to ``stop``, and as far beyond as the positions ``returned`` and ``true`` lie, within reason."""
    x = _positions(start, stop, np.concatenate((returned, true)))
    single, cheap = truth.outputs(returned[:1, None]).shape[1] == 1, bool(truth.copies.stacked)

    def height(t: Array) -> Array:
        y = truth.outputs(t[:, None])
        return y[:, 0] if single else loss.values(y)

    return Landscape(
        "forward" if single else "loss", *_split_at_jumps(height, x, height(x), cheap), height(returned), height(true)
    )


def _positions(start: float, stop: float, visited: Array) -> Array:
    """Where forward is looked at: the range, the start, and what was visited not too far from them."""
    span, first = stop - start, float(visited[0])
    visited = visited[np.isfinite(visited)]
    if not start - _MAX_DISTANCE * span <= first <= stop + _MAX_DISTANCE * span:
        span = max(span, _RESOLUTION * abs(first))
        start, stop = first - span / 2, first + span / 2
    start, stop = min(start, first), max(stop, first)
    low, high = max(start - _MARGIN * span, visited.min()), min(stop + _MARGIN * span, visited.max())
    return np.linspace(min(start, low), max(stop, high), _POINTS)


def _split_at_jumps(height: Forward, x: Array, y: Array, cheap: bool) -> tuple[Array, Array]:
    """The same with both sides of every jump, and NaN between them; many points in a call may be ``cheap``."""
    jumps = [(each.left, each.right) for each in special_points(height, x, y, cheap=cheap) if each.kind == "jump"]
    ends = np.array(jumps).reshape(-1, 2)
    sides, middle = height(ends.ravel()).reshape(ends.shape) if jumps else ends, ends.mean(axis=1)
    kept = ~((ends[:, :1] <= x) & (x <= ends[:, 1:])).any(axis=0)
    x = np.concatenate((x[kept], ends.ravel(), middle))
    y = np.concatenate((y[kept], sides.ravel(), np.full(middle.size, np.nan)))
    order = np.argsort(x, kind="stable")
    return x[order], y[order]
