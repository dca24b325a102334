"""A Function with the arguments that are neither inputs nor parameters put in their places."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import torch

from ...ops import Op


@dataclass(frozen=True)
class Taken:
    """An argument of a call that is one of those the op is called with: the one at ``place``.

    A tensor is made one of no dimensions where ``scalar``, and cast to ``dtype`` if there is one.
    """

    place: int
    scalar: bool = False
    dtype: torch.dtype | None = None

    def of(self, given: tuple[Any, ...]) -> Any:
        """The argument, out of what the op was given."""
        value = given[self.place]
        if self.scalar and value.dim():
            value = value.reshape(())
        return value if self.dtype is None else value.to(self.dtype)


@dataclass(frozen=True, eq=False)
class Held:
    """An argument that is always the same: a copy of it is passed, for a Function may write into it.

    A tensor goes to the device of what the op is given, and one that ``follows`` takes its dtype.
    """

    value: Any
    follows: bool = False

    def of(self, given: tuple[Any, ...]) -> Any:
        """The argument; its device and dtype are those of the first that the op was given."""
        if isinstance(self.value, torch.Tensor):
            like: torch.Tensor = given[0]
            return self.value.to(like.device, like.dtype if self.follows else self.value.dtype, copy=True)
        return fresh(self.value)


@dataclass(frozen=True, eq=False)
class Bound:
    """What an ``Op`` calls: ``function`` with its arguments in the order of ``forward``."""

    function: Callable[..., Any]
    arguments: tuple[Taken | Held, ...]

    def __call__(self, *given: Any) -> Any:
        """Call the Function with the inputs and parameters of an op, in the order declared."""
        return flattened(applied(self.function)(*(each.of(given) for each in self.arguments)))


def shape_of(op: Op, name: str) -> tuple[int, ...]:
    """The shape in which one copy of an input is handed over: a single number as a tensor of one element, unless the
    Function is to be given a tensor without a dimension.
    """
    place, each = next((place, each) for place, each in enumerate(op.inputs) if each.name == name)
    taken = op.call.arguments if isinstance(op.call, Bound) else ()
    without = any(isinstance(one, Taken) and one.place == place and one.scalar for one in taken)
    return each.shape or (() if without else (1,))


def applied(function: Callable[..., Any]) -> Callable[..., Any]:
    """How a Function, or a plain function of tensors, is called."""
    is_class = isinstance(function, type) and issubclass(function, torch.autograd.Function)
    return function.apply if is_class else function  # type: ignore[attr-defined]


def flattened(returned: Any) -> Any:
    """What was returned, as a tensor or a tuple: a plain function may return a list or dict of tensors."""
    if isinstance(returned, dict):
        return tuple(returned.values())
    return tuple(returned) if isinstance(returned, list) else returned


def flat(returned: Any) -> tuple[Any, ...]:
    """What a Function returned, one after another."""
    return tuple(returned) if isinstance(returned, tuple | list) else (returned,)


def tensors_of(returned: Any) -> list[torch.Tensor]:
    """The tensors among what a Function returned: it may return None or a number beside them."""
    return [each for each in flat(returned) if isinstance(each, torch.Tensor)]


def fresh(value: Any) -> Any:
    """What a call is given for a value: a copy of what it may write into."""
    return copy.copy(value) if isinstance(value, list | dict | SimpleNamespace) else value
