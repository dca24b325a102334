"""The signature of a Function: names, annotations and defaults of the arguments of ``forward``, without ctx."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from types import FunctionType
from typing import Any

from torch.autograd import Function
from torch.autograd.function import _SingleLevelFunction
from torch.nn import Module

from ...runtime.devices import DeviceCall, without_device
from ...runtime.graph import has_setup_context
from ..recipe.recipe import NotInferred

NO_DEFAULT: Any = inspect.Parameter.empty
# Default of an argument of ``*args`` that is not passed.
LEFT_OUT: Any = object()
_BASE = _SingleLevelFunction
_BACKWARD = "Write a static method backward(ctx, grad_output) that returns one gradient for each argument of forward"


class Unfit(NotInferred):
    """No arguments would work: the class itself has to be changed first."""


@dataclass(frozen=True)
class SignatureArgument:
    """One positional argument of ``forward``; a ``star`` stands for any number of them.

    ``annotation`` is its text, ``default`` is ``NO_DEFAULT`` where there is none.
    """

    name: str
    annotation: str = ""
    default: Any = NO_DEFAULT
    star: bool = False

    @property
    def required(self) -> bool:
        """Whether a call has to pass it."""
        return self.default is NO_DEFAULT and not self.star


@dataclass(frozen=True)
class Signature:
    """How a Function, or a plain function of tensors, is called.

    ``methods`` are its Python functions that a reader may learn from, by role: ``forward``, ``setup_context``,
    ``backward``; ``context`` is the name that ``forward`` has for ctx, "" where it takes none.
    """

    name: str
    arguments: tuple[SignatureArgument, ...]
    methods: dict[str, Any]
    context: str
    call: Callable[..., Any]
    plain: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the arguments; that of a star as ``*name``."""
        return tuple("*" * each.star + each.name for each in self.arguments)

    @property
    def docstrings(self) -> list[str]:
        """Of the Function, or of the plain function, and of each method."""
        called = without_device(self.call)
        documented = (getattr(called, "__self__", called), *self.methods.values())
        return [str(each.__doc__) for each in documented if getattr(each, "__doc__", None)]


def signature_of(function: Any) -> Signature:
    """How a Function class or a plain function is called.

    Raises ``Unfit`` where it cannot be called with tensors at all: no backward, no forward, no argument.
    """
    if isinstance(function, DeviceCall):
        return replace(signature_of(function.function), call=function)
    if not (isinstance(function, type) and issubclass(function, Function)):
        return _plain_signature(function)
    _refuse_incomplete(function)
    forward = function.forward
    parameters = _parameters(forward, function.__name__)
    context = ""
    if not has_setup_context(function):
        context = parameters[0].name if parameters else ""
        # *args takes ctx with all the others.
        parameters = (
            parameters if parameters and parameters[0].kind is inspect.Parameter.VAR_POSITIONAL else parameters[1:]
        )
    methods = {"forward": forward}
    if not context:
        methods["setup_context"] = function.setup_context
    methods["backward"] = function.backward if function.backward is not _BASE.backward else function.vjp
    arguments = _arguments(parameters, function.__name__)
    return Signature(function.__name__, arguments, methods, context, function.apply)


def not_static(function: Any) -> bool:
    """Whether ``forward`` is an instance method, as in Functions of the legacy style."""
    return isinstance(inspect.getattr_static(function, "forward", None), FunctionType)


def _plain_signature(function: Any) -> Signature:
    name = getattr(function, "__name__", type(function).__name__)
    if not callable(function):
        raise Unfit(f"{name} cannot be called; name a Function or a function of tensors.")
    if isinstance(function, type):
        raise Unfit(
            f"{name} is a class, but no torch.autograd.Function; name a class that derives from it, or a function of "
            "tensors."
        )
    written = function.forward if isinstance(function, Module) else function
    return Signature(name, _arguments(_parameters(written, name), name), {"forward": written}, "", function, plain=True)


def _refuse_incomplete(function: Any) -> None:
    name = function.__name__
    if function.forward is _BASE.forward:
        raise Unfit(
            f"{name} has no forward of its own, so it cannot be called; write a static method forward(ctx, x), or "
            "name a subclass."
        )
    if function.backward is _BASE.backward and function.vjp is _BASE.vjp:
        raise Unfit(f"{name} has no backward, so there is no gradient to look at. {_BACKWARD}.")


def _parameters(function: Any, name: str) -> list[inspect.Parameter]:
    try:
        return list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError) as error:
        raise Unfit(
            f"Python does not know what arguments {name} takes, as for functions not written in Python; wrap it: "
            "def my_function(x): return ..."
        ) from error


def _arguments(parameters: list[inspect.Parameter], name: str) -> tuple[SignatureArgument, ...]:
    taken = []
    for each in parameters:
        if each.kind is inspect.Parameter.KEYWORD_ONLY and each.default is NO_DEFAULT:
            raise Unfit(
                f"{name} takes {each.name!r} by keyword only, and apply passes arguments by position; remove the * "
                f"from its signature, or give {each.name!r} a default.",
                each.name,
            )
        if each.kind not in (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.VAR_KEYWORD):
            star = each.kind is inspect.Parameter.VAR_POSITIONAL
            taken.append(SignatureArgument(each.name, _annotation(each.annotation), each.default, star))
    if not taken:
        raise Unfit(
            f"forward of {name} takes no argument besides ctx, so there is nothing to sweep; let it take a tensor: "
            "forward(ctx, x)."
        )
    return tuple(taken)


def _annotation(annotation: Any) -> str:
    """The text of an annotation, without the modules in it; strings in it stay as they are."""
    if annotation is NO_DEFAULT:
        return ""
    text = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", "")
    if not text or hasattr(annotation, "__args__"):
        text = str(annotation)
    return re.sub(r"""('[^']*'|"[^"]*")|\b(?:[a-z_]\w*\.)+(?=[A-Za-z])""", r"\1", text)
