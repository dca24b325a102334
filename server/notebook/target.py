"""What is passed to ``check`` in the place of a Function: the class that is meant, or why it is none."""

import inspect
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import torch
from torch.autograd import Function

from ...ops import Op
from ..protocol.errors import BadQuestion
from ..user_code.custom_ops import as_function
from ..user_code.discover import is_user_function

_METHODS = ("forward", "backward", "setup_context", "vjp", "jvp", "vmap")
_MAX_NAMED = 5


def function_name(function: Any) -> str:
    """The name of a Function, op or callable object."""
    named = function.name or function.function.__qualname__ if isinstance(function, Op) else function
    return named if isinstance(named, str) else str(getattr(named, "__qualname__", type(named).__name__))


def function_meant(function: Any) -> Any:
    """The class where its ``apply`` is passed, and anything else as it is.

    Raises ``BadQuestion`` for what people pass in the place of a Function: a string, a module, an object of the class,
    one of its methods, the tensor that a call returned.
    """
    if isinstance(function, str):
        raise BadQuestion(
            f"{function[:60]!r} is a string; pass the Function itself, as in check(MyFunction), or name the file in a "
            "terminal, as in gradloupe my_ops.py --check."
        )
    if isinstance(function, ModuleType):
        names = [name for name, each in vars(function).items() if is_user_function(each)][:_MAX_NAMED]
        example = ", ".join(f"{function.__name__}.{name}" for name in names)
        which = f"one of its Functions: {example}" if example else "a Function, as in check(MyFunction)"
        raise BadQuestion(f"{function.__name__} is a module; pass {which}.")
    if isinstance(function, torch.Tensor):
        raise BadQuestion(
            "A tensor was passed instead of a Function; pass the class first and then its arguments, as in "
            "check(MyFunction, (x, 2.0))."
        )
    if isinstance(function, Function):
        name = type(function).__name__
        raise BadQuestion(f"An object of {name} was passed; pass the class itself: check({name}).")
    if inspect.isroutine(function):
        _refuse_method(function)
    return without_apply(function)


def without_apply(function: Any) -> Any:
    """The class behind the ``apply`` of a Function, the function of a custom operator; anything else as it is."""
    function = as_function(function)
    owner = getattr(function, "__self__", None) if getattr(function, "__name__", "") == "apply" else None
    return owner if isinstance(owner, type) and issubclass(owner, Function) else function


def _refuse_method(function: Any) -> None:
    method = function.__name__
    if method not in _METHODS:
        return
    name = next((each.__name__ for each in _subclasses(Function) if getattr(each, method) is function), "")
    if name:
        raise BadQuestion(f"{name}.{method} is one method of {name}; pass the class itself: check({name}).")


def _subclasses(parent: Any) -> Iterator[Any]:
    for each in parent.__subclasses__():
        yield each
        yield from _subclasses(each)
