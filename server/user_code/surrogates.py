"""What a user says that backward is meant to follow, laid over the op whose call was found out."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any

import torch

from ...ops import Op
from ..runtime.arguments import BoundFunction, PassedArgument, as_tensor_or_tuple, real_outputs

_OF_THE_CALL = ("function", "inputs", "parameters", "call", "surrogate", "name", "group")
_KEYWORDS = ("grad_output", "wrt")


def with_declared(found: Op, declared: Op) -> Op:
    """The op whose call was found out, with what ``declared`` says of it beside the call."""
    said = {
        each.name: getattr(declared, each.name)
        for each in fields(Op)
        if each.name not in _OF_THE_CALL and getattr(declared, each.name) != each.default
    }
    return replace(found, **said, surrogate=declared.surrogate and _bound_surrogate(found, declared.surrogate))


def _bound_surrogate(op: Op, surrogate: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
    """The surrogate as a function of the inputs and parameters of ``op``, with as many of its arguments as it takes."""
    bound = op.call if isinstance(op.call, BoundFunction) else None
    own = tuple(PassedArgument(place) for place in range(len(op.inputs) + len(op.parameters)))
    arguments = (bound.arguments if bound else own)[: _most_arguments(surrogate)]

    @functools.wraps(surrogate)
    def called(*given: Any, **keywords: Any) -> Any:
        returned = as_tensor_or_tuple(surrogate(*(each.of(given) for each in arguments), **keywords))
        return real_outputs(returned) if bound and bound.in_parts else returned

    return called


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
