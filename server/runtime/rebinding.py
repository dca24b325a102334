"""The same function with other classes in it: what calls a Function, made to call a subclass of it instead."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import replace
from types import BuiltinMethodType, CellType, FunctionType, MethodType
from typing import Any

import torch

from .arguments import Bound

# Functions that call functions that call …: so deep a Function is looked for.
DEEPEST = 4


def rebound(function: Callable[..., Any], old: Any, new: Any, deep: int = DEEPEST) -> Callable[..., Any]:
    """A copy of ``function`` that finds ``new`` wherever it, or what it calls in the same module, names ``old``.

    Nothing that exists is changed. A function in which there is no ``old`` to find is returned as it is.
    """
    found = _instead(function, old, new, deep)
    return function if found is None else found


def _instead(value: Any, old: Any, new: Any, deep: int) -> Any:
    """What stands for ``value`` where ``old`` is ``new``; None if that is ``value`` itself."""
    if value is old:
        return new
    if isinstance(value, functools.partial):
        inside = _instead(value.func, old, new, deep)
        return None if inside is None else functools.partial(inside, *value.args, **value.keywords)
    if isinstance(value, Bound):
        inside = _instead(value.function, old, new, deep)
        return None if inside is None else replace(value, function=inside)
    # The apply of a Function is a method in Python up to torch 2.14, and a built-in one since.
    if isinstance(value, MethodType | BuiltinMethodType) and isinstance(value.__self__, type):
        return getattr(new, value.__name__, None) if value.__self__ is old else None
    if isinstance(value, MethodType) or (deep and isinstance(value, torch.nn.Module)):
        method: Any = value if isinstance(value, MethodType) else value.forward
        inside = _instead(method.__func__, old, new, deep)
        return None if inside is None else MethodType(inside, method.__self__)
    if isinstance(value, FunctionType) and deep:
        return _copied(value, old, new, deep - 1)
    return None


def _copied(function: FunctionType, old: Any, new: Any, deep: int) -> FunctionType | None:
    names = {name for name in _names(function.__code__) if name in function.__globals__}
    swapped = {name: _instead(function.__globals__[name], old, new, deep) for name in names}
    swapped = {name: value for name, value in swapped.items() if value is not None}
    cells = [_cell(cell, old, new, deep) for cell in function.__closure__ or ()]
    if not swapped and not any(cells):
        return None
    closure = tuple(a or b for a, b in zip(cells, function.__closure__ or (), strict=True))
    copy = FunctionType(
        function.__code__, {**function.__globals__, **swapped}, function.__name__, function.__defaults__, closure
    )
    copy.__kwdefaults__ = function.__kwdefaults__
    functools.update_wrapper(copy, function)
    return copy


def _names(code: Any) -> set[str]:
    """All names that the code, and the functions written inside it, look up."""
    inside = [each for each in code.co_consts if isinstance(each, type(code))]
    return set(code.co_names).union(*map(_names, inside))


def _cell(cell: CellType, old: Any, new: Any, deep: int) -> CellType | None:
    try:
        found = _instead(cell.cell_contents, old, new, deep)
    except ValueError:  # it is empty
        return None
    return None if found is None else CellType(found)
