"""Two gradient descents from one start: with what backward returns, and with the true derivative of forward."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray

from ...runtime import timing
from ...runtime.arrays import EPSILON, Array
from ...runtime.section import Section
from .landscape import Landscape, landscape
from .loss import Loss, LossGradient, flat_array, moved_size, output_at, position_tensor, seed_generators
from .optimizer import DescentRun, GradientFunction, run_descent
from .plan import DescentPlan, DescentRequest, plan_descent
from .true_gradient import TrueForward, downhill_gradient

# Time limit in seconds of both runs together, and the least that the second gets.
_SECONDS, _LEAST_SECONDS = 3.0, 1.0
# The most elements that a picture can show, and the most pairs of input and output element that are measured.
MOST_DESCENT_ELEMENTS, _MOST_PAIRS = 256, 1 << 16
# Numbers of all steps together.
_MOST_NUMBERS = 1 << 15
# Beside the start, as a share of the range.
_FLAT = 1e-3
# An output is on goal that is off by no more than this share of the largest.
_ON_GOAL = 1e-12
# The seeds with which the Function is called to see whether it draws random numbers.
_LOTS = (0, 7919, 104729, 1299709)


class TooLarge(Exception):
    """There are more elements than a descent can follow; the message says how many are allowed."""


@dataclass(frozen=True)
class DescentPair:
    """Both runs. ``bent`` says that the true one met a kink or a jump, ``random`` that the Function draws lots.

    ``there`` says of each element that it need not move, as what depends on it is on goal from the start, ``rounded``
    that forward rounds so coarsely that small slopes cannot be seen. ``flat`` says that forward does not change around
    the start, as far as can be seen; ``whole`` is the dtype of an output that holds whole numbers, else "".
    ``landscape`` is None where more than one number moves.
    """

    plan: DescentPlan
    returned: DescentRun
    true: DescentRun
    bent: bool
    random: bool
    there: NDArray[np.bool_]
    rounded: bool
    flat: bool
    whole: str
    landscape: Landscape | None


@np.errstate(all="ignore")  # a descent may leave all numbers behind
def descend(section: Section, asked: DescentRequest) -> DescentPair:
    """Run both descents. Raises ``FunctionFailed`` where forward fails at the start, and ``TooLarge``."""
    size = moved_size(section)
    if size > MOST_DESCENT_ELEMENTS:
        raise TooLarge(f"{section.wrt} has {size} elements; a descent is followed in at most {MOST_DESCENT_ELEMENTS}.")
    truth = TrueForward.of(section, asked.start, asked.stop)
    plan = plan_descent(section, truth, asked)
    plan = replace(plan, steps=min(plan.steps, _MOST_NUMBERS // size))
    loss, start = Loss(section, plan.goal), position_tensor(section, np.array(plan.start))
    y = _at_start(section, start)
    if size * y.numel() > _MOST_PAIRS:
        many = f"{section.wrt} has {size} elements and {section.of} {y.numel()}"
        raise TooLarge(f"{many}: the true derivative is measured of at most {_MOST_PAIRS} pairs of them.")
    random = _draws(loss, start)
    truth = truth.alone() if random else truth
    begun = timing.now()
    returned = run_descent(start, plan.lr, plan.steps, lambda position, _: loss.pull(position), _SECONDS)
    left = _SECONDS - (timing.now() - begun)
    met: list[int] = []
    true = run_descent(start, plan.lr, plan.steps, _true(truth, loss, random, met), max(_LEAST_SECONDS, left))
    ways = returned.positions[:, 0], true.positions[:, 0]
    return DescentPair(
        plan=plan,
        returned=returned,
        true=true,
        bent=bool(met),
        random=random,
        there=_there(truth, loss, np.array(plan.start)) if _still(returned).any() else _still(returned),
        rounded=truth.precision != EPSILON,
        flat=_flat(truth, np.array(plan.start), flat_array(y)),
        whole="" if y.is_floating_point() or y.is_complex() else str(y.dtype).removeprefix("torch."),
        landscape=landscape(truth, loss, asked.start, asked.stop, *ways) if size == 1 else None,
    )


def _true(truth: TrueForward, loss: Loss, random: bool, met: list[int]) -> GradientFunction:
    """The true gradient as a function of the position; adds to ``met`` the steps at a kink or jump of forward."""
    known: dict[bytes, Array] = {}  # where it stands still it is not measured again

    def pull(position: torch.Tensor, step: int) -> LossGradient:
        value, where = loss.at(position), flat_array(position)
        if not np.isfinite(value):
            return LossGradient(value, None)
        gradient = None if random else known.get(where.tobytes())
        if gradient is None:
            y = truth.outputs(where[None], step)[0]
            gradient, bent = downhill_gradient(truth.slopes(where, y, step), loss.residual(y))
            known.clear()
            known[where.tobytes()] = gradient
            met.extend([step] * bent)
        return LossGradient(value, position_tensor(loss.section, gradient))

    return pull


def _at_start(section: Section, start: torch.Tensor) -> torch.Tensor:
    seed_generators(_LOTS[0])
    with torch.no_grad():
        return output_at(section, start)


def _draws(loss: Loss, start: torch.Tensor) -> bool:
    """Whether the Function answers differently when its random numbers are others."""
    seen = []
    for each in _LOTS:
        seed_generators(each)
        pulled = loss.pull(start)
        seen.append((pulled.loss, None if pulled.gradient is None else flat_array(pulled.gradient)))
    losses = np.array([loss for loss, _ in seen])
    gradients = [gradient for _, gradient in seen if gradient is not None]
    same = np.array_equal(losses, np.full_like(losses, losses[0]), equal_nan=True)
    return not same or any(not np.array_equal(gradients[0], each, equal_nan=True) for each in gradients[1:])


def _still(run: DescentRun) -> NDArray[np.bool_]:
    return np.ptp(run.positions, axis=0) == 0


def _there(truth: TrueForward, loss: Loss, start: Array) -> NDArray[np.bool_]:
    """Which elements something depends on, but nothing that is not on goal already."""
    y = truth.outputs(start[None])[0]
    depends = truth.slopes(start, y).value.reshape(start.size, y.size) != 0
    off = np.abs(loss.residual(y)) > _ON_GOAL * np.abs(y).max(initial=0.0)
    return depends.any(axis=1) & ~(depends & off).any(axis=1)


def _flat(truth: TrueForward, start: Array, y: Array) -> bool:
    """Whether forward is the same on both sides of the start."""
    beside = truth.outputs(np.stack((start - _FLAT * truth.span, start + _FLAT * truth.span)))
    return beside.shape[1] == y.size and bool((beside == y).all())
