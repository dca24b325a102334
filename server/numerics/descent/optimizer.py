"""One run of gradient descent: positions, gradients and losses of every step, and why it ended."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch

from ...runtime import timing
from ...runtime.arrays import Array
from ...runtime.failure import Failure, FunctionFailed
from .loss import LossGradient, flat_array, seed_generators

# The loss and its gradient at a position, in a step.
GradientFunction = Callable[[torch.Tensor, int], LossGradient]


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
    def moved(self) -> Array:
        """How far each element went in each step."""
        return np.diff(self.positions, axis=0)


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
        seed_generators(step)
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
