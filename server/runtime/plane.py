"""A plane: the two-dimensional cut (s, t) ↦ f(x₀ with one element set to s and another to t) through any Function."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray

from .arrays import Array
from .batch_size import batch_size
from .failure import FunctionFailed, failure_of
from .rejected_points import MISSING_VALUE, skip_rejected
from .section import Section
from .vjp import dense, float64_array, make_cotangent, place_of_copies, pull_back

# budget: a tensor with more elements than this is large: few points of a plane should be asked for.
_LARGE = 1024


@dataclass(frozen=True)
class GradientField:
    """The gradient field of a plane: the output element and its two ``grad_input``, one of each per point.

    ``first`` and ``second`` are None for a parameter, or where the output carries no gradient. ``none`` says for each
    whether backward returned None, which autograd treats as zeros (and zeros are what is stored).
    """

    values: Array
    first: Array | None
    second: Array | None
    none: tuple[bool, bool] = (False, False)

    @property
    def both(self) -> tuple[Array | None, Array | None]:
        """The two gradients, along the first axis and along the second."""
        return self.first, self.second


@dataclass(frozen=True)
class Plane:
    """One output element of an op as a function of two elements (or float parameters).

    ``along`` is the section that sweeps the first, ``across`` the one that sweeps the second; they are equal otherwise.
    ``stacked`` names the inputs that are batched, along the first dimension or, if ``above``, along a new one before
    it, so that many points are evaluated in one call; where it is empty, the points are evaluated line by line, with
    whatever batching the sections support.
    """

    along: Section
    across: Section
    stacked: tuple[str, ...] = ()
    above: bool = False

    @property
    def expensive(self) -> bool:
        """Whether a point is expensive: it needs a call of its own, or a large tensor."""
        return not self.stacked or max(math.prod(self.along.shape(name)) for name in self.stacked) > _LARGE

    def forward(self, s: Array, t: Array) -> Array:
        """The output element at every point (s, t), both 1-D, as float64. Raises ``FunctionFailed``."""
        if not self.stacked:
            return self._by_lines(s, t, lambda line, x: line.forward(x))

        def ask(part: slice) -> Array:
            copies = part.stop - part.start
            return float64_array(self.along.element(self._called(self._arguments(s[part], t[part]), copies), copies))

        with torch.no_grad():
            return np.concatenate(skip_rejected(ask, self._chunks(s.size), MISSING_VALUE))

    def backward(self, s: Array, t: Array, grad_output: float) -> GradientField:
        """The output element and both ``grad_input`` at every point (s, t). Raises ``FunctionFailed``."""
        if not self.stacked:
            return self._backward_by_lines(s, t, grad_output)

        def ask(part: slice) -> GradientField:
            leaves, out = self._tracked(s[part], t[part])
            values = float64_array(self.along.element(out, part.stop - part.start))
            if not out.requires_grad:
                return GradientField(values, None, None)
            found = list(self._pulled(leaves, out, grad_output, values.size))
            first, second = (np.zeros(values.size) if each is None else each for each in found)
            return GradientField(values, first, second, (found[0] is None, found[1] is None))

        return _joined(
            skip_rejected(ask, self._chunks(s.size), GradientField(MISSING_VALUE, MISSING_VALUE, MISSING_VALUE))
        )

    def _tracked(self, s: Array, t: Array) -> tuple[dict[str, torch.Tensor], torch.Tensor]:
        """The swept tensors as leaves, and the output; an in-place Function is given clones of the leaves."""
        for copied in (False, True):
            arguments = self._arguments(s, t)
            leaves = {name: arguments[name].requires_grad_() for name in self._swept}
            if copied:
                arguments |= {name: leaf.clone() for name, leaf in leaves.items()}
            try:
                return leaves, self._called(arguments, s.size)
            except FunctionFailed as error:
                if copied or "a leaf Variable that requires grad" not in error.failure.message:
                    raise
        raise AssertionError  # the second round returns or raises

    def _pulled(
        self, leaves: dict[str, torch.Tensor], out: torch.Tensor, grad_output: float, copies: int
    ) -> Iterator[Array | None]:
        """The gradients of the two elements, None where backward returned None."""
        place = place_of_copies(out.shape, copies, self.along.of_index)
        hand = make_cotangent(out.detach(), grad_output, copies, place, dense)
        try:
            found = dict(zip(leaves, pull_back((out,), (hand,), leaves.values()), strict=True))
        except Exception as error:
            raise failure_of(error, self.along.op, "backward") from error
        for name, place in self._places:
            gradient = found[name]
            yield None if gradient is None else float64_array(self._view(gradient, name)[place])

    @property
    def _swept(self) -> dict[str, None]:
        return dict.fromkeys((self.along.wrt, self.across.wrt))

    @property
    def _places(self) -> Iterator[tuple[str, tuple[Any, ...]]]:
        """The two swept elements: the name of the tensor, and the index into its batch of copies."""
        for name, index in ((self.along.wrt, self.along.wrt_index), (self.across.wrt, self.across.wrt_index)):
            yield name, (slice(None), *(index or (0,) * len(self.along.shape(name))))

    def _arguments(self, s: Array, t: Array) -> dict[str, torch.Tensor]:
        """The inputs; the stacked ones have one copy per point."""
        found = {}
        for name, _ in self.along.inputs:
            stacked = name in self.stacked
            found[name] = self.along.copies(name, s.size if stacked else 1, stacked and self.above)
        for (name, place), swept in zip(self._places, (s, t), strict=True):
            self._view(found[name], name)[place] = torch.from_numpy(swept).to(self.along.device, self.along.dtype)
        return found

    def _called(self, arguments: dict[str, torch.Tensor], copies: int) -> torch.Tensor:
        """The output, with the copies along its first dimension."""
        section = self.along
        y = section.called_with([*arguments.values(), *(value for _, value in section.parameters)])
        out = section.output(y)
        over = self.above and out.dim() > 1 and out.shape[0] == copies
        return out.reshape(-1, *out.shape[2:]) if over else out

    def _view(self, tensor: torch.Tensor, name: str) -> torch.Tensor:
        return tensor.reshape(-1, *self.along.shape(name))

    def _chunks(self, count: int) -> Iterator[slice]:
        size = batch_size(max(math.prod(self.along.shape(name)) for name in self.stacked))
        return (slice(first, min(first + size, count)) for first in range(0, count, size))

    def output_size(self, s: Array, t: Array) -> int:
        """How many elements the output has when it is evaluated for all points in one call."""
        with torch.no_grad():
            return self._called(self._arguments(s, t), s.size).numel()

    def _backward_by_lines(self, s: Array, t: Array, grad_output: float) -> GradientField:
        values, none = np.empty(s.size), [False, False]
        gradients: list[Array | None] = [None, None]
        lines = ((self.along, self.across, s, t), (self.across, self.along, t, s))
        for row, (swept, held, here, there) in enumerate(lines):
            if swept.sweeps_parameter:
                continue
            for value, at in _groups(there):
                returned = _held(swept, held, value).backward(here[at], grad_output)
                values[at], none[row] = returned.values, none[row] or returned.none
                if returned.grad_input is not None:
                    gradients[row] = np.zeros(s.size) if gradients[row] is None else gradients[row]
                    cast(Array, gradients[row])[at] = returned.grad_input
        if self.along.sweeps_parameter and self.across.sweeps_parameter:
            values = self.forward(s, t)
        return GradientField(values, gradients[0], gradients[1], (none[0], none[1]))

    def _by_lines(self, s: Array, t: Array, ask: Callable[[Section, Array], Array]) -> Array:
        """``ask`` for every line: along the first axis, unless only lines across it can be batched."""
        swept, held, here, there = self.along, self.across, s, t
        if self.across.stacked and not self.along.stacked:
            swept, held, here, there = self.across, self.along, t, s
        found = np.empty(s.size)
        for value, at in _groups(there):
            found[at] = ask(_held(swept, held, value), here[at])
        return found


def _joined(parts: list[GradientField]) -> GradientField:
    values = np.concatenate([each.values for each in parts])
    carried = [each for each in parts if each.first is not None and each.values is not MISSING_VALUE]
    if not carried:
        return GradientField(values, None, None)
    first, second = (
        np.concatenate([np.zeros(each.values.size) if each.both[row] is None else each.both[row] for each in parts])
        for row in range(2)
    )
    return GradientField(
        values, first, second, (any(each.none[0] for each in parts), any(each.none[1] for each in parts))
    )


def _groups(values: Array) -> Iterator[tuple[float, NDArray[np.intp]]]:
    """Each distinct value and the indices at which it occurs."""
    order = np.argsort(values, kind="stable")
    unique, first = np.unique(values[order], return_index=True)
    yield from zip(unique.tolist(), np.split(order, first[1:]), strict=True)


def _held(swept: Section, other: Section, value: float) -> Section:
    """The section ``swept``, with the element that ``other`` sweeps held at a value."""
    name = other.wrt
    if other.sweeps_parameter:
        parameters = tuple((each, value if each == name else old) for each, old in swept.parameters)
        return replace(swept, parameters=parameters)
    shape = next(each.shape for each in swept.op.inputs if each.name == name)
    row = int(np.ravel_multi_index(other.wrt_index, shape)) if other.wrt_index else 0
    return replace(
        swept,
        inputs=tuple(
            (each, (*old[:row], value, *old[row + 1 :]) if each == name else old) for each, old in swept.inputs
        ),
    )
