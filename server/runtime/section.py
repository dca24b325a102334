"""A section: the one-dimensional cut t ↦ f(x₀ with one element set to t) through any Function."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from ...ops import Op
from .arguments import returned_values
from .arrays import Array, Mask, dtype_name
from .copies import CopyAxis, Index, apart, copy_shape, pick_elements, place_of, together
from .failure import Failure, FunctionFailed, Phase, describe_result, failure_of
from .rejected_points import MISSING_VALUE, skip_rejected
from .rng import seed_all_generators
from .user_call import call_user_code
from .vjp import Layout, dense, float64_array, make_cotangent, pull_back

_Tensors = dict[str, torch.Tensor]
# budget: limits of one batch: beyond some megabytes bigger batches are slower, and a Function that compares each
# element with every other costs the square of their number.
_BATCH_ELEMENTS = 1 << 20
_BATCH_TENSORS, _BATCH_NUMBERS = 1 << 10, 9 << 10  # budget: the eight steps of 1000 points, and the probes for noise
ROW_ELEMENTS = 1 << 18  # budget: the numbers in one batch of rows (2 MiB of float64)


@dataclass(frozen=True)
class BackwardResult:
    """The result of a section's backward: the output element and its ``grad_input`` at every point.

    ``grad_input`` is None for a parameter, or where the output carries no gradient. Where a point is a row of numbers
    it has as many columns, and where it is all of an input ``values`` are rows of all elements of the output.
    ``missing`` says for each element that was asked for whether backward returned None, which autograd treats as zeros
    (and zeros are what ``grad_input`` holds). ``elements`` is the number of elements of the output in all calls
    together.
    """

    values: Array
    grad_input: Array | None = None
    missing: tuple[bool, ...] = ()
    elements: int = 0

    @property
    def none(self) -> bool:
        """Whether backward returned None."""
        return any(self.missing)

    def at(self, rows: NDArray[np.intp] | slice) -> BackwardResult:
        """The result at some of the points."""
        gradient = None if self.grad_input is None else self.grad_input[rows]
        return BackwardResult(self.values[rows], gradient, self.missing, self.elements)


def joined(parts: Sequence[BackwardResult]) -> BackwardResult:
    """Results for consecutive parts of the points as one; NaN where only some parts carry a gradient."""
    if len(parts) == 1:
        return parts[0]
    columns = next((part.grad_input.shape[1:] for part in parts if part.grad_input is not None), None)
    return BackwardResult(
        np.concatenate([part.values for part in parts]),
        None if columns is None else np.concatenate([_gradient(part, columns) for part in parts]),
        tuple(map(any, zip(*(part.missing for part in parts if part.missing), strict=True))),
        sum(part.elements for part in parts),
    )


def _gradient(part: BackwardResult, columns: tuple[int, ...]) -> Array:
    return np.full((len(part.values), *columns), np.nan) if part.grad_input is None else part.grad_input


_REJECTED = BackwardResult(MISSING_VALUE)


@dataclass(frozen=True)
class Section:
    """One output element ``of`` of an op as a function of one input element (or float parameter) ``wrt``.

    It samples copies of one call, in each of which the same elements vary; all others are held at ``inputs`` (flattened
    in row-major order), all parameters at ``parameters``: both are tuples of (name, value) in the order of the op.
    Points are numbers of the swept element (1-D); an element ``also`` then moves with it, as the other one of a pair in
    a symmetric matrix, and its gradient is added. Or points are rows (2-D): pairs, of the swept element and ``also``,
    or all elements of the input ``wrt``, and then values are rows too, of all elements of the output.

    ``stacked`` names the inputs that are repeated so that many points are evaluated in one call; it is empty where each
    needs a call of its own. ``copies_along`` are the dimensions of these inputs, and of the output, along which the
    copies lie. ``call`` is what is evaluated: the op, or its surrogate. ``order`` is 2 where the op is itself the
    backward of another (``numerics.second_order.grad_input``). With a ``draw``, a seed, all calls draw the same random
    numbers.
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
    draw: int | None = None
    also: tuple[str, Index] | None = None

    @property
    def one_draw(self) -> bool:
        """Whether all calls draw the same random numbers."""
        return self.draw is not None

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
        return place_of(self.wrt_index, self.shape(self.wrt))

    @property
    def held(self) -> float:
        """The number at which the swept element itself is held."""
        return float(self.here[self.place])

    @cached_property
    def here(self) -> Array:
        """The held value of ``wrt``, flat in row-major order; a parameter is one number."""
        parameter = dict(self.parameters).get(self.wrt)
        here = np.array(dict(self.inputs)[self.wrt] if parameter is None else (parameter,), dtype=np.float64)
        here.flags.writeable = False
        return here

    @cached_property
    def whole_output(self) -> torch.Tensor:
        """All of the output of one copy where everything is held. Raises ``FunctionFailed`` where forward fails."""
        alone = self.alone()
        with torch.no_grad():
            return alone._output_with(self.here[None], alone._swept(self.here[None]))

    @property
    def integer(self) -> str:
        """The name of an integer or boolean output dtype, which has no gradient; empty for real or complex ones."""
        dtype = self.whole_output.dtype
        return "" if dtype.is_floating_point or dtype.is_complex else dtype_name(dtype)

    @cached_property
    def size(self) -> int:
        """The number of elements of the output of one copy. Raises ``FunctionFailed`` where forward fails."""
        return self.whole_output.numel()

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
        """The values at every point of ``t``, NaN at a few rejected points. Raises ``FunctionFailed``."""
        return self.forward_alone(t).values

    def forward_alone(self, t: Array) -> BackwardResult:
        """As ``backward``, of what forward says alone: at rejected points no element. Raises ``FunctionFailed``."""
        return self._in_calls(t, lambda part: self.in_one_call(t[part]))

    def willing(self, rows: Array, only: slice = slice(None)) -> Array:
        """As ``forward`` of rows, or of ``only`` some elements of the output, with NaN wherever it is rejected."""
        parts = []
        for part in self._chunks(rows):
            try:
                parts.append(self.in_one_call(rows[part]).values[:, only])
            except FunctionFailed:
                if part.stop - part.start == 1:
                    parts.append(np.full((1, self.size), np.nan)[:, only])
                else:
                    parts.append(self.alone().willing(rows[part], only))
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
        """The values and their ``grad_input`` for ``grad_output``, at every point of ``t``, as float64.

        ``grad_output`` is one number, or one for every point; all other output elements get 0. Where a point is all of
        an input it is a row for every point. ``layout`` decides the memory layout of that tensor. Raises
        ``FunctionFailed``.
        """
        if self.sweeps_parameter:
            return BackwardResult(self.forward(t))

        def ask(part: slice) -> BackwardResult:
            given = grad_output[part] if isinstance(grad_output, np.ndarray) else grad_output
            return self.backward_in_one_call(t[part], given, layout)

        return self._in_calls(t, ask)

    def gradient(self, t: Array, grad_output: float | Array, layout: Layout = dense) -> Array:
        """The ``grad_input`` of ``backward``, 0 where there is none. Raises ``FunctionFailed``."""
        found = self.backward(t, grad_output, layout).grad_input
        return np.zeros(t.shape) if found is None else found

    def backward_in_one_call(self, t: Array, grad_output: float | Array, layout: Layout = dense) -> BackwardResult:
        """As ``backward``, in a single call, and with no point rejected. Raises ``FunctionFailed``."""
        (leaves, out), copies, (along, of) = self._tracked(t), len(t), self.copies_along
        whole = self._is_whole(t)
        values, index = float64_array(self.elements(out, copies, whole)), None if whole else self.of_index
        if not out.requires_grad:
            return BackwardResult(values, elements=out.numel())

        def cotangent(out: torch.Tensor) -> torch.Tensor:
            return make_cotangent(out, grad_output, copies, index, of, layout)

        found = self._pulled(leaves, out, cotangent)
        if found[self.wrt] is None and len(leaves) == 1 < len(self.inputs):
            found[self.wrt] = self._pulled_with_others(t, cotangent)
        if whole:
            gradient = found[self.wrt]
            rows = None if gradient is None else float64_array(apart(gradient, copies, along)).reshape(t.shape)
            return BackwardResult(values, np.zeros(t.shape) if rows is None else rows, (rows is None,), out.numel())
        columns: tuple[Array, ...] = ()
        missing: tuple[bool, ...] = ()
        for name, place in self._moving:
            gradient = found[name]
            picked = None if gradient is None else pick_elements(gradient, copies, place, along)
            columns += (np.zeros(copies) if picked is None else float64_array(picked),)
            missing += (picked is None,)
        own = columns[0] if not self.also else columns[0] + columns[1] if t.ndim == 1 else np.stack(columns, -1)
        return BackwardResult(values, own, missing, out.numel())

    def vjp(self, t: Array, grad_output: Callable[[torch.Tensor], torch.Tensor]) -> Array | None:
        """The vector-Jacobian product in one call: all of ``grad_input``, flat.

        ``grad_output`` makes the cotangent from the output tensor. None for a parameter, or where the output carries
        no gradient. Raises ``FunctionFailed``.
        """
        if self.sweeps_parameter:
            return None
        leaves, out = self._tracked(t)
        if not out.requires_grad:
            return None
        gradient = self._pulled(leaves, out, lambda y: grad_output(y.detach()))[self.wrt]
        return np.zeros(leaves[self.wrt].numel()) if gradient is None else float64_array(gradient).reshape(-1)

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

    def _tracked(self, t: Array) -> tuple[_Tensors, torch.Tensor]:
        """The swept inputs as leaves, and the output computed from them.

        An in-place Function cannot take a leaf, and is given a clone.
        """
        leaves = self._swept(t)
        for leaf in leaves.values():
            leaf.requires_grad_()
        try:
            return leaves, self._output_with(t, leaves)
        except FunctionFailed as error:
            if "a leaf Variable that requires grad" not in error.failure.message:
                raise
        leaves = {name: each.requires_grad_() for name, each in self._swept(t).items()}
        return leaves, self._output_with(t, {name: each.clone() for name, each in leaves.items()})

    def _output_with(self, t: Array, swept: _Tensors) -> torch.Tensor:
        inputs = [swept[name] if name in swept else self.repeated(name, len(t)) for name, _ in self.inputs]
        parameters = [t[0].item() if name == self.wrt else value for name, value in self.parameters]
        return self.output(self.called_with(inputs + parameters))

    def called_with(self, arguments: Sequence[Any]) -> Any:
        """What the Function returns for these arguments, inputs first. Raises ``FunctionFailed``."""
        if self.draw is not None:
            seed_all_generators(self.draw)
        try:
            return call_user_code(self.call, *arguments)
        except FunctionFailed:
            raise
        except Exception as error:
            raise failure_of(error, self.op, self.phase) from error

    def in_one_call(self, t: Array) -> BackwardResult:
        """As ``forward_alone``, in a single call, and with no point rejected. Raises ``FunctionFailed``."""
        tracked = torch.is_grad_enabled()
        torch._C._set_grad_enabled(False)  # a fifth of what torch.no_grad() takes
        try:
            out = self._output_with(t, self._swept(t))
            values = self.elements(out, len(t), self._is_whole(t))
            return BackwardResult(float64_array(values), elements=out.numel())
        finally:
            torch._C._set_grad_enabled(tracked)

    @cached_property
    def copy_size(self) -> int:
        """The number of elements in one copy of the largest stacked input."""
        return max(math.prod(self.shape(name)) for name in self.stacked)

    def elements(self, out: torch.Tensor, copies: int, whole: bool = False) -> torch.Tensor:
        """The element ``of`` of every copy, or a row of the ``whole`` output for each; raises ``FunctionFailed``."""
        along = self.copies_along[1]
        if out.shape == (copies,) and not (self.of_index or whole):
            return out
        if whole and out.numel() != copies * self.size:
            raise self.wrong(f"returned {self.of!r} in several shapes")
        shape = copy_shape(out.shape, copies, along)
        if shape is None or not (whole or self._fits(shape)):
            raise self.wrong(f"returned {self.of!r} of shape {list(out.shape)}: it has no such element.")
        if whole:
            return apart(out, copies, along).reshape(copies, -1)
        return pick_elements(out, copies, self.of_index, along)

    def output(self, y: Any) -> torch.Tensor:
        """The tensor ``of`` in a call's result; raises ``FunctionFailed``."""
        outputs, position = returned_values(y), self.op.outputs.index(self.of)
        found = outputs[position] if position < len(outputs) else None
        if not isinstance(found, torch.Tensor):
            described = describe_result(y, len(outputs))
            raise self.wrong(f"returned {described} where a tensor {self.of!r} was declared.")
        if found.is_complex():
            of = self.of
            parts = f"return {of}.real and {of}.imag from call, and declare both as outputs"
            raise self.wrong(f"returned complex numbers where real ones {of!r} were declared; {parts}.")
        return found

    def _fits(self, shape: Sequence[int]) -> bool:
        if not self.of_index:
            return math.prod(shape) == 1
        return len(self.of_index) == len(shape) and all(i < n for i, n in zip(self.of_index, shape, strict=True))

    def wrong(self, message: str) -> FunctionFailed:
        """The failure of a call that did this wrong."""
        return FunctionFailed(Failure(self.phase, "WrongShape", f"{self.phase} {message}"))

    @cached_property
    def _moving(self) -> tuple[tuple[str, Index], ...]:
        """The elements that vary where points are no rows of all of them, the swept one first."""
        own = (self.wrt, self.wrt_index)
        return (own, self.also) if self.also else (own,)

    def _is_whole(self, t: Array) -> bool:
        """Whether points are rows of all elements of ``wrt``."""
        return t.ndim > 1 and not self.also

    def _swept(self, t: Array) -> _Tensors:
        """New tensors of the inputs that are swept, with their elements at the points ``t``."""
        if self.wrt not in self._shapes:
            return {}  # a parameter
        shape, along, count = self.shape(self.wrt), self.copies_along[0], len(t)
        if not self.also and (t.ndim > 1 or self.here.size == 1):
            flat = torch.from_numpy(t.copy()).to(self.device, self.dtype)
            kept = t.ndim == len(shape) == 1 and along is not None
            return {self.wrt: flat if kept else together(flat.reshape(count, *shape), along)}
        tensors: _Tensors = {}
        for (name, index), column in zip(self._moving, (t, t) if t.ndim == 1 else t.T, strict=False):
            if name not in tensors:
                tensors[name] = self.repeated(name, count)
            pick_elements(tensors[name], count, index, along).copy_(torch.from_numpy(column))
        return tensors

    def repeated(self, name: str, count: int) -> torch.Tensor:
        """A new tensor of so many copies of a held input along ``copies_along`` if it is stacked, else of one."""
        held, axis = self._tensors[name], self.copies_along[0]
        if name not in self.stacked or (count == 1 and axis is not None):
            return held.clone()
        # repeat() takes three times as long for a few numbers
        return together(held.expand(count, *held.shape).clone(), axis)

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

    @cached_property
    def most_rows(self) -> int:
        """The most rows of all elements of ``wrt`` that share a call."""
        return max(1, ROW_ELEMENTS // max(self.here.size, self.size)) if self.stacked else 1

    def _in_calls(self, t: Array, ask: Callable[[slice], BackwardResult]) -> BackwardResult:
        """What is asked for all points, as many at once as share a call; of rows none may be rejected."""
        return joined(skip_rejected(ask, self._chunks(t), None if self._is_whole(t) else _REJECTED))

    def _chunks(self, t: Array) -> list[slice]:
        count, size = len(t), self.most_rows if self._is_whole(t) else self.batch_size
        return [slice(first, min(first + size, count)) for first in range(0, count, size)]
