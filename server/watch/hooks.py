"""Hooks into every call of a custom Function and every run of its backward, for as long as somebody watches.

``Function.apply`` is Python and looks up ``super().apply`` when it is called. What is set on its base is therefore
reached by an ``apply`` that was stored long before, too. The context that C makes for the call is the node of the
graph, and carries what the call was into backward.
"""

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import wraps
from typing import Any, Protocol

import torch
from torch.autograd import function as autograd_function

from ..runtime.arguments import returned_values

_BASE = autograd_function._SingleLevelFunction
_NODE = autograd_function.BackwardCFunction
_BACKWARDS = ("apply", "apply_boxed")  # from Python, and from C
_LINK = "_gradloupe_calls"
_MISSING = (
    "This torch ({}) calls custom Functions in another way than those that can be watched; use torch 2.4 to 2.13, "
    "or gradloupe.check."
)
_lock = threading.RLock()
_undo: list[tuple[Any, str, Any]] = []
_local = threading.local()


class Observer(Protocol):
    """Who is told; what it raises never reaches the step."""

    def called(self, cls: type, arguments: tuple[Any, ...]) -> Any:
        """Before forward; returns what is given to the other methods, None where the call is none of its business."""

    def returned(self, call: Any, outputs: tuple[Any, ...]) -> None:
        """After forward."""

    def backward(self, call: Any, cls: type, grad_outputs: tuple[Any, ...]) -> Any:
        """Before backward; ``call`` is None where forward ran before anybody watched. Returns the call."""

    def backward_returned(self, call: Any, grad_inputs: tuple[Any, ...]) -> None:
        """After backward."""

    def failed(self, problem: Exception) -> None:
        """One of the others has raised."""


_observers: list[Observer] = []
_swaps: dict[type, Any] = {}  # the Functions that run in the place of others


def observe(observer: Observer) -> None:
    """Tell ``observer`` of every call from now on. Raises ``RuntimeError`` where this torch has no such places."""
    with _lock:
        _install()
        _observers.append(observer)


def forget(observer: Observer) -> None:
    """Tell it nothing more; the last one takes the hooks along."""
    with _lock:
        _observers.remove(observer)
        _uninstall()


@contextmanager
def swapped(functions: Mapping[type, Any]) -> Iterator[None]:
    """Run other Functions in the place of these; one block at a time."""
    with _lock:
        _install()
        _swaps.update(functions)
        try:
            yield
        finally:
            _swaps.clear()
            _uninstall()


def _install() -> None:
    """Set the hooks, if they are not there."""
    if _undo:
        return
    in_python = isinstance(vars(torch.autograd.Function).get("apply"), classmethod)  # from 2.14 on it is C
    if not in_python or not hasattr(_BASE, "apply") or "apply" not in _NODE.__dict__:
        raise RuntimeError(_MISSING.format(torch.__version__))
    _put(_BASE, "apply", classmethod(_apply))
    _put(_NODE, "__init__", _init)
    for name in _BACKWARDS:
        if name in _NODE.__dict__:
            _put(_NODE, name, _around(_NODE.__dict__[name], boxed=name != "apply"))


def _uninstall() -> None:
    """Take the hooks away, unless somebody needs them."""
    while _undo and not _observers and not _swaps:
        owner, name, old = _undo.pop()
        if old is None:
            delattr(owner, name)
        else:
            setattr(owner, name, old)


def _put(owner: Any, name: str, value: Any) -> None:
    _undo.append((owner, name, owner.__dict__.get(name)))
    setattr(owner, name, value)


def _apply(cls: Any, *arguments: Any, **named: Any) -> Any:
    cls = _swaps.get(cls, cls)
    if not _observers or getattr(_local, "busy", False):
        return super(_BASE, cls).apply(*arguments, **named)
    calls = [(each, _tell(each, each.called, cls, arguments)) for each in _observers]
    _local.calls = calls
    out = super(_BASE, cls).apply(*arguments, **named)
    for observer, call in calls:
        if call is not None:
            _tell(observer, observer.returned, call, returned_values(out))
    return out


def _init(self: Any, *arguments: Any, **named: Any) -> None:
    calls = getattr(_local, "calls", None)
    if calls:
        setattr(self, _LINK, calls)
        _local.calls = None


def _around(run: Callable[..., Any], boxed: bool) -> Callable[..., Any]:
    @wraps(run)
    def watched(self: Any, *gradients: Any) -> Any:
        if not _observers or getattr(_local, "busy", False):
            return run(self, *gradients)
        known = dict(getattr(self, _LINK, None) or ())
        given, cls = gradients[0] if boxed else gradients, self._forward_cls
        calls = [(each, _tell(each, each.backward, known.get(each), cls, tuple(given))) for each in _observers]
        out = run(self, *gradients)
        for observer, call in calls:
            if call is not None:
                found = tuple(out) if isinstance(out, tuple | list) else (out,)
                _tell(observer, observer.backward_returned, call, found)
        return out

    return watched


def _tell(observer: Observer, method: Callable[..., Any], *given: Any) -> Any:
    """What the observer returns; with no gradients, and what it does is not seen."""
    tracked = torch.is_grad_enabled()
    _local.busy = True
    torch._C._set_grad_enabled(False)  # a fifth of what torch.no_grad() takes
    try:
        with torch._C.DisableTorchFunction():
            return method(*given)
    except Exception as problem:  # noqa: BLE001 recording may fail, the step may not
        observer.failed(problem)
        return None
    finally:
        torch._C._set_grad_enabled(tracked)
        _local.busy = False
