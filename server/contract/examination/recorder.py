"""The recorder: an instrumented subclass of a Function that logs every call of forward and backward, and ctx.

A copy of a function can be made that calls this subclass in place of the original; no module is changed.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from types import BuiltinMethodType, CellType, FunctionType, MethodType
from typing import Any

import torch

from ...runtime.arguments import BoundFunction, result_tuple, returned_values
from ...runtime.arrays import dtype_name
from ...runtime.captured import CapturedFunction, names_looked_up
from ...runtime.devices import DeviceCall
from ...runtime.graph import FunctionClass, backward_name, has_setup_context

# budget: the depth of the call graph to which references to a Function are replaced.
_MOST_NESTED = 4


def replace_references(
    function: Callable[..., Any], old: Any, new: Any, depth: int = _MOST_NESTED
) -> Callable[..., Any]:
    """A copy of ``function`` in which it, and the functions it calls, refer to ``new`` instead of ``old``.

    No existing object is modified. A function without a reference to ``old`` is returned as it is.
    """
    found = _replacement(function, old, new, depth)
    return function if found is None else found


def _replacement(value: Any, old: Any, new: Any, depth: int) -> Any:
    """The replacement for ``value`` when ``old`` becomes ``new``; None if nothing in it changes."""
    if value is old:
        return new
    if isinstance(value, functools.partial):
        inside = _replacement(value.func, old, new, depth)
        return None if inside is None else functools.partial(inside, *value.args, **value.keywords)
    if isinstance(value, BoundFunction | DeviceCall):
        inside = _replacement(value.function, old, new, depth)
        return None if inside is None else replace(value, function=inside)
    if isinstance(value, CapturedFunction):
        inside = _replacement(value.function, old, new, depth)
        return None if inside is None else value.rebound(inside)
    # The apply of a Function is a method in Python up to torch 2.14, and a built-in one since.
    if isinstance(value, MethodType | BuiltinMethodType) and isinstance(value.__self__, type):
        return getattr(new, value.__name__, None) if value.__self__ is old else None
    if isinstance(value, MethodType) or (depth and isinstance(value, torch.nn.Module)):
        method: Any = value if isinstance(value, MethodType) else value.forward
        inside = _replacement(method.__func__, old, new, depth)
        return None if inside is None else MethodType(inside, method.__self__)
    if isinstance(value, FunctionType) and depth:
        return _copy_with(value, old, new, depth - 1)
    return None


def _copy_with(function: FunctionType, old: Any, new: Any, depth: int) -> FunctionType | None:
    names = {name for name in names_looked_up(function.__code__) if name in function.__globals__}
    swapped = {name: _replacement(function.__globals__[name], old, new, depth) for name in names}
    swapped = {name: value for name, value in swapped.items() if value is not None}
    cells = [_replaced_cell(cell, old, new, depth) for cell in function.__closure__ or ()]
    if not swapped and not any(cells):
        return None
    closure = tuple(a or b for a, b in zip(cells, function.__closure__ or (), strict=True))
    copy = FunctionType(
        function.__code__, {**function.__globals__, **swapped}, function.__name__, function.__defaults__, closure
    )
    copy.__kwdefaults__ = function.__kwdefaults__
    functools.update_wrapper(copy, function)
    return copy


def _replaced_cell(cell: CellType, old: Any, new: Any, depth: int) -> CellType | None:
    try:
        found = _replacement(cell.cell_contents, old, new, depth)
    except ValueError:  # it is empty
        return None
    return None if found is None else CellType(found)


@dataclass(frozen=True)
class KeptTensor:
    """A tensor that forward saved for backward, or stored on ctx as attribute ``name``; ``size`` is in bytes.

    ``what`` is ``input``, ``output`` or ``intermediate``; ``called`` is its name in that role.
    """

    name: str
    what: str
    called: str
    shape: tuple[int, ...]
    dtype: str
    size: int


@dataclass(frozen=True)
class ForwardCall:
    """The record of one call of forward; tensors are named after forward's own parameters.

    ``kind`` is the type of the result, ``written`` the arguments modified in place, ``returned_inputs`` those returned
    unchanged. From ctx come: ``needed`` (needs_input_grad), ``dirty`` (mark_dirty), ``saved`` (save_for_backward), the
    tensors in ``attributes`` (also inside lists, tuples and dicts), the ``names`` of all attributes, and the outputs
    marked ``nondifferentiable``.
    """

    arguments: tuple[Any, ...]
    outputs: tuple[Any, ...]
    kind: str
    written: tuple[str, ...]
    returned_inputs: tuple[str, ...]
    needed: tuple[bool, ...] = ()
    dirty: tuple[str, ...] = ()
    saved: tuple[KeptTensor | None, ...] = ()
    attributes: tuple[KeptTensor, ...] = ()
    names: tuple[str, ...] = ()
    nondifferentiable: tuple[int, ...] = ()


@dataclass(frozen=True)
class BackwardCall:
    """The record of one call of backward."""

    grad_outputs: tuple[torch.Tensor | None, ...]
    copies: tuple[torch.Tensor | None, ...]
    written: tuple[int, ...]
    """The indices of the grad_outputs that were modified in place."""
    returned: Any
    needs: tuple[bool, ...]

    @property
    def values(self) -> tuple[Any, ...]:
        """The returned gradients, one per argument."""
        return returned_values(self.returned)


@dataclass
class CallRecord:
    """All recorded calls, in order."""

    parameters: tuple[str, ...]
    forwards: list[ForwardCall] = field(default_factory=list)
    backwards: list[BackwardCall] = field(default_factory=list)

    def name(self, place: int) -> str:
        """The name of forward's parameter at this position."""
        return self.parameters[place] if place < len(self.parameters) else f"argument {place}"


