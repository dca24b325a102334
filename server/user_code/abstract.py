"""Bases that are there to be inherited: what of a Function is not written in them."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Iterable
from typing import Any

from torch.autograd import Function

METHODS = ("forward", "backward")


def lacks(function: type[Function], method: str) -> bool:
    """Whether a Function has only what torch gives all of them; ``vjp`` is another name of ``backward``."""
    names = ("backward", "vjp") if method == "backward" else (method,)
    return all(getattr(function, name, None) is getattr(Function, name) for name in names)


def unwritten(thing: Any) -> str:
    """The method of a Function that only raises ``NotImplementedError``; "" if there is none, or it is no class."""
    if not isinstance(thing, type):
        return ""
    return next((name for name in METHODS if not lacks(thing, name) and _only_raises(getattr(thing, name, None))), "")


def _only_raises(method: Any) -> bool:
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(method)))
    except (OSError, TypeError, SyntaxError, ValueError):
        return False
    body = getattr(tree.body[0], "body", []) if tree.body else []
    said = [each for each in body if not (isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant))]
    if len(said) != 1 or not isinstance(said[0], ast.Raise):
        return False
    raised = said[0].exc.func if isinstance(said[0].exc, ast.Call) else said[0].exc
    return isinstance(raised, ast.Name) and raised.id == "NotImplementedError"


def inherited(thing: Any, others: Iterable[Any]) -> bool:
    """Whether it is a base with a method unwritten, from which one of the others inherits."""
    if not isinstance(thing, type) or not type.__subclasses__(thing):  # most have none, and need not be read
        return False
    heirs = any(each is not thing and isinstance(each, type) and issubclass(each, thing) for each in others)
    return heirs and bool(lacks(thing, "backward") or unwritten(thing))
