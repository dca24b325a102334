"""The loss that a descent goes down: the mean of (of − goal)² over all elements of one output."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from ...runtime.arrays import Array
from ...runtime.failure import Failure, FunctionFailed, failure_of
from ...runtime.section import Section
from ...runtime.user_call import call_user_code
from ...runtime.vjp import float64_array


@dataclass(frozen=True)
class LossGradient:
    """A loss and its gradient, which is None where none arrives; ``failure`` is what backward raised."""

    loss: float
    gradient: torch.Tensor | None
    failure: Failure | None = None


@dataclass(frozen=True)
class Loss:
    """The loss of a section's output ``of`` as a function of all of its ``wrt``; what else there is stays held.

    ``goal`` is one number for all elements of the output, or as many as it has, flattened in row-major order.
    """

    section: Section
    goal: tuple[float, ...]

    def at(self, position: torch.Tensor) -> float:
        """The loss alone. Raises ``FunctionFailed``."""
        with torch.no_grad():
            return self.of(output_at(self.section, position)).item()

    def pull(self, position: torch.Tensor) -> LossGradient:
        """The loss, and what ``loss.backward()`` leaves in ``position.grad``. Raises ``FunctionFailed`` of forward."""
        if self.section.sweeps_parameter:
            return LossGradient(self.at(position), None)
        leaf = position.clone().requires_grad_()
        y = output_at(self.section, leaf)
        loss = self.of(y)
        if not loss.requires_grad:
            return LossGradient(loss.item(), None)
        try:
            call_user_code(loss.backward)
        except Exception as error:  # noqa: BLE001 whatever the Function raises
            return LossGradient(loss.item(), None, failure_of(error, self.section.op, "backward").failure)
        return LossGradient(loss.item(), leaf.grad)

    def values(self, outputs: Array) -> Array:
        """The loss of each row of flat ``outputs``."""
        return np.asarray(((outputs - np.array(self.goal)) ** 2).mean(axis=1))

    def residual(self, y: Array) -> Array:
        """The derivative of the loss with respect to each element of the output, flat, where it is ``y``."""
        return 2 * (y - np.array(self.goal)) / y.size

    def of(self, y: torch.Tensor) -> torch.Tensor:
        """The loss of an output. Raises ``FunctionFailed`` where the goal does not fit, or there is no such loss."""
        if len(self.goal) not in (1, y.numel()):
            many = f"{self.section.of} has {y.numel()} elements, and goal {len(self.goal)} values"
            raise FunctionFailed(Failure("forward", "WrongShape", f"{many}; give one for all, or one for each."))
        y = y if y.is_floating_point() or y.is_complex() else y.to(self.section.dtype)
        goal = torch.tensor(self.goal, dtype=y.dtype, device=y.device).expand(y.numel()).reshape(y.shape)
        try:
            return (y - goal).square().mean()  # torch's mse_loss has no float16 on the CPU in older versions
        except Exception as error:
            raise failure_of(error, self.section.op, "forward") from error


def output_at(section: Section, position: torch.Tensor) -> torch.Tensor:
    """The output ``of`` where ``position`` stands for all of ``wrt``. Raises ``FunctionFailed``."""
    inputs = (position if name == section.wrt else section.repeated(name, 1) for name, _ in section.inputs)
    parameters = (float(position) if name == section.wrt else value for name, value in section.parameters)
    # One that works in place would refuse a leaf, and spoil what is not its own.
    return section.output(section.called_with([*map(torch.clone, inputs), *parameters]))


def position_tensor(section: Section, position: Array) -> torch.Tensor:
    """The flat ``position`` as the tensor that moves."""
    dtype = torch.float64 if section.sweeps_parameter else section.dtype
    tensor = torch.from_numpy(np.ascontiguousarray(position, dtype=np.float64)).to(section.device, dtype, copy=True)
    return tensor.reshape(section.shape(section.wrt))


def flat_array(tensor: torch.Tensor) -> Array:
    """The elements of a tensor as float64, in row-major order."""
    return float64_array(tensor.detach().to_dense()).reshape(-1).copy()
