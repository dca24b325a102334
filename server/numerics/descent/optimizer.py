"""One run of gradient descent: positions, gradients and losses of every step, and why it ended."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
import torch

from ...runtime import timing
from ...runtime.arrays import Array
from ...runtime.failure import Failure, FunctionFailed
from ...runtime.rng import seed_all_generators
from ..tolerance import ALIKE_SHARE, SMALL
from .loss import LossGradient, flat_array

GradientFunction = Callable[[torch.Tensor, int], LossGradient]  # the loss and its gradient at a position, in a step
_MovingOutcome = Literal["reached", "falls", "rises", "level", "oscillates", "diverges"]
DescentOutcome = _MovingOutcome | Literal["there", "stays", "stuck", "nan", "bare", "failed"]
_DIVERGED = 1e3  # pattern: a loss that has grown by this factor, and still grows, diverges
_MIN_TURNS = 0.2  # pattern: of the last half of the steps this share turn back, and the loss hardly falls meanwhile
# pattern: fewer steps do not tell whether they are next to nothing, nor, in the last half, whether they turn back.
_MIN_STEPS = 6


@dataclass(frozen=True)
class DescentRun:
    """Steps of x ← x − lr · gradient. Rows are steps, from the start on; columns of the first two are elements.

    ``gradients`` are those at each position, NaN where there is none. ``bare`` says that no gradient
    arrived, ``lost`` that one held NaN, ``failure`` why the Function ended it, ``late`` that time did.
    """

    positions: Array
    gradients: Array
    losses: Array
    bare: bool = False
    lost: bool = False
    failure: Failure | None = None
    late: bool = False

    @property
    def steps(self) -> int:
        """How many steps were taken."""
        return len(self.positions) - 1

    @property
    def first(self) -> float:
        """The loss at its start."""
        return float(self.losses[0])

    @property
    def last(self) -> float:
        """The loss at its end."""
        return float(self.losses[-1])

    @property
    def moved(self) -> Array:
        """How far each element went in each step."""
        return np.diff(self.positions, axis=0)

    @property
    def arrival(self) -> int:
        """After how many steps it reached the goal or got stuck; all of them where it did neither."""
        if self.ending == "reached":
            return int(np.argmax(self.losses <= ALIKE_SHARE * self.first))
        return int(np.flatnonzero(self.moved.any(axis=1))[-1]) + 1 if self.ending == "stuck" else self.steps

    @cached_property
    @np.errstate(all="ignore")  # a descent may leave all numbers behind
    def ending(self) -> DescentOutcome:
        """The first of the endings that fits.

        ``there``: at the goal from the start; ``reached``: got there; ``stays``: does not leave the start; ``stuck``:
        no longer gets on, short of the goal; ``level``: moves, and the loss does not.
        """
        last, first = self.last, self.first
        if first == 0:
            return "there"
        if self.bare or self.failure:
            return "bare" if self.bare else "failed"
        if self.lost or np.isnan(last):
            return "nan"
        if last <= ALIKE_SHARE * first:
            return "reached"
        if np.isinf(last) or (last > _DIVERGED * first and last == self.losses.max()):
            return "diverges"
        path, late = np.ptp(self.positions, axis=0).max(), np.ptp(self.positions[-1 - self.steps // 4 :], axis=0).max()
        if not path and self.steps:
            return "stays"
        if self.steps >= _MIN_STEPS and late <= ALIKE_SHARE * path:
            return "stuck"
        if _oscillates(self):
            return "oscillates"
        return "level" if abs(last - first) <= ALIKE_SHARE * first else "falls" if last < first else "rises"


def run_descent(start: torch.Tensor, lr: float, steps: int, pull: GradientFunction, seconds: float) -> DescentRun:
    """Run gradient descent from ``start`` for at most ``steps`` steps and ``seconds`` seconds.

    It ends early where the loss or the gradient is no finite number, where none arrives, and where the Function
    fails. The arithmetic is that of ``torch.optim.SGD``.
    """
    position, ends = start.clone(), timing.now() + seconds
    positions, gradients, losses = [flat_array(position)], list[Array](), list[float]()
    bare, lost, late, failure = False, False, False, None
    nothing = np.full(position.numel(), np.nan)
    while True:
        step = len(losses)
        seed_all_generators(step)
        try:
            pulled = pull(position, step)
        except FunctionFailed as error:
            failure = error.failure
            losses.append(np.nan)
            break
        losses.append(pulled.loss)
        failure = pulled.failure
        bare = pulled.gradient is None and failure is None and bool(np.isfinite(pulled.loss))
        late = step < steps and timing.now() > ends
        if pulled.gradient is None:
            break
        gradients.append(flat_array(pulled.gradient))
        if step == steps or late or not np.isfinite(pulled.loss):
            break
        lost = bool(np.isnan(gradients[-1]).any())
        if lost:
            break
        position = position.add(pulled.gradient.to(position.dtype), alpha=-lr)
        positions.append(flat_array(position))
    gradients += [nothing] * (len(positions) - len(gradients))
    return DescentRun(np.array(positions), np.array(gradients), np.array(losses), bare, lost, failure, late)


def _oscillates(run: DescentRun) -> bool:
    """Whether it goes back and forth, and loses nothing by it."""
    half = run.steps // 2
    if half < _MIN_STEPS:
        return False
    moved, losses = run.moved[half:], run.losses[half:]
    turned = (moved[1:] * moved[:-1]).sum(axis=1) < 0
    middle = len(losses) // 2
    return bool(turned.mean() >= _MIN_TURNS and losses[middle:].mean() > (1 - SMALL) * losses[:middle].mean())
