"""A section: the one-dimensional cut t ↦ f(x₀ with one element set to t) through any Function."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from ...ops import Op
from .arrays import Array, Mask
from .failure import Failure, FunctionFailed, Phase, describe_result, failure_of
from .rejected_points import MISSING_VALUE, skip_rejected
from .rng import SEED, seed_all_generators
from .user_call import call_user_code
from .vjp import (
    CopyAxis,
    Index,
    Layout,
    copy_shape,
    dense,
    float64_array,
    make_cotangent,
    pick_element,
    place_of_copies,
    pull_back,
    stacked_shape,
)

_Tensors = dict[str, torch.Tensor]
# budget: limits of one batch: beyond some megabytes bigger batches are slower, and a Function that compares each
# element with every other costs the square of their number.
_BATCH_ELEMENTS = 1 << 20
_BATCH_TENSORS, _BATCH_NUMBERS = 1 << 10, 9 << 10  # budget: the eight steps of 1000 points, and the probes for noise


@dataclass(frozen=True)
class BackwardResult:
    """The result of a section's backward: the output element and its ``grad_input`` at every point.

    ``grad_input`` is None for a parameter, or where the output carries no gradient; where two elements are swept it has
    a column for each. ``none`` says that backward returned None, which autograd treats as zeros (and zeros are what
    ``grad_input`` holds), ``missing`` for which of two. ``elements`` is the number of elements of the output in all
    calls together.
    """

    values: Array
    grad_input: Array | None
    none: bool
    elements: int = 0
    missing: tuple[bool, ...] = ()

    def at(self, rows: NDArray[np.intp] | slice) -> BackwardResult:
        """The result at some of the points."""
        gradient = None if self.grad_input is None else self.grad_input[rows]
        return BackwardResult(self.values[rows], gradient, self.none, self.elements, self.missing)


def joined(parts: Sequence[BackwardResult]) -> BackwardResult:
    """Results for consecutive parts of the points as one; NaN where only some parts carry a gradient."""
    if len(parts) == 1:
        return parts[0]
    columns = next((each.grad_input.shape[1:] for each in parts if each.grad_input is not None), None)
    return BackwardResult(
        np.concatenate([each.values for each in parts]),
        None if columns is None else np.concatenate([_gradient(each, columns) for each in parts]),
        any(each.none for each in parts),
        sum(each.elements for each in parts),
        tuple(map(any, zip(*(each.missing for each in parts if each.missing), strict=True))),
    )


def _gradient(part: BackwardResult, columns: tuple[int, ...]) -> Array:
    return np.full((part.values.size, *columns), np.nan) if part.grad_input is None else part.grad_input


@dataclass(frozen=True)
class Section:
    """One output element ``of`` of an op as a function of one input element (or float parameter) ``wrt``.

    All other elements are held at ``inputs`` (flattened in row-major order), all parameters at
    ``parameters``; both are tuples of (name, value) in the order of the op. ``stacked`` names the inputs
    that are repeated so that many t are evaluated in one call; it is empty where every t needs a call of its own.
    ``copies_along`` are the dimensions of these inputs, and of the output, along which the copies lie; None stands for
    a new one before the others. ``call`` is what is evaluated: the op, or its surrogate. ``order`` is 2 where the op is
    itself the backward of another (``numerics.second_order.grad_input``). With ``one_draw`` all calls draw the same
    random numbers. In a symmetric input the element at ``mirror`` moves with the swept one, and its gradient is added.
    With ``across`` another element is swept as well, and points are pairs. Methods that return whole outputs, and whole
    gradients, also take a row for each point: all elements of the input ``wrt``.
    """

    op: Op
    call: Callable[..., Any]
    wrt: str
    wrt_index: Index
    of: str
    of_index: Index
    inputs: tuple[tuple[str, tuple[float, ...]], ...]
    parameters: tuple[tuple[str, float | int | bool | str], ...]
    dtype: torch.dtype = torch.float64
    device: str = "cpu"
    stacked: tuple[str, ...] = ()
    copies_along: tuple[CopyAxis, CopyAxis] = (0, 0)
    order: int = 1
    one_draw: bool = False
    mirror: Index = ()
    across: tuple[str, Index] | None = None

    @cached_property
    def sweeps_parameter(self) -> bool:
        """Whether ``wrt`` is a parameter: a plain number, which has no gradient."""
        return any(name == self.wrt for name, _ in self.parameters)

    @property
    def phase(self) -> Phase:
        """What a call of it is: the op's forward, or that of its surrogate."""
        return "surrogate" if self.call is not self.op else "forward"

    def at(self, dtype: torch.dtype, device: str) -> Section:
        """The same section in another dtype, on another device."""
        return replace(self, dtype=dtype, device=device)

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return hash(tuple(getattr(self, each) for each in self.__dataclass_fields__))

    @cached_property
    def place(self) -> int:
        """Where the swept element is in its flattened tensor, and its namesake in any other of that shape."""
        return int(np.ravel_multi_index(self.wrt_index, self.shape(self.wrt))) if self.wrt_index else 0

    @property
    def held(self) -> float:
        """The number at which the swept element itself is held."""
        parameter = dict(self.parameters).get(self.wrt)
        return dict(self.inputs)[self.wrt][self.place] if parameter is None else float(parameter)

    def holding(self, name: str, value: float, place: int | None = None) -> Section:
        """The same with another number held: as a parameter, or in an input, at this place or that of what is swept."""
        at = self.place if place is None else place
        inputs = ((each, (*old[:at], value, *old[at + 1 :]) if each == name else old) for each, old in self.inputs)
        parameters = ((each, value if each == name else old) for each, old in self.parameters)
        return replace(self, inputs=tuple(inputs), parameters=tuple(parameters))

    def alone(self, **changes: Any) -> Section:
        """The same section with these changes, where every t has a call of its own."""
        if not (self.stacked or changes):
            return self
        return replace(self, stacked=(), copies_along=(0, 0), **changes)

    def snap(self, t: Array) -> Array:
        """``t`` rounded to the section's dtype."""
        if self.dtype == torch.float64:
            return t
        return float64_array(torch.from_numpy(t).to(self.dtype))

    def forward(self, t: Array) -> Array:
        """The output element at every ``t`` (1-D), NaN at a few rejected points. Raises ``FunctionFailed``."""
        parts = skip_rejected(lambda part: self.in_one_call(t[part])[0], self._chunks(len(t)), MISSING_VALUE)
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def forward_within(self, t: Array, within: Mask) -> Array:
        """As ``forward`` at the points ``within`` a range, NaN at the others, where it is not called."""
        if within.all():
            return self.forward(t)
        y = np.full(t.shape, np.nan)
        if within.any():
            y[within] = self.forward(t[within])
        return y

    def backward(self, t: Array, grad_output: float | Array, layout: Layout = dense) -> BackwardResult:
        """The output element and its ``grad_input`` for ``grad_output``, at every ``t`` (1-D), as float64.

        ``grad_output`` is one number, or one for every ``t``; all other output elements get 0. ``layout`` decides
        the memory layout of that tensor. Raises ``FunctionFailed``.
        """
        if self.sweeps_parameter:
            return BackwardResult(self.forward(t), None, False)

        def ask(part: slice) -> BackwardResult:
            given = grad_output[part] if isinstance(grad_output, np.ndarray) else grad_output
            return self.backward_in_one_call(t[part], given, layout)

        return joined(skip_rejected(ask, self._chunks(len(t)), BackwardResult(MISSING_VALUE, None, False)))

    def gradient(self, t: Array, grad_output: float | Array, layout: Layout = dense) -> Array:
        """The ``grad_input`` of ``backward``, 0 where there is none. Raises ``FunctionFailed``."""
        found = self.backward(t, grad_output, layout).grad_input
        return np.zeros(t.shape) if found is None else found

    def backward_in_one_call(self, t: Array, grad_output: float | Array, layout: Layout = dense) -> BackwardResult:
        """As ``backward``, in a single call, and with no point rejected. Raises ``FunctionFailed``."""
        leaves, out = self._tracked(t)
        values = float64_array(self.element(out, len(t)))
        if not out.requires_grad:
            return BackwardResult(values, None, False, out.numel())

        def cotangent(out: torch.Tensor) -> torch.Tensor:
            place = place_of_copies(out.shape, values.size, self.of_index, self.copies_along[1])
            return make_cotangent(out, grad_output, values.size, place, layout)

        found = self._pulled(leaves, out, cotangent)
        if self.across:
            columns, elements = np.zeros((values.size, 2)), ((self.wrt, self.wrt_index), self.across)
            for column, (name, index) in enumerate(elements):
                if (gradient := found[name]) is not None:
                    columns[:, column] = self._picked(gradient, name, index)
            missing = tuple(found[name] is None for name, _ in elements)
            return BackwardResult(values, columns, any(missing), out.numel(), missing)
        gradient = found[self.wrt]
        if gradient is None and len(self.inputs) > 1:
            gradient = self._pulled_with_others(t, cotangent)
        if gradient is None:
            return BackwardResult(values, np.zeros(values.size), True, out.numel())
        own = float64_array(pick_element(gradient, self.shape(self.wrt), self.wrt_index, self.copies_along[0]))
        own = own + self._picked(gradient, self.wrt, self.mirror) if self.mirror else own
        return BackwardResult(values, own, False, out.numel())

    def vjp(self, t: Array, grad_output: Callable[[torch.Tensor], torch.Tensor]) -> Array | None:
        """The vector-Jacobian product in one call: all of ``grad_input``, flat.

        ``grad_output`` makes the cotangent from the output tensor. None for a parameter, or where the output carries
        no gradient. Raises ``FunctionFailed``.
        """
        return self.vjp_or_none(t, grad_output)[0]

    def vjp_or_none(self, t: Array, grad_output: Callable[[torch.Tensor], torch.Tensor]) -> tuple[Array | None, bool]:
        """As ``vjp``, and whether backward returned None, which autograd treats as zeros."""
        if self.sweeps_parameter:
            return None, False
        leaves, out = self._tracked(t)
        if not out.requires_grad:
            return None, False
        gradient = self._pulled(leaves, out, lambda y: grad_output(y.detach()))[self.wrt]
        if gradient is None:
            return np.zeros(leaves[self.wrt].numel()), True
        return float64_array(gradient).reshape(-1), False

    def _pulled_with_others(self, t: Array, cotangent: Callable[[torch.Tensor], torch.Tensor]) -> torch.Tensor | None:
        """The gradient where one is asked for each input: alone it may be None, which other calls tell."""
        leaf = self._swept(t)[self.wrt].requires_grad_()
        # An in-place Function cannot take a leaf.
        inputs = [
            (leaf if name == self.wrt else self.repeated(name, len(t)).requires_grad_()).clone()
            for name, _ in self.inputs
        ]
        try:
            out = self.output(self.called_with([*inputs, *(value for _, value in self.parameters)]))
            return self._pulled({self.wrt: leaf}, out, cotangent)[self.wrt] if out.requires_grad else None
        except FunctionFailed:
            return None

    def _pulled(
        self, leaves: _Tensors, out: torch.Tensor, cotangent: Callable[[torch.Tensor], torch.Tensor]
    ) -> dict[str, torch.Tensor | None]:
        try:
            return dict(zip(leaves, pull_back((out,), (cotangent(out),), leaves.values()), strict=True))
        except FunctionFailed:
            raise
        except Exception as error:
            raise failure_of(error, self.op, "backward" if self.order == 1 else "double backward") from error

    def _picked(self, gradient: torch.Tensor, name: str, index: Index) -> Array:
        return float64_array(pick_element(gradient, self.shape(name), index, self.copies_along[0]))

    def _tracked(self, t: Array) -> tuple[_Tensors, torch.Tensor]:
        """The swept inputs as leaves, and the output computed from them.

        An in-place Function cannot take a leaf, and is given a clone.
        """
        for name in (leaves := self._swept(t)):
            leaves[name].requires_grad_()
        try:
            return leaves, self._output_with(t, leaves)
        except FunctionFailed as error:
            if "a leaf Variable that requires grad" not in error.failure.message:
                raise
        leaves = {name: each.requires_grad_() for name, each in self._swept(t).items()}
        return leaves, self._output_with(t, {name: each.clone() for name, each in leaves.items()})

    def whole_output(self, t: Array, shared: bool = False) -> torch.Tensor:
        """The output of one call, with all copies of it; rows may be ``shared`` with it. Raises ``FunctionFailed``."""
        return self._output_with(t, self._swept(t, shared))

    def _output_with(self, t: Array, swept: _Tensors) -> torch.Tensor:
        return self.output(self.called_with(self._arguments(t, swept)))

    def called_with(self, arguments: Iterable[Any]) -> Any:
        """What the Function returns for these arguments, inputs first. Raises ``FunctionFailed``."""
        arguments = list(arguments)
        if self.one_draw:
            seed_all_generators(SEED)
        try:
            return call_user_code(self.call, *arguments)
        except FunctionFailed:
            raise
        except Exception as error:
            raise failure_of(error, self.op, self.phase) from error

    def forward_alone(self, t: Array) -> BackwardResult:
        """As ``backward``, of what forward says alone: at rejected points no element. Raises ``FunctionFailed``."""
        parts = skip_rejected(lambda part: self.in_one_call(t[part]), self._chunks(len(t)), (MISSING_VALUE, 0))
        return BackwardResult(np.concatenate([each for each, _ in parts]), None, False, sum(size for _, size in parts))

    def in_one_call(self, t: Array) -> tuple[Array, int]:
        """The output element at every ``t`` and the size of the output of a single call; no point is rejected.

        Raises ``FunctionFailed``.
        """
        with torch.no_grad():
            out = self.whole_output(t)
            return float64_array(self.element(out, len(t))), out.numel()

    @cached_property
    def copy_size(self) -> int:
        """The number of elements in one copy of the largest stacked input."""
        return max(math.prod(self.shape(name)) for name in self.stacked)

    def element(self, out: torch.Tensor, copies: int) -> torch.Tensor:
        """The element ``of`` of every copy, as a 1-D tensor; raises ``FunctionFailed``."""
        shape = copy_shape(out.shape, copies, self.copies_along[1])
        if out.numel() != copies * math.prod(shape) or not self._fits(shape):
            raise self._wrong(f"{self.phase} returned {self.of!r} of shape {list(out.shape)}: it has no such element.")
        return pick_element(out, shape, self.of_index, self.copies_along[1])

    def output(self, y: Any) -> torch.Tensor:
        """The tensor ``of`` in a call's result; raises ``FunctionFailed``."""
        outputs, position = y if isinstance(y, tuple) else (y,), self.op.outputs.index(self.of)
        if not (position < len(outputs) and isinstance(outputs[position], torch.Tensor)):
            found = describe_result(y, len(outputs))
            raise self._wrong(f"{self.phase} returned {found} where a tensor {self.of!r} was declared.")
        if outputs[position].is_complex():
            of = self.of
            parts = f"return {of}.real and {of}.imag from call, and declare both as outputs"
            raise self._wrong(f"{self.phase} returned complex numbers where real ones {of!r} were declared; {parts}.")
        return outputs[position]

    def _fits(self, shape: Sequence[int]) -> bool:
        if not self.of_index:
            return math.prod(shape) == 1
        return len(self.of_index) == len(shape) and all(i < n for i, n in zip(self.of_index, shape, strict=True))

    def _wrong(self, message: str) -> FunctionFailed:
        return FunctionFailed(Failure(self.phase, "WrongShape", message))

    def _arguments(self, t: Array, swept: _Tensors) -> Iterator[Any]:
        for name, _ in self.inputs:
            yield swept[name] if name in swept else self.repeated(name, len(t))
        for name, value in self.parameters:
            yield t[0].item() if name == self.wrt else value

    def _swept(self, t: Array, shared: bool = False) -> _Tensors:
        """New tensors of the inputs that are swept, with their elements at the points ``t``."""
        if self.wrt not in self._shapes:
            return {}  # a parameter
        shape, along = self.shape(self.wrt), self.copies_along[0]
        if math.prod(shape) == 1 if t.ndim == 1 else not self.across:
            flat = torch.from_numpy(t if shared else t.copy()).to(self.device, self.dtype)
            kept = t.ndim == len(shape) == 1 and along is not None
            return {self.wrt: flat if kept else flat.reshape(stacked_shape(shape, along, len(t)))}
        tensors, columns = {self.wrt: self.repeated(self.wrt, len(t))}, (t, t) if t.ndim == 1 else t.T
        pick_element(tensors[self.wrt], shape, self.wrt_index, along).copy_(torch.from_numpy(columns[0]))
        if self.across or self.mirror:
            name, index = self.across or (self.wrt, self.mirror)
            if name not in tensors:
                tensors[name] = self.repeated(name, len(t))
            pick_element(tensors[name], self.shape(name), index, along).copy_(torch.from_numpy(columns[1]))
        return tensors

    def repeated(self, name: str, count: int) -> torch.Tensor:
        """A new tensor of so many copies of a held input along ``copies_along`` if it is stacked, else of one."""
        held, axis = self._tensors[name], self.copies_along[0]
        if name not in self.stacked or (count == 1 and axis is not None):
            return held.clone()
        shape = self.shape(name)
        if axis:
            stack = held.unsqueeze(axis - 1).expand(*shape[:axis], count, shape[axis]).clone()
            return stack.reshape(stacked_shape(shape, axis, count))
        # repeat() takes three times as long for a few numbers
        stack = held.expand(count, *shape).clone()
        return stack if axis is None else stack.view(count * shape[0], *shape[1:])

    def shape(self, name: str) -> Index:
        """The shape of one copy of an input; a single number, a parameter too, is a tensor of one element."""
        return self._shapes.get(name, (1,))

    @cached_property
    def _tensors(self) -> dict[str, torch.Tensor]:
        """The held inputs; only copies of them are passed to a Function."""
        return {
            name: torch.tensor(values, dtype=self.dtype, device=self.device).reshape(self.shape(name))
            for name, values in self.inputs
        }

    @cached_property
    def _shapes(self) -> dict[str, Index]:
        return {each.name: each.shape or (1,) for each in self.op.inputs}

    @cached_property
    def batch_size(self) -> int:
        """The most points that share a call."""
        if not self.stacked:
            return 1
        size = self.copy_size
        return max(1, min(_BATCH_ELEMENTS // size, _BATCH_TENSORS if size > 1 else _BATCH_NUMBERS))

    def _chunks(self, count: int) -> Iterator[slice]:
        size = self.batch_size
        if 0 < count <= size:
            return iter((slice(0, count),))
        return (slice(first, min(first + size, count)) for first in range(0, count, size))
