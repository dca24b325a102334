"""A subclass of a Function that notes what its forward is given and keeps, and what its backward gets and returns."""

from __future__ import annotations

import functools
import inspect
from dataclasses import replace
from typing import Any

import torch
from torch.autograd.function import _SingleLevelFunction

from .arguments import flat
from .call_record import Backward, Forward, Kept, Record

Function = type[torch.autograd.Function]
# Lists in lists in …: so deep tensors are looked for.
DEEPEST = 4


def instrumented(function: Function) -> tuple[Function, Record]:
    """A subclass of ``function`` that behaves like it, and its record. The class itself is not touched."""
    record = Record(parameters(function))
    name = "vjp" if function.vjp is not _SingleLevelFunction.vjp else "backward"
    body: dict[str, Any] = {
        name: staticmethod(_watched_backward(function, getattr(function, name), record)),
        "forward": staticmethod(_watched_forward(function, record)),
        "__module__": function.__module__,
        "__doc__": function.__doc__,
        "__qualname__": function.__qualname__,
    }
    if has_setup(function):
        body["setup_context"] = staticmethod(_watched_setup(function, record))
    return type(function.__name__, (function,), body), record


def has_setup(function: Function) -> bool:
    """Whether forward goes without ctx, and ``setup_context`` gets it."""
    return function.setup_context is not _SingleLevelFunction.setup_context


def parameters(function: Function) -> tuple[str, ...]:
    """The names of forward's parameters but for ctx; of ``*args`` none."""
    try:
        given = list(inspect.signature(function.forward).parameters.values())
    except (TypeError, ValueError):
        return ()
    given = given if has_setup(function) else given[1:]
    return tuple(each.name for each in given if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD))


def _watched_backward(function: Function, own: Any, record: Record) -> Any:
    @functools.wraps(own)
    def backward(ctx: Any, *given: Any) -> Any:
        boxed = getattr(function, "boxed_grads_call", False) and len(given) == 1 and isinstance(given[0], list)
        handed = tuple(given[0]) if boxed else given
        copies = tuple(each.detach().clone() if isinstance(each, torch.Tensor) else None for each in handed)
        versions = [each._version if isinstance(each, torch.Tensor) else 0 for each in handed]
        returned = own(ctx, *given)
        written = tuple(
            place
            for place, (each, copy, version) in enumerate(zip(handed, copies, versions, strict=True))
            if copy is not None and (each._version != version or not same(each.detach(), copy))
        )
        seen = tuple(returned) if isinstance(returned, tuple) else returned
        record.backwards.append(Backward(handed, copies, written, seen, tuple(ctx.needs_input_grad)))
        return returned

    return backward


def _watched_forward(function: Function, record: Record) -> Any:
    own, setup = function.forward, has_setup(function)

    @functools.wraps(own)
    def forward(*given: Any, **named: Any) -> Any:
        arguments = given if setup else given[1:]
        versions = [each._version if isinstance(each, torch.Tensor) else 0 for each in arguments]
        returned = own(*given, **named)
        written = tuple(
            record.name(place)
            for place, (each, version) in enumerate(zip(arguments, versions, strict=True))
            if isinstance(each, torch.Tensor) and each._version != version
        )
        note = _noted(record, arguments, returned, written)
        record.forwards.append(note if setup else _kept(note, record, given[0]))
        return returned

    return forward


def _watched_setup(function: Function, record: Record) -> Any:
    own = function.setup_context

    @functools.wraps(own)
    def setup_context(ctx: Any, inputs: Any, output: Any) -> Any:
        found = own(ctx, inputs, output)
        record.forwards.append(_kept(record.forwards.pop(), record, ctx))
        return found

    return setup_context


def _noted(record: Record, arguments: tuple[Any, ...], returned: Any, written: tuple[str, ...]) -> Forward:
    outputs = flat(returned)
    same = [
        record.name(place)
        for place, each in enumerate(arguments)
        if isinstance(each, torch.Tensor) and any(each is out for out in outputs)
    ]
    return Forward(arguments, outputs, type(returned).__name__, written, tuple(same))


def _kept(note: Forward, record: Record, ctx: Any) -> Forward:
    """The note, with what is on ctx."""

    def what(tensor: torch.Tensor) -> tuple[str, str]:
        for place, each in enumerate(note.arguments):
            if each is tensor:
                return "input", record.name(place)
        for place, each in enumerate(note.outputs):
            if each is tensor:
                return "output", f"output {place}" if len(note.outputs) > 1 else "the output"
        return "intermediate", "an intermediate result"

    def kept(name: str, tensor: torch.Tensor) -> Kept:
        kind, called = what(tensor)
        size = tensor.element_size() * tensor.numel()
        return Kept(name or called, kind, called, tuple(tensor.shape), dtype_of(tensor), size)

    attributes = {name: value for name, value in vars(ctx).items() if not name.startswith("__")}
    nondifferentiable = getattr(ctx, "non_differentiable", None) or ()
    return replace(
        note,
        needed=tuple(map(bool, ctx.needs_input_grad)),
        dirty=tuple(what(each)[1] for each in _tensors(getattr(ctx, "dirty_tensors", None))),
        saved=tuple(
            kept("", each) if isinstance(each, torch.Tensor) else None
            for each in _sequence(getattr(ctx, "to_save", None))
        ),
        attributes=tuple(kept(name, each) for name, value in attributes.items() for each in _tensors(value)),
        names=tuple(attributes),
        nondifferentiable=tuple(
            place for place, out in enumerate(note.outputs) if any(out is each for each in nondifferentiable)
        ),
    )


def _sequence(value: Any) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, tuple | list) else ()


def _tensors(value: Any, deep: int = DEEPEST) -> list[torch.Tensor]:
    """The tensors in an attribute: itself, or what lies in a list, tuple or dict, or in one of those inside it."""
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, dict):
        value = tuple(value.values())
    return [tensor for each in _sequence(value) for tensor in _tensors(each, deep - 1)] if deep else []


def dtype_of(tensor: torch.Tensor) -> str:
    """The dtype as one says it: ``float32``."""
    return str(tensor.dtype).removeprefix("torch.")


def same(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Whether the numbers are the same ones, NaN included."""
    return a.shape == b.shape and (torch.equal(a, b) or bool(((a == b) | (a.isnan() & b.isnan())).all()))
