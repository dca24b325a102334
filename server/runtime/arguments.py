"""Argument binding: from the inputs and parameters of an ``Op`` to the positional arguments of its Function."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import torch

from ...ops import Op
from .kept_values import keep_values


@dataclass(frozen=True)
class PassedArgument:
    """An argument taken from the op's own arguments, at position ``place``.

    With ``scalar`` the tensor is reshaped to zero dimensions; with ``dtype`` it is cast; with ``kept`` its
    values are kept to be of that kind.
    """

    place: int
    scalar: bool = False
    dtype: torch.dtype | None = None
    kept: str = ""

    def of(self, given: tuple[Any, ...]) -> Any:
        """The argument, given all arguments of the op."""
        value = given[self.place]
        if self.scalar and value.dim():
            value = value.reshape(())
        value = keep_values(value, self.kept) if self.kept else value
        return value if self.dtype is None else value.to(self.dtype)


@dataclass(frozen=True, eq=False)
class ConstantArgument:
    """A constant argument, passed as a copy because a Function may write into it.

    A tensor moves to the device of the op's first argument, and takes its dtype too if it ``follows``. If that
    argument has as many rows, ``beside`` is its shape: where it is a stack of copies, so is the constant.
    ``undeclared`` names one that is held constant though nobody declared so; ``data`` says that it is held as data.
    """

    value: Any
    follows: bool = False
    beside: tuple[int, ...] = ()
    undeclared: str = ""
    data: bool = False

    def of(self, given: tuple[Any, ...]) -> Any:
        """A copy of the constant, on the device of the op's first argument."""
        if isinstance(self.value, torch.Tensor):
            like: torch.Tensor = given[0]
            stack = self._stacked(self.value, tuple(like.shape))
            return stack.to(like.device, like.dtype if self.follows else self.value.dtype, copy=True)
        return copy_if_mutable(self.value)

    def _stacked(self, value: torch.Tensor, shape: tuple[int, ...]) -> torch.Tensor:
        if not self.beside or shape == self.beside:
            return value
        if shape[1:] == self.beside:
            return value.expand(shape[0], *value.shape)
        if shape[1:] == self.beside[1:] and shape[0] % self.beside[0] == 0:
            return value.repeat(shape[0] // self.beside[0], *[1] * (value.dim() - 1))
        return value


@dataclass(frozen=True)
class ComplexArgument:
    """A complex argument, put together from two arguments of real numbers.

    Autograd hands the real and the imaginary part of what backward returns for it to each of the two: by torch's
    convention these are the derivatives of a real loss by the real and by the imaginary part.
    """

    real: PassedArgument | ConstantArgument
    imag: PassedArgument | ConstantArgument

    @property
    def held(self) -> torch.Tensor | None:
        """The tensor that is constant; None for one that is taken from the op's own arguments."""
        parts = [each.value for each in (self.real, self.imag) if isinstance(each, ConstantArgument)]
        return torch.complex(*parts) if len(parts) == len(PARTS) else None

    def of(self, given: tuple[Any, ...]) -> Any:
        """The complex tensor, given all arguments of the op. Raises ``TypeError`` where torch has no such dtype."""
        real, imag = self.real.of(given), self.imag.of(given)
        if real.dtype == torch.bfloat16:
            raise TypeError("there are no complex numbers of bfloat16")
        return torch.complex(real, imag)


BoundArgument = PassedArgument | ConstantArgument | ComplexArgument


def passed_parts(argument: BoundArgument) -> list[PassedArgument]:
    """What an argument is of the op's own arguments: nothing of a constant, both parts of a complex one."""
    parts = (argument.real, argument.imag) if isinstance(argument, ComplexArgument) else (argument,)
    return [each for each in parts if isinstance(each, PassedArgument)]


@dataclass(frozen=True, eq=False)
class BoundFunction:
    """The callable of an ``Op``: ``function`` with each of its arguments, in the order of ``forward``.

    With ``in_parts`` a complex output is returned as two: its real part and its imaginary part.
    """

    function: Callable[..., Any]
    arguments: tuple[BoundArgument, ...]
    in_parts: bool = False

    def __call__(self, *given: Any) -> Any:
        """Call the Function with the inputs and parameters of an op, in the order declared."""
        returned = as_tensor_or_tuple(callable_of(self.function)(*(each.of(given) for each in self.arguments)))
        return real_outputs(returned) if self.in_parts else returned


PARTS = (".real", ".imag")  # what follows the name of a complex tensor in the names of its two parts


def real_outputs(returned: Any) -> Any:
    """A call's result with the real and the imaginary part in place of each complex tensor."""
    outputs = result_tuple(returned)
    if not any(map(is_complex_tensor, outputs)):
        return returned
    return tuple(part for each in outputs for part in (complex_parts(each) if is_complex_tensor(each) else (each,)))


def is_complex_tensor(value: Any) -> bool:
    """Whether a value is a tensor of complex numbers."""
    return isinstance(value, torch.Tensor) and value.is_complex()


def complex_parts(tensor: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The real and the imaginary part of a complex tensor."""
    return tensor.real, tensor.imag.resolve_neg()


def input_shape(op: Op, name: str) -> tuple[int, ...]:
    """The shape of one copy of an input: a single number has shape (1,), or () where the Function wants a scalar."""
    place, each = next((place, each) for place, each in enumerate(op.inputs) if each.name == name)
    taken = op.call.arguments if isinstance(op.call, BoundFunction) else ()
    without = any(part.place == place and part.scalar for one in taken for part in passed_parts(one))
    return each.shape or (() if without else (1,))


_LEAST_BYTES = 2  # unit: of a floating number that torch computes with


def callable_of(function: Callable[..., Any]) -> Callable[..., Any]:
    """The callable behind a Function (its ``apply``) or a plain function of tensors (itself)."""
    is_class = isinstance(function, type) and issubclass(function, torch.autograd.Function)
    return function.apply if is_class else function  # type: ignore[attr-defined]


def as_tensor_or_tuple(returned: Any) -> Any:
    """A call's result as a tensor or tuple: lists and dicts, which a plain function may return, become tuples."""
    if isinstance(returned, dict):
        return tuple(returned.values())
    return tuple(returned) if isinstance(returned, list) else returned


def unsupported(value: Any) -> str:
    """What a tensor is that cannot be looked at: one of float8, or of a class with operations of its own; else ""."""
    if not isinstance(value, torch.Tensor):
        return ""
    if type(value).__torch_dispatch__ is not torch.Tensor.__torch_dispatch__:
        return f"a tensor of the class {type(value).__name__}, which has operations of its own"
    short = value.is_floating_point() and value.dtype.itemsize < _LEAST_BYTES
    return f"a tensor of {str(value.dtype).removeprefix('torch.')}" if short else ""


def returned_values(returned: Any) -> tuple[Any, ...]:
    """What a Function returned as autograd takes it: the values of a tuple, or one, which a list is, too."""
    return returned if isinstance(returned, tuple) else (returned,)


def result_tuple(returned: Any) -> tuple[Any, ...]:
    """A call's result as a tuple, of one element for a single value."""
    return tuple(returned) if isinstance(returned, tuple | list) else (returned,)


def tensors_of(returned: Any) -> list[torch.Tensor]:
    """The tensors in a call's result, which may hold None or numbers too."""
    return [each for each in result_tuple(returned) if isinstance(each, torch.Tensor)]


def copy_if_mutable(value: Any) -> Any:
    """A shallow copy of a mutable value, and any other value as it is."""
    return copy.copy(value) if isinstance(value, list | dict | SimpleNamespace) else value
