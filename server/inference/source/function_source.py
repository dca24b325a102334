"""Syntax tree and namespace of a user's function."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections import ChainMap
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from types import CodeType, FunctionType, MethodType
from typing import Any


@dataclass(frozen=True)
class FunctionTree:
    """The syntax tree of a function, its parameters, and the namespace that its names refer to.

    ``bound`` says that the first of them is filled in by Python: a class method's class.
    """

    tree: ast.FunctionDef | ast.Lambda
    bound: bool
    namespace: Mapping[str, Any] = field(hash=False, compare=False)

    @property
    def parameters(self) -> list[str]:
        """The names that a call fills by position."""
        taken = self.tree.args
        names = [each.arg for each in (*taken.posonlyargs, *taken.args)]
        return names[self.bound :]

    @property
    def statements(self) -> list[Any]:
        """The statements of its body; the expression of a lambda."""
        return self.tree.body if isinstance(self.tree, ast.FunctionDef) else [self.tree.body]


def read_function_source(function: Any) -> FunctionTree | None:
    """The source of a Python function or method; None where it is not available."""
    try:
        plain = inspect.unwrap(function)
    except ValueError:
        plain = function
    bound = isinstance(plain, MethodType)
    plain = getattr(plain, "__func__", plain)
    plain = inspect.unwrap(plain) if callable(plain) else plain
    if not isinstance(plain, FunctionType):
        return None
    tree = _tree(plain.__code__)
    if tree is None:
        return None
    closed = zip(plain.__code__.co_freevars, plain.__closure__ or (), strict=False)
    return FunctionTree(tree, bound, ChainMap({name: _cell_contents(cell) for name, cell in closed}, plain.__globals__))


@lru_cache(maxsize=512)
def _tree(code: CodeType) -> ast.FunctionDef | ast.Lambda | None:
    parsed = source_tree(code)
    kinds = ast.Lambda if code.co_name == "<lambda>" else ast.FunctionDef
    return next((node for node in ast.walk(parsed) if isinstance(node, kinds)), None) if parsed else None


def source_tree(function: Any) -> ast.Module | None:
    """The syntax tree of a function or its code; None where its source is not available."""
    try:
        return ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, TypeError, SyntaxError, ValueError, IndexError):
        return None


def _cell_contents(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return None
