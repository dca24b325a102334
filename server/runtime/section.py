"""A section: the one-dimensional cut t ↦ f(x₀ with one element set to t) through any Function."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache, partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from ...ops import Op
from .arrays import Array
from .batch_size import batch_size
from .failure import Failure, FunctionFailed, Phase, describe_result, failure_of
from .rejected_points import MISSING_VALUE, skip_rejected
from .rng import SEED, seed_all_generators
from .user_call import call_user_code
from .vjp import CopyAxis, Index, Layout, copy_shape, dense, float64_array, make_cotangent, place_of_copies, pull_back


@dataclass(frozen=True)
class BackwardResult:
    """The result of a section's backward: the output element and its ``grad_input`` at every point.

    ``grad_input`` is None for a parameter, or where the output carries no gradient. ``none`` says that
    backward returned None, which autograd treats as zeros (and zeros are what ``grad_input`` holds). ``elements`` is
    the number of elements of the output in all calls together.
    """

    values: Array
    grad_input: Array | None
    none: bool
    elements: int = 0

    def at(self, rows: NDArray[np.intp] | slice) -> BackwardResult:
        """The result at some of the points."""
        gradient = None if self.grad_input is None else self.grad_input[rows]
        return BackwardResult(self.values[rows], gradient, self.none, self.elements)


def _joined(parts: Sequence[BackwardResult]) -> BackwardResult:
    """Results for consecutive parts of the points as one; NaN where only some parts carry a gradient."""
    if len(parts) == 1:
        return parts[0]
    gradients = [np.full(each.values.size, np.nan) if each.grad_input is None else each.grad_input for each in parts]
    return BackwardResult(
        np.concatenate([each.values for each in parts]),
        np.concatenate(gradients) if any(each.grad_input is not None for each in parts) else None,
        any(each.none for each in parts),
        sum(each.elements for each in parts),
    )


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
        with torch.no_grad():
            parts = skip_rejected(lambda part: float64_array(self._run(t[part])), self._chunks(len(t)), MISSING_VALUE)
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

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

        return _joined(skip_rejected(ask, self._chunks(len(t)), BackwardResult(MISSING_VALUE, None, False)))

    def backward_in_one_call(self, t: Array, grad_output: float | Array, layout: Layout = dense) -> BackwardResult:
        """As ``backward``, in a single call, and with no point rejected. Raises ``FunctionFailed``."""
        leaf, out = self._tracked(t)
        values = float64_array(self.element(out, len(t)))
        if not out.requires_grad:
            return BackwardResult(values, None, False, out.numel())
        cotangent = partial(self._cotangent, grad_output=grad_output, copies=values.size, layout=layout)
        gradient = self._pulled(leaf, out, cotangent)
        if gradient is None and len(self.inputs) > 1:
            gradient = self._pulled_with_others(t, cotangent)
        if gradient is None:
            return BackwardResult(values, np.zeros(values.size), True, out.numel())
        return BackwardResult(values, self._of_wrt(gradient), False, out.numel())

    def vjp(self, t: Array, grad_output: Callable[[torch.Tensor], torch.Tensor]) -> Array | None:
        """The vector-Jacobian product in one call: all of ``grad_input``, flat.

        ``grad_output`` makes the cotangent from the output tensor. None for a parameter, or where the output carries
        no gradient. Raises ``FunctionFailed``.
        """
        if self.sweeps_parameter:
            return None
        leaf, out = self._tracked(t)
        if not out.requires_grad:
            return None
        gradient = self._pulled(leaf, out, lambda y: grad_output(y.detach()))
        return np.zeros(leaf.numel()) if gradient is None else float64_array(gradient).reshape(-1)

    def _pulled_with_others(self, t: Array, cotangent: Callable[[torch.Tensor], torch.Tensor]) -> torch.Tensor | None:
        """The gradient where one is asked for each input: alone it may be None, which other calls tell."""
        leaf = self._swept(t).requires_grad_()
        # An in-place Function cannot take a leaf.
        inputs = [
            (leaf if name == self.wrt else self._repeated(name, len(t)).requires_grad_()).clone()
            for name, _ in self.inputs
        ]
        try:
            out = self.output(self.called_with([*inputs, *(value for _, value in self.parameters)]))
            return self._pulled(leaf, out, cotangent) if out.requires_grad else None
        except FunctionFailed:
            return None

    def _pulled(
        self, leaf: torch.Tensor, out: torch.Tensor, cotangent: Callable[[torch.Tensor], torch.Tensor]
    ) -> torch.Tensor | None:
        try:
            return pull_back((out,), (cotangent(out),), (leaf,))[0]
        except FunctionFailed:
            raise
        except Exception as error:
            raise failure_of(error, self.op, "backward" if self.order == 1 else "double backward") from error

    def _cotangent(self, out: torch.Tensor, grad_output: float | Array, copies: int, layout: Layout) -> torch.Tensor:
        place = place_of_copies(out.shape, copies, self.of_index, self.copies_along[1])
        return make_cotangent(out, grad_output, copies, place, layout)

    def _of_wrt(self, gradient: torch.Tensor) -> Array:
        pick = partial(_pick, gradient, self.shape(self.wrt), axis=self.copies_along[0])
        own = float64_array(pick(self.wrt_index))
        return own + float64_array(pick(self.mirror)) if self.mirror else own

    def _tracked(self, t: Array) -> tuple[torch.Tensor, torch.Tensor]:
        """The swept input as a leaf, and the output computed from it.

        An in-place Function cannot take a leaf, and is given a clone.
        """
        leaf = self._swept(t).requires_grad_()
        try:
            return leaf, self.output(self._called(t, leaf))
        except FunctionFailed as error:
            if "a leaf Variable that requires grad" not in error.failure.message:
                raise
        leaf = self._swept(t).requires_grad_()
        return leaf, self.output(self._called(t, leaf.clone()))

    def _run(self, t: Array) -> torch.Tensor:
        return self.element(self.output(self._called(t, None)), len(t))

    def _called(self, t: Array, swept: torch.Tensor | None) -> Any:
        return self.called_with(self._arguments(t, swept))

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

    def forward_and_size(self, t: Array) -> tuple[Array, int]:
        """The output element at every ``t``, and the number of elements of the output in all calls together.

        NaN at a few rejected points, which add no elements. Raises ``FunctionFailed``.
        """
        parts = skip_rejected(lambda part: self.in_one_call(t[part]), self._chunks(len(t)), (MISSING_VALUE, 0))
        return np.concatenate([values for values, _ in parts]), sum(size for _, size in parts)

    def in_one_call(self, t: Array) -> tuple[Array, int]:
        """As ``forward_and_size``, in a single call, and with no point rejected. Raises ``FunctionFailed``."""
        with torch.no_grad():
            out = self.output(self._called(t, None))
            return float64_array(self.element(out, len(t))), out.numel()

    @cached_property
    def _sweeps_number(self) -> bool:
        return math.prod(self.shape(self.wrt)) == 1

    @cached_property
    def copy_size(self) -> int:
        """The number of elements in one copy of the largest stacked input."""
        return max(math.prod(self.shape(name)) for name in self.stacked)

    def element(self, out: torch.Tensor, copies: int) -> torch.Tensor:
        """The element ``of`` of every copy, as a 1-D tensor; raises ``FunctionFailed``."""
        shape = copy_shape(out.shape, copies, self.copies_along[1])
        if out.numel() != copies * math.prod(shape) or not self._fits(shape):
            raise self._wrong(f"{self.phase} returned {self.of!r} of shape {list(out.shape)}: it has no such element.")
        return _pick(out, shape, self.of_index, self.copies_along[1])

    def output(self, y: Any) -> torch.Tensor:
        """The tensor ``of`` in a call's result; raises ``FunctionFailed``."""
        outputs = y if isinstance(y, tuple) else (y,)
        position = self._output_position
        if not (position < len(outputs) and isinstance(outputs[position], torch.Tensor)):
            found = describe_result(y, len(outputs))
            raise self._wrong(f"{self.phase} returned {found} where a tensor {self.of!r} was declared.")
        if outputs[position].is_complex():
            of = self.of
            parts = f"return {of}.real and {of}.imag from call, and declare both as outputs"
            raise self._wrong(f"{self.phase} returned complex numbers where real ones {of!r} were declared; {parts}.")
        return outputs[position]

    @cached_property
    def _output_position(self) -> int:
        return self.op.outputs.index(self.of)

    def _fits(self, shape: Sequence[int]) -> bool:
        if not self.of_index:
            return math.prod(shape) == 1
        return len(self.of_index) == len(shape) and all(i < n for i, n in zip(self.of_index, shape, strict=True))

    def _wrong(self, message: str) -> FunctionFailed:
        return FunctionFailed(Failure(self.phase, "WrongShape", message))

    def _arguments(self, t: Array, swept: torch.Tensor | None) -> Iterator[Any]:
        for name, _ in self.inputs:
            if name == self.wrt:
                yield self._swept(t) if swept is None else swept
            else:
                yield self._repeated(name, len(t))
        for name, value in self.parameters:
            yield float(t[0]) if name == self.wrt else value

    def _swept(self, t: Array) -> torch.Tensor:
        shape = self.shape(self.wrt)
        if self._sweeps_number:
            flat = torch.from_numpy(t.copy()).to(self.device, self.dtype)
            along = self.copies_along[0]
            return flat if len(shape) == 1 and along is not None else flat.reshape(_long(shape, along, t.size))
        tensor = self._repeated(self.wrt, len(t))
        for index in filter(None, (self.wrt_index, self.mirror)):
            _pick(tensor, shape, index, self.copies_along[0]).copy_(torch.from_numpy(t))
        return tensor

    def _repeated(self, name: str, count: int) -> torch.Tensor:
        """A new tensor of so many copies of a held input if it is stacked, else of one."""
        stacked = name in self.stacked
        return self.copies(name, count if stacked else 1, stacked and self.copies_along[0] is None)

    def copies(self, name: str, count: int, above: bool = False) -> torch.Tensor:
        """A new tensor of so many copies of a held input: along ``copies_along``, or ``above`` its first dimension."""
        held, shape, axis = self._tensors[name], self.shape(name), self.copies_along[0]
        if count == 1 and not above:
            return held.clone()
        if axis and not above:
            stack = held.unsqueeze(axis - 1).expand(*shape[:axis], count, shape[axis]).clone()
            return stack.reshape(_long(shape, axis, count))
        # repeat() takes three times as long for a few numbers
        stack = held.expand(count, *shape).clone()
        return stack if above else stack.view(count * shape[0], *shape[1:])

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
        return batch_size(self.copy_size) if self.stacked else 1

    def _chunks(self, count: int) -> Iterator[slice]:
        size = self.batch_size
        if 0 < count <= size:
            return iter((slice(0, count),))
        return (slice(first, min(first + size, count)) for first in range(0, count, size))


def _pick(tensor: torch.Tensor, shape: Index, index: Index, axis: CopyAxis) -> torch.Tensor:
    """The element at ``index`` of every copy in a tensor whose copies, of this ``shape``, lie along ``axis``."""
    if tensor.dim() == 1 and math.prod(shape) == 1:
        return tensor
    if axis:
        return tensor[place_of_copies(tensor.shape, tensor.shape[axis] // shape[axis], index, axis)]
    return tensor.reshape(-1)[_every_copy(shape, index)]


def _long(shape: Index, axis: CopyAxis, count: int) -> list[int]:
    """The shape of so many copies along ``axis``."""
    if axis is None:
        return [count, *shape]
    sizes = list(shape)
    sizes[axis] *= count
    return sizes


@lru_cache(maxsize=1024)
def _every_copy(shape: Index, index: Index) -> slice:
    """Where the element at ``index`` of every copy of a tensor of ``shape`` lies in all of them, flattened."""
    first = sum(i * math.prod(shape[axis + 1 :]) for axis, i in enumerate(index))
    return slice(first, None, math.prod(shape))
