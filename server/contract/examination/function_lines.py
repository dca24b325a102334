"""Finds lines in the source of a Function by its syntax tree, so that a check can point at them; counted from 1."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

import torch

from ....ops import Op
from ...runtime.failure import failure_of

FORWARD_METHODS = ("forward", "setup_context")
BACKWARD_METHODS = ("backward", "vjp")
_RANDOM_CALLS = {"bernoulli", "bernoulli_", "normal", "normal_", "uniform_", "dropout", "multinomial"}


@dataclass(frozen=True)
class FunctionSource:
    """The source of an op. Methods return a line number, or None if nothing is found or there is no source."""

    op: Op
    function: type[torch.autograd.Function]

    def line_of(self, error: BaseException) -> int | None:
        """The last line of the source in the traceback of an exception."""
        if not isinstance(error, Exception):
            return None
        try:
            return failure_of(error, self.op, "forward").failure.line
        except (OSError, TypeError):
            return None

    def defined(self, *names: str) -> int | None:
        """The line at which the first of these methods that exists is defined."""
        return next((each.lineno for each in self._methods(names)), None)

    def returned(self) -> int | None:
        """The last return statement of backward."""
        return self._last(BACKWARD_METHODS, lambda node: isinstance(node, ast.Return))

    def output(self) -> int | None:
        """The last return statement of forward."""
        return self._last(("forward",), lambda node: isinstance(node, ast.Return))

    def kept(self, name: str) -> int | None:
        """Where forward sets the attribute of ctx of this name."""
        return self._first(FORWARD_METHODS, lambda node: _is_kept(node) == name)

    def called(self, name: str, *within: str) -> int | None:
        """Where a method of this name is called, such as ``save_for_backward``."""
        return self._first(
            within or FORWARD_METHODS,
            lambda node: isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == name,
        )

    def edited(self, name: str, *within: str) -> int | None:
        """Where the tensor of this name is edited in place: ``name[…] = …``, ``name += …``, ``name.add_(…)``."""
        return self._first(within or FORWARD_METHODS, lambda node: _edits(node) == name)

    def drawn(self, *within: str) -> int | None:
        """Where random numbers are drawn, judging by the names of the calls."""
        return self._first(within, lambda node: isinstance(node, ast.Call) and _draws(ast.unparse(node.func)))

    def read(self, name: str, *within: str) -> int | None:
        """Where a variable or an attribute of this name is used."""
        return self._first(
            within,
            lambda node: (
                (isinstance(node, ast.Attribute) and node.attr == name)
                or (isinstance(node, ast.Name) and node.id == name)
            ),
        )

    def attributes(self) -> set[str]:
        """The names of the attributes that forward and setup_context set on ctx."""
        return {name for node in self._inside(FORWARD_METHODS) if (name := _is_kept(node))}

    def unpacked(self) -> set[str]:
        """The variables to which backward unpacks ``ctx.saved_tensors``."""
        return {
            part.id
            for node in self._inside(BACKWARD_METHODS)
            if isinstance(node, ast.Assign) and "saved_tensors" in ast.unparse(node.value)
            for each in _targets(node)
            for part in ast.walk(each)
            if isinstance(part, ast.Name)
        }

    def parameter(self, place: int, *within: str) -> str:
        """The name of an argument of one of these methods by its position, from 0; empty if there is none."""
        for each in self._methods(within):
            names = [argument.arg for argument in each.args.args]
            if place < len(names):
                return names[place]
        return ""

    @cached_property
    def _written(self) -> dict[str, ast.FunctionDef]:
        """The syntax trees of the methods of the class, with those inherited from a class in the same source."""
        try:
            tree = ast.parse(textwrap.dedent(self.op.source))
        except (OSError, TypeError, SyntaxError, ValueError):
            return {}
        classes = {node.name: node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}
        written: dict[str, ast.FunctionDef] = {}
        for each in self.function.__mro__:
            for node in classes[each.__name__].body if each.__name__ in classes else ():
                if isinstance(node, ast.FunctionDef):
                    written.setdefault(node.name, node)
        return written

    def _methods(self, names: tuple[str, ...]) -> Iterator[ast.FunctionDef]:
        return (self._written[name] for name in names if name in self._written)

    def _inside(self, names: tuple[str, ...]) -> Iterator[ast.AST]:
        for method in self._methods(names):
            for statement in method.body:
                yield from ast.walk(statement)

    def _first(self, names: tuple[str, ...], is_it: Callable[[ast.AST], bool]) -> int | None:
        return min((_line(node) for node in self._inside(names) if is_it(node)), default=None)

    def _last(self, names: tuple[str, ...], is_it: Callable[[ast.AST], bool]) -> int | None:
        return max((_line(node) for node in self._inside(names) if is_it(node)), default=None)


def _line(node: ast.AST) -> int:
    return int(getattr(node, "lineno", 1))


def _targets(node: ast.AST) -> list[ast.expr]:
    if isinstance(node, ast.Assign):
        return [part for each in node.targets for part in (each.elts if isinstance(each, ast.Tuple) else [each])]
    return [node.target] if isinstance(node, ast.AnnAssign | ast.AugAssign) else []


def _is_kept(node: ast.AST) -> str:
    """The name of the attribute of ctx that a statement assigns, else empty."""
    for each in _targets(node):
        if isinstance(each, ast.Attribute) and isinstance(each.value, ast.Name) and each.value.id in ("ctx", "self"):
            return each.attr
    return ""


def _edits(node: ast.AST) -> str:
    """The name of the tensor that a node edits in place, else empty."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        method = node.func.attr
        edits = method.endswith("_") and not method.endswith("__") and method not in ("requires_grad_", "retain_grad_")
        return _base(node.func.value) if edits else ""
    for each in _targets(node):
        if isinstance(each, ast.Subscript) or (isinstance(node, ast.AugAssign) and isinstance(each, ast.Name)):
            return _base(each)
    return ""


def _base(node: ast.expr) -> str:
    """The variable at the root of an expression such as ``name[…].data``."""
    while isinstance(node, ast.Subscript | ast.Attribute | ast.Call):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""


def _draws(called: str) -> bool:
    return "rand" in called or called.rpartition(".")[2] in _RANDOM_CALLS
