"""A plane: the two-dimensional cut (s, t) ↦ f(x₀ with one element set to s and another to t) through any Function."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import cast

import numpy as np
from numpy.typing import NDArray

from .arrays import Array
from .section import Section

_LARGE = 1024  # budget: a tensor with more elements than this is large: few points of a plane should be asked for


@dataclass(frozen=True)
class GradientField:
    """The gradient field of a plane: the output element and its two ``grad_input``, one of each per point.

    ``both`` are those along the first axis and along the second: None for a parameter, or where the output carries no
    gradient. ``none`` says for each whether backward returned None, which autograd treats as zeros (and zeros are what
    is stored).
    """

    values: Array
    both: tuple[Array | None, Array | None] = (None, None)
    none: tuple[bool, bool] = (False, False)


@dataclass(frozen=True)
class Plane:
    """One output element of an op as a function of two elements (or float parameters).

    ``along`` is the section that sweeps the first, ``across`` the one that sweeps the second; they are equal otherwise.
    ``joint`` sweeps both, with many points in one call; where it is None, the points are evaluated line by line, with
    whatever batching the two sections support.
    """

    along: Section
    across: Section
    joint: Section | None = None

    @property
    def structure(self) -> str:
        """How the points are evaluated: ``together``, ``line by line`` or ``one by one``."""
        if self.joint:
            return "together"
        by_line = [each for each in (self.along, self.across) if not each.sweeps_parameter]
        return "line by line" if by_line and all(each.stacked for each in by_line) else "one by one"

    @property
    def expensive(self) -> bool:
        """Whether a point is expensive: it needs a call of its own, or a large tensor."""
        return not self.joint or self.joint.copy_size > _LARGE

    def line(self, axis: int, held: float) -> Section:
        """The section along one axis, where the other element is ``held``; points share calls as those of the plane."""
        swept, other = (self.along, self.across) if axis == 0 else (self.across, self.along)
        line = swept.holding(other.wrt, held, other.place)
        if self.joint:
            return replace(line, stacked=self.joint.stacked, copies_along=self.joint.copies_along)
        return line

    def forward(self, s: Array, t: Array) -> Array:
        """The output element at every point (s, t), both 1-D, as float64. Raises ``FunctionFailed``."""
        if self.joint:
            return self.joint.forward(np.stack((s, t), -1))
        swept, held, here, there = self.along, self.across, s, t
        if self.across.stacked and not self.along.stacked:
            swept, held, here, there = self.across, self.along, t, s
        found = np.empty(s.size)
        for value, at in _groups(there):
            found[at] = swept.holding(held.wrt, value, held.place).forward(here[at])
        return found

    def backward(self, s: Array, t: Array, grad_output: float) -> GradientField:
        """The output element and both ``grad_input`` at every point (s, t). Raises ``FunctionFailed``."""
        if not self.joint:
            return self._backward_by_lines(s, t, grad_output)
        found = self.joint.backward(np.stack((s, t), -1), grad_output)
        if found.grad_input is None:
            return GradientField(found.values)
        first, second = np.ascontiguousarray(found.grad_input.T)
        return GradientField(found.values, (first, second), (found.missing[0], found.missing[1]))

    def _backward_by_lines(self, s: Array, t: Array, grad_output: float) -> GradientField:
        values, none = np.empty(s.size), [False, False]
        gradients: list[Array | None] = [None, None]
        lines = ((self.along, self.across, s, t), (self.across, self.along, t, s))
        for row, (swept, held, here, there) in enumerate(lines):
            if swept.sweeps_parameter:
                continue
            for value, at in _groups(there):
                returned = swept.holding(held.wrt, value, held.place).backward(here[at], grad_output)
                values[at], none[row] = returned.values, none[row] or returned.none
                if returned.grad_input is not None:
                    gradients[row] = np.zeros(s.size) if gradients[row] is None else gradients[row]
                    cast(Array, gradients[row])[at] = returned.grad_input
        if self.along.sweeps_parameter and self.across.sweeps_parameter:
            values = self.forward(s, t)
        return GradientField(values, (gradients[0], gradients[1]), (none[0], none[1]))


def _groups(values: Array) -> Iterator[tuple[float, NDArray[np.intp]]]:
    """Each distinct value and the indices at which it occurs."""
    order = np.argsort(values, kind="stable")
    unique, first = np.unique(values[order], return_index=True)
    yield from zip(unique.tolist(), np.split(order, first[1:]), strict=True)
