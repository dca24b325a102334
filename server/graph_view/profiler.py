"""Records the calls of Functions with ``sys.setprofile``, so that the user's class is not patched or subclassed."""

from __future__ import annotations

import inspect
import sys
from dataclasses import dataclass, field
from types import CodeType, FrameType
from typing import Any

import torch
from torch.autograd.function import BackwardCFunction, FunctionCtx

from ..runtime.arguments import result_tuple, returned_values
from ..runtime.graph import has_setup_context
from .values import ValueSummary, value_summary

_BACKWARD = tuple(
    getattr(BackwardCFunction, name).__code__ for name in ("apply", "apply_boxed") if hasattr(BackwardCFunction, name)
)
_MATERIALIZE = FunctionCtx.set_materialize_grads.__code__
_OWN = {each.__code__ for each in vars(FunctionCtx).values() if inspect.isfunction(each)} | set(_BACKWARD)
# Positions of the arguments after ctx in setup_context(ctx, inputs, output) of a new-style Function.
_INPUTS, _OUTPUT = 1, 2


@dataclass
class RecordedCall:
    """One recorded call of a Function. ``node`` is its ctx, which is also the node of the graph.

    ``saved``, ``dirty`` and ``silent`` are what it gave to ``save_for_backward``, ``mark_dirty`` and
    ``mark_non_differentiable``. ``arrived`` are the arguments of its backward and ``returned`` its return values, both
    None if it never ran; ``returned_list`` says that they were in a list, which torch takes for one value.
    """

    node: Any
    names: tuple[str, ...]
    arguments: tuple[Any, ...]
    outputs: tuple[Any, ...] = ()
    saved: tuple[torch.Tensor | None, ...] = ()
    dirty: tuple[torch.Tensor, ...] = ()
    silent: tuple[torch.Tensor, ...] = ()
    materialize: bool = True
    arrived: tuple[ValueSummary, ...] | None = None
    returned: tuple[ValueSummary, ...] | None = None
    returned_list: bool = False


def function_class(node: Any) -> type[Any]:
    """The Function class of a node."""
    found: type[Any] = type(node)._forward_cls
    return found


@dataclass
class CallRecorder:
    """Context manager that records the calls of Functions with a profile hook.

    Entered for the first time it records every forward; entered again, the backward of those calls.
    """

    calls: list[RecordedCall] = field(default_factory=list)
    complete: bool = False
    _running: dict[FrameType, RecordedCall] = field(default_factory=dict)
    _before: Any = None

    def __enter__(self) -> CallRecorder:
        self._before = sys.getprofile()
        sys.setprofile(self._on_event)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(self._before)
        self._running.clear()
        self.complete = True

    def of(self, node: Any) -> RecordedCall | None:
        """The recorded call that created a node."""
        return next((each for each in self.calls if each.node is node), None)

    def _on_event(self, frame: FrameType, event: str, argument: Any) -> None:
        if event == "call":
            self._on_call(frame, frame.f_code)
        elif event == "return" and frame in self._running:
            self._on_return(frame.f_code, self._running.pop(frame), argument)

    def _on_call(self, frame: FrameType, code: CodeType) -> None:
        if code in _BACKWARD:
            call = self.of(frame.f_locals["self"])
            if call is not None:
                given = frame.f_locals["args"]
                given = given[0] if len(given) == 1 and isinstance(given[0], list) else given
                call.arrived = tuple(map(value_summary, given))
                self._running[frame] = call
        elif code is _MATERIALIZE:
            call = self.of(frame.f_locals["self"])
            if call is not None:
                call.materialize = bool(frame.f_locals["value"])
        elif not self.complete and code not in _OWN:
            self._forward(frame, code)

    def _forward(self, frame: FrameType, code: CodeType) -> None:
        """Record a call if it is the first to get a certain ctx: then it is forward, or setup_context."""
        names = code.co_varnames[: code.co_argcount]
        given: list[Any] = [frame.f_locals.get(name) for name in names]
        # A classmethod gets its class first.
        place = next((i for i, each in enumerate(given[:2]) if isinstance(each, BackwardCFunction)), None)
        if place is None or self.of(given[place]) is not None:
            return
        node = given[place]
        if has_setup_context(function_class(node)):
            arguments = tuple(given[place + _INPUTS]) if len(given) > place + _INPUTS else ()
            call = RecordedCall(node, _named(function_class(node), len(arguments)), arguments)
            call.outputs = result_tuple(given[place + _OUTPUT]) if len(given) > place + _OUTPUT else ()
        else:
            more = _starred(frame, code)
            named = (*names[place + 1 :], *(f"argument {len(names) + i}" for i in range(len(more))))
            call = RecordedCall(node, named, (*given[place + 1 :], *more))
        self.calls.append(call)
        self._running[frame] = call

    def _on_return(self, code: CodeType, call: RecordedCall, returned: Any) -> None:
        if code in _BACKWARD:
            call.returned_list = isinstance(returned, list)
            call.returned = tuple(map(value_summary, returned_values(returned)))
            return
        call.outputs = call.outputs or result_tuple(returned)
        call.saved = tuple(getattr(call.node, "to_save", None) or ())
        call.dirty = tuple(getattr(call.node, "dirty_tensors", None) or ())
        call.silent = tuple(getattr(call.node, "non_differentiable", None) or ())


def _starred(frame: FrameType, code: CodeType) -> tuple[Any, ...]:
    """The values of ``*args``."""
    if not code.co_flags & inspect.CO_VARARGS:
        return ()
    return tuple(frame.f_locals[code.co_varnames[code.co_argcount + code.co_kwonlyargcount]])


def _named(function: type[Any], count: int) -> tuple[str, ...]:
    """The names of the arguments of a forward without ctx."""
    try:
        names = list(inspect.signature(function.forward).parameters)
    except (TypeError, ValueError):
        names = []
    return tuple(names[i] if i < len(names) else f"argument {i}" for i in range(count))
