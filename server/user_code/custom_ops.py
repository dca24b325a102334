"""Operators of ``torch.library.custom_op``, as functions of tensors that are called by their schema."""

import functools
import inspect
from collections.abc import Callable
from typing import Any

# torch has no public name for what the decorator returns.
_KIND = ("torch._library.custom_ops", "CustomOpDef")


def is_custom_op(thing: Any) -> bool:
    """Whether it is what ``torch.library.custom_op`` makes of a function."""
    return (type(thing).__module__, type(thing).__qualname__) == _KIND


def backward_of(thing: Any) -> Callable[..., Any] | None:
    """The backward that a custom operator was given by ``register_autograd``; None for whatever has none."""
    backward: Callable[..., Any] | None = getattr(thing, "_backward_fn", None) if is_custom_op(thing) else None
    return backward


def as_function(thing: Any) -> Any:
    """A function that calls a custom operator, with the names of the function it was made of; else what was given.

    Types that stand in the schema alone are taken from there.
    """
    return _function(thing) if is_custom_op(thing) else thing


@functools.cache
def _function(custom: Any) -> Callable[..., Any]:
    written = custom._init_fn

    @functools.wraps(written)
    def called(*arguments: Any) -> Any:
        return custom(*arguments)

    declared = custom._opoverload._schema.arguments
    parameters = inspect.signature(written).parameters.values()
    called.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [_parameter(each, by_schema) for each, by_schema in zip(parameters, declared, strict=True)]
    )
    return called


def _parameter(written: inspect.Parameter, by_schema: Any) -> inspect.Parameter:
    return written.replace(annotation=str(by_schema.type)) if written.annotation is written.empty else written
