"""Check for late binding: backward reads a class attribute or a global that may have changed since forward."""

from __future__ import annotations

import ast
import inspect
import sys
import textwrap
from collections.abc import Iterator
from types import FunctionType
from typing import Any

import torch

from ...runtime.graph import FunctionClass, backward_name
from ..examination.call import GradientsByName
from ..examination.contract_check import FUNCTION, CheckFinding, contract_check
from ..examination.function_lines import BACKWARD_METHODS
from ..examination.recorder import replace_references
from ..examination.session import CheckSession, all_gradients_close

_MAX_NUMBERS = 12  # budget: numbers that are changed, one after another


@contract_check(
    "LATE-READ",
    "Numbers read during backward",
    FUNCTION,
    "backward reads no number of its class or module by name.",
    ("backward", "deterministic"),
)
def _late_read(session: CheckSession) -> Iterator[CheckFinding]:
    """Changing an outside number that backward reads, in a copy of backward, changes no gradient."""
    plain = session.gradients(session.first.grad_outputs)
    name = backward_name(session.function)
    own = inspect.unwrap(getattr(session.function, name))
    own = getattr(own, "__func__", own)
    if not isinstance(own, FunctionType):
        return
    for called, moved in [*_attributes(session.function, own), *_globals(own)][:_MAX_NUMBERS]:
        variant = type(session.function.__name__, (session.function,), {name: staticmethod(moved)})
        if not all_gradients_close(plain, _gradients_of(session, variant) or plain):
            last = called.rpartition(".")[2]
            # A name in capitals is a constant to whoever reads it.
            changes = _is_set(own, last) or ("." in called and not last.isupper())
            yield CheckFinding(
                "warning" if changes else "note",
                f"backward reads {called} when it runs, not when forward did.",
                "Its value at that time counts: a change between forward and backward changes the gradient.",
                f"Put it on ctx in forward: ctx.{last} = {called}."
                if changes
                else "It is set once in its file; put it on ctx in forward if it is ever to change.",
                session.source.read(last, *BACKWARD_METHODS),
            )
            return


def _gradients_of(session: CheckSession, variant: FunctionClass) -> GradientsByName | None:
    """The gradients with a changed backward; None if that raises, as the changed number may be invalid."""
    try:
        ran = session.call.through(session.through(variant)).run()
        return ran.gradients(session.handed)
    except Exception:  # noqa: BLE001
        return None


def _attributes(function: FunctionClass, own: FunctionType) -> Iterator[tuple[str, Any]]:
    """The numbers that backward reads as class attributes, each with a copy of backward that reads another value."""
    for name in own.__code__.co_names:
        value = function.__dict__.get(name)
        if _is_number(value):
            variant = type(function.__name__, (function,), {name: _changed_number(value)})
            moved = replace_references(own, function, variant, 1)
            if moved is not own:
                yield f"{function.__name__}.{name}", moved


def _globals(own: FunctionType) -> Iterator[tuple[str, Any]]:
    """The numbers that backward reads as globals, each with a copy of backward that reads another value."""
    for name in own.__code__.co_names:
        value = own.__globals__.get(name)
        if _is_number(value):
            moved = {**own.__globals__, name: _changed_number(value)}
            copy = FunctionType(own.__code__, moved, own.__name__, own.__defaults__, own.__closure__)
            copy.__kwdefaults__ = own.__kwdefaults__
            yield name, copy


def _is_number(value: Any) -> bool:
    return (isinstance(value, int | float) and not isinstance(value, bool)) or (
        isinstance(value, torch.Tensor) and value.is_floating_point()
    )


def _changed_number(value: Any) -> Any:
    return value + 1 if isinstance(value, int) else 1.25 * value + 0.125


def _is_set(own: FunctionType, name: str) -> bool:
    """Whether the file assigns to this name: ``X.name = …`` anywhere, or ``global name`` in a function."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(sys.modules[own.__module__])))
    except (OSError, TypeError, SyntaxError, KeyError):
        return True
    for node in ast.walk(tree):
        stored = isinstance(node, ast.Attribute) and node.attr == name and isinstance(node.ctx, ast.Store)
        if stored and ast.unparse(node) not in (f"ctx.{name}", f"self.{name}"):
            return True
        if isinstance(node, ast.Global) and name in node.names:
            return True
    return False


LATE_BINDING_CHECKS = (_late_read,)
