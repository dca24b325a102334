"""Python source for values and call arguments, for the code that a page offers for copying."""

from __future__ import annotations

import math
import re
from pprint import pformat
from typing import Any

import torch

from ..inference.recipe.recipe import OBJECT_TEXT, Constant, Recipe, TensorArgument, identity
from ..runtime.arguments import BoundFunction, ConstantArgument, PassedArgument

_WIDE = 96
# A tensor with more elements is drawn from a seeded generator instead of written out.
LONGEST_LITERAL = 96
_IDENTITY = "(lambda x: x)"


class NoSource(Exception):
    """A value that exists only in the user's program and has no source; the message is the name of its argument."""


def _constant(each: Constant) -> str:
    """The source of a constant of a recipe. Raises ``NotSpelled``."""
    if each.text == OBJECT_TEXT:
        raise NoSource(each.name)
    if each.value is identity:
        return _IDENTITY[1:-1]
    return (
        number_source(each.value) if isinstance(each.value, float) else re.sub(r"\bidentity\b", _IDENTITY, each.written)
    )


def number_source(value: object) -> str:
    """The source of a number, string or bool."""
    if isinstance(value, float) and not math.isfinite(value):
        return f'float("{value}")'
    return string_source(value) if isinstance(value, str) else repr(value)


def string_source(text: str) -> str:
    """The source of a string, in double quotes where it contains none."""
    plain = repr(text)
    return f'"{plain[1:-1]}"' if plain[0] == "'" and '"' not in text else plain


def tensor_source(value: torch.Tensor, *words: str, seed: int = 0) -> str:
    """The source of a tensor, on one line or several. ``words`` are further arguments of ``torch.tensor``."""
    if value.numel() > LONGEST_LITERAL and value.is_floating_point():
        return _drawn(value, *words, seed=seed)
    numbers = [_short(each) for each in value.reshape(-1).tolist()]
    said = (_listed(numbers, tuple(value.shape)), *words)
    one = f"torch.tensor({', '.join(said)})"
    if len(one) <= _WIDE and "\n" not in one:
        return one
    return "torch.tensor(\n" + "".join(f"    {indent_lines(each, 4)},\n" for each in said) + ")"


def _dtype(value: torch.Tensor) -> tuple[str, ...]:
    """The ``dtype=`` argument, where ``torch.tensor`` would not infer that dtype."""
    return () if value.dtype in (torch.int64, torch.bool) else (f"dtype={value.dtype}",)


def _drawn(value: torch.Tensor, *words: str, seed: int) -> str:
    shape, drawn = tuple(value.shape), f"generator=torch.Generator().manual_seed({seed})"
    positive = bool((value > 0).all())
    return f"torch.{'rand' if positive else 'randn'}({', '.join((str(shape), drawn, *words))})" + " + 0.5" * positive


def _short(value: Any) -> Any:
    return float(f"{value:.9g}") if isinstance(value, float) else value


def _listed(numbers: list[Any], shape: tuple[int, ...]) -> str:
    if not shape:
        return repr(numbers[0])
    for size in reversed(shape[1:]):
        numbers = [numbers[i : i + size] for i in range(0, len(numbers), size)] if size else []
    return pformat(numbers, width=_WIDE, compact=True)


def indent_lines(text: str, indent: int) -> str:
    """The text with all lines but the first indented."""
    return text.replace("\n", "\n" + " " * indent)


def argument_plan(call: object, count: int) -> tuple[PassedArgument | ConstantArgument, ...]:
    """For each argument of a call whether it is ``Taken`` or ``Held``; ``count`` is how many arguments the op has."""
    return call.arguments if isinstance(call, BoundFunction) else tuple(PassedArgument(place) for place in range(count))


def constant_tensor_sources(
    recipe: Recipe, arguments: tuple[PassedArgument | ConstantArgument, ...], like: str = ""
) -> dict[str, str]:
    """The source of the constant tensors of a call, by name, with the dtype and device of the tensor ``like``."""
    found = {}
    for each, argument in zip(recipe.arguments, arguments, strict=True):
        if isinstance(argument, ConstantArgument) and isinstance(argument.value, torch.Tensor):
            words = (f"dtype={like}.dtype",) if like and argument.follows else _dtype(argument.value)
            found[each.name] = tensor_source(argument.value, *words, *((f"device={like}.device",) if like else ()))
    return found


def argument_sources(
    recipe: Recipe, arguments: tuple[PassedArgument | ConstantArgument, ...], given: list[str], scalars: bool = True
) -> list[str]:
    """The source of each argument of the call; ``given`` are the names that an op is called with.

    ``scalars`` says that a 0-dimensional input is given as a vector, and has to be reshaped. Raises ``NotSpelled``.
    """
    return [_passed(each, argument, given, scalars) for each, argument in zip(recipe.arguments, arguments, strict=True)]


def _passed(
    each: TensorArgument | Constant, argument: PassedArgument | ConstantArgument, given: list[str], scalars: bool
) -> str:
    if isinstance(argument, ConstantArgument):
        return _constant(each) if isinstance(each, Constant) else each.name
    text = given[argument.place]
    text += ".reshape(())" if argument.scalar and scalars else ""
    return text if argument.dtype is None else f"{text}.to({argument.dtype})"
