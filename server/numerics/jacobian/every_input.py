"""A Function as one map from all of its inputs to all of its outputs, at the values where the inputs are held."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, cast

import numpy as np
import torch

from ...runtime import timing
from ...runtime.arrays import EPSILON, Array
from ...runtime.failure import Failure, FunctionFailed, describe_result, failure_of
from ...runtime.section import Section
from ..tolerance import tolerance_for
from .directional import Line


@dataclass(frozen=True)
class InputOutputMap:
    """A Function as a map from all of its inputs to all of its outputs, one after another in one row of numbers."""

    section: Section

    @property
    def precision(self) -> float:
        """Half a unit in the last place of the dtype."""
        return max(EPSILON, torch.finfo(self.section.dtype).eps / 2)

    @property
    def share(self) -> float:
        """The relative tolerance for a gradient."""
        return 100 * tolerance_for(1.0, self.section.dtype).rtol

    @property
    def size(self) -> int:
        """How many elements all outputs have."""
        return self.places[-1].stop

    @cached_property
    def seconds(self) -> float:
        """The duration of one call."""
        return timing.time_short_call(self.called)

    @cached_property
    def weights(self) -> tuple[Array, ...]:
        """The weights of the loss for the elements of each output: reproducible random numbers."""
        with torch.no_grad():
            sizes = [out.numel() for out in self.called()]
        return tuple(_irregular(size, place) for place, size in enumerate(sizes))

    @cached_property
    def places(self) -> tuple[slice, ...]:
        """Where each output lies in the row of all."""
        ends = np.cumsum([0, *(each.size for each in self.weights)])
        return tuple(slice(int(first), int(last)) for first, last in pairwise(ends))

    def direction(self, name: str) -> Array:
        """A random line through all elements of an input."""
        return _irregular(len(dict(self.section.inputs)[name]), len(name))

    def line(self, name: str) -> Line:
        """All outputs along that line."""
        direction = self.direction(name)

        def forward(points: Array) -> Array:
            return np.stack([self.moved(name, point[0] * direction) for point in points])

        def willing(points: Array) -> Array:
            rows = []
            for point in points:
                try:
                    rows.append(self.moved(name, point[0] * direction))
                except FunctionFailed:
                    rows.append(np.full(self.size, np.nan))
            return np.stack(rows)

        return Line(forward, willing)

    def weight(self, place: int, out: torch.Tensor) -> torch.Tensor:
        """The weights of one output, as its grad_output."""
        return torch.from_numpy(self.weights[place]).to(out.device, out.dtype).reshape(out.shape)

    def tracked(self) -> tuple[list[torch.Tensor], tuple[torch.Tensor, ...]]:
        """Leaves for all inputs, and the outputs that go back to them."""
        leaves = [self._held(name).requires_grad_() for name, _ in self.section.inputs]
        return leaves, self.called(*(leaf.clone() for leaf in leaves))

    def called(self, *tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """The outputs, for these inputs or those held. Raises ``FunctionFailed``."""
        section = self.section
        given = tensors or [self._held(name) for name, _ in section.inputs]
        try:
            y = section.op(*given, *(value for _, value in section.parameters))
        except Exception as error:
            raise failure_of(error, section.op, "forward") from error
        outputs = y if isinstance(y, tuple) else (y,)
        wanted = len(section.op.outputs)
        if len(outputs) < wanted or not all(isinstance(each, torch.Tensor) for each in outputs[:wanted]):
            declared = "a tensor was" if wanted == 1 else f"{wanted} tensors were"
            said = f"forward returned {describe_result(y, len(outputs))} where {declared} declared."
            raise FunctionFailed(Failure("forward", "WrongShape", said))
        return outputs[:wanted]

    def moved(self, name: str, by: Array) -> Array:
        """All outputs with one input moved. Raises ``FunctionFailed``."""
        given = [self._held(each, by if each == name else None) for each, _ in self.section.inputs]
        with torch.no_grad():
            outputs = self.called(*given)
        return np.concatenate([tensor_elements(out) for out in outputs])

    def _held(self, name: str, by: Array | None = None) -> torch.Tensor:
        section = self.section
        values: Any = np.array(dict(section.inputs)[name])
        shape = next(each.shape for each in section.op.inputs if each.name == name) or (1,)
        flat = torch.from_numpy(values if by is None else values + by)
        return flat.to(section.device, section.dtype).reshape(shape)


def tensor_elements(tensor: torch.Tensor) -> Array:
    """All elements of a tensor, in row-major order."""
    return cast(Array, tensor.detach().reshape(-1).to("cpu", torch.float64).numpy(force=True))


def _irregular(size: int, seed: int) -> Array:
    """Numbers of either sign between ½ and 1."""
    draw = np.random.default_rng(seed)
    return draw.uniform(0.5, 1.0, size) * draw.choice((-1.0, 1.0), size)
