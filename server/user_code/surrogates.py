"""What a user says that backward is meant to follow, laid over the op whose call was found out."""

import ast
import functools
import inspect
import re
import sys
from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any

import torch

from ...ops import BadDeclaration, Op
from ..inference.source.signature import signature_of
from ..runtime.arguments import BoundFunction, PassedArgument, as_tensor_or_tuple, passed_parts, real_outputs
from .antiderivative import antiderivative
from .discover import is_user_function

_LINE = re.compile(r"^[ \t]*Gradloupe surrogate( gradient)?:[ \t]*(\S.*?)[ \t]*$", re.MULTILINE)
_OF_THE_CALL = ("function", "inputs", "parameters", "call", "surrogate", "surrogate_takes", "name", "group")
_KEYWORDS = ("grad_output", "wrt")


def claimed_in_docstring(function: Any) -> Op | None:
    """What a Function's docstring claims by a line ``Gradloupe surrogate: x``, or ``Gradloupe surrogate gradient: 1``.

    The text is an expression of the arguments of forward and of the names in its module. Raises ``BadDeclaration``.
    """
    line = _LINE.search(inspect.cleandoc(getattr(function, "__doc__", None) or ""))
    if line is None or not is_user_function(function):
        return None
    names = signature_of(function).names
    try:
        words = {node.id for node in ast.walk(ast.parse(line[2], mode="eval")) if isinstance(node, ast.Name)}
    except SyntaxError as problem:
        raise BadDeclaration(f"The line “{line[0].strip()}” of {function.__qualname__} is no expression.") from problem
    last = max((place for place, name in enumerate(names, 1) if name in words), default=1)
    namespace = {"torch": torch, **vars(sys.modules[function.__module__])}
    meant = eval(f"lambda {', '.join(names[:last])}: ({line[2]})", namespace)  # noqa: S307 it is the user's own code
    return Op(function, surrogate=antiderivative(meant) if line[1] else meant)


def with_declared(found: Op, declared: Op) -> Op:
    """The op whose call was found out, with what ``declared`` says of it beside the call."""
    said = {
        each.name: getattr(declared, each.name)
        for each in fields(Op)
        if each.name not in _OF_THE_CALL and getattr(declared, each.name) != each.default
    }
    return with_surrogate(replace(found, **said), declared.surrogate)


def with_surrogate(op: Op, surrogate: Callable[..., torch.Tensor] | None) -> Op:
    """The op with this surrogate, which takes as many arguments of forward as it names; as it is where that is None."""
    if surrogate is None:
        return op
    bound = op.call if isinstance(op.call, BoundFunction) else None
    names = [each.name for each in op.inputs] + [each.name for each in op.parameters]
    own = tuple(PassedArgument(place) for place in range(len(names)))
    arguments = (bound.arguments if bound else own)[: _most_arguments(surrogate)]

    @functools.wraps(surrogate)
    def called(*given: Any, **keywords: Any) -> Any:
        returned = as_tensor_or_tuple(surrogate(*(each.of(given) for each in arguments), **keywords))
        return real_outputs(returned) if bound and bound.in_parts else returned

    parts = [part for each in arguments for part in passed_parts(each)]
    return replace(op, surrogate=called, surrogate_takes=tuple(names[each.place] for each in parts))


def _most_arguments(function: Callable[..., Any]) -> int | None:
    """How many arguments a function takes by their place; None for any number, 1 for one of torch that does not say."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except ValueError:
        return 1
    if any(each.kind is each.VAR_POSITIONAL for each in parameters):
        return None
    by_place = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return sum(each.kind in by_place and each.name not in _KEYWORDS for each in parameters)