# budget: the depth of nested containers to which tensors are searched for.
_MAX_DEPTH = 4


def instrument(function: FunctionClass) -> tuple[FunctionClass, CallRecord]:
    """A subclass of ``function`` that behaves like it, and its record. The class itself is not touched."""
    record = CallRecord(parameters(function))
    name = backward_name(function)
    body: dict[str, Any] = {
        name: staticmethod(_recording_backward(function, getattr(function, name), record)),
        "forward": staticmethod(_recording_forward(function, record)),
        "__module__": function.__module__,
        "__doc__": function.__doc__,
        "__qualname__": function.__qualname__,
    }
    if has_setup_context(function):
        body["setup_context"] = staticmethod(_recording_setup(function, record))
    return type(function.__name__, (function,), body), record


def parameters(function: FunctionClass) -> tuple[str, ...]:
    """The names of forward's positional parameters, without ctx and ``*args``."""
    try:
        given = list(inspect.signature(function.forward).parameters.values())
    except (TypeError, ValueError):
        return ()
    given = given if has_setup_context(function) else given[1:]
    return tuple(each.name for each in given if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD))


def _recording_backward(function: FunctionClass, own: Any, record: CallRecord) -> Any:
    @functools.wraps(own)
    def backward(ctx: Any, *given: Any) -> Any:
        boxed = getattr(function, "boxed_grads_call", False) and len(given) == 1 and isinstance(given[0], list)
        grad_outputs = tuple(given[0]) if boxed else given
        copies = tuple(each.detach().clone() if isinstance(each, torch.Tensor) else None for each in grad_outputs)
        versions = [each._version if isinstance(each, torch.Tensor) else 0 for each in grad_outputs]
        returned = own(ctx, *given)
        written = tuple(
            place
            for place, (each, copy, version) in enumerate(zip(grad_outputs, copies, versions, strict=True))
            if copy is not None and (each._version != version or not same_elements(each.detach(), copy))
        )
        seen = tuple(returned) if isinstance(returned, tuple) else returned
        record.backwards.append(BackwardCall(grad_outputs, copies, written, seen, tuple(ctx.needs_input_grad)))
        return returned

    return backward


def _recording_forward(function: FunctionClass, record: CallRecord) -> Any:
    own, setup = function.forward, has_setup_context(function)

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
        note = _recorded(record, arguments, returned, written)
        record.forwards.append(note if setup else _with_ctx(note, record, given[0]))
        return returned

    return forward


def _recording_setup(function: FunctionClass, record: CallRecord) -> Any:
    own = function.setup_context

    @functools.wraps(own)
    def setup_context(ctx: Any, inputs: Any, output: Any) -> Any:
        found = own(ctx, inputs, output)
        record.forwards.append(_with_ctx(record.forwards.pop(), record, ctx))
        return found

    return setup_context


def _recorded(record: CallRecord, arguments: tuple[Any, ...], returned: Any, written: tuple[str, ...]) -> ForwardCall:
    outputs = result_tuple(returned)
    same = [
        record.name(place)
        for place, each in enumerate(arguments)
        if isinstance(each, torch.Tensor) and any(each is out for out in outputs)
    ]
    return ForwardCall(arguments, outputs, type(returned).__name__, written, tuple(same))


def _with_ctx(note: ForwardCall, record: CallRecord, ctx: Any) -> ForwardCall:
    """The record of forward, completed with the contents of ctx."""

    def what(tensor: torch.Tensor) -> tuple[str, str]:
        for place, each in enumerate(note.arguments):
            if each is tensor:
                return "input", record.name(place)
        for place, each in enumerate(note.outputs):
            if each is tensor:
                return "output", f"output {place}" if len(note.outputs) > 1 else "the output"
        return "intermediate", "an intermediate result"

    def kept(name: str, tensor: torch.Tensor) -> KeptTensor:
        kind, called = what(tensor)
        size = tensor.element_size() * tensor.numel()
        return KeptTensor(name or called, kind, called, tuple(tensor.shape), dtype_name(tensor.dtype), size)

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


def _tensors(value: Any, depth: int = _MAX_DEPTH) -> list[torch.Tensor]:
    """The tensors in an attribute: itself, or those in a list, tuple or dict, also nested ones."""
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, dict):
        value = tuple(value.values())
    return [tensor for each in _sequence(value) for tensor in _tensors(each, depth - 1)] if depth else []


def same_elements(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Whether two tensors have the same shape and elements, NaN equal to NaN."""
    return a.shape == b.shape and (torch.equal(a, b) or bool(((a == b) | (a.isnan() & b.isnan())).all()))
