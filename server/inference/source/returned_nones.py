"""Which gradients ``backward`` returns as a literal ``None``: those arguments are not differentiable."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from .function_source import FunctionTree
from .name_binding import integer_literal


class ReturnedGradients:
    """The return values of a ``backward``, by position: True for a literal None, False for anything else.

    ``count`` is how many it returns, None where that is not written or not always the same.
    """

    def __init__(self, source: FunctionTree | None) -> None:
        self.lists: dict[str, list[bool]] = {}
        self.assigned: dict[str, bool] = {}
        self.returned: list[list[bool]] = []
        self.open = False
        if source is not None:
            for each in _of_body(source.statements):
                self._statement(each)

    @property
    def count(self) -> int | None:
        """How many gradients are returned."""
        counts = {len(each) for each in self.returned}
        return counts.pop() if len(counts) == 1 and not self.open else None

    def differentiable(self, place: int) -> bool | None:
        """Whether a gradient is ever returned for an argument; None where it is not written."""
        if not self.returned:
            return None
        found = [each[place] for each in self.returned if place < len(each)]
        if not found:
            return None if self.open else False
        if all(found):
            return False if len(found) == len(self.returned) or not self.open else None
        return True

    def _statement(self, node: ast.stmt) -> None:
        if isinstance(node, ast.Assign):
            for target in node.targets:
                self._assigned(target, node.value)
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            self._assigned(node.target, ast.BinOp(node.target, node.op, node.value))
        if isinstance(node, ast.Return) and node.value is not None:
            parts, complete = self._parts(node.value)
            # A call may return several values, and so may a name bound to its result.
            complete = complete and not (len(parts) == 1 and self._unwritten(node.value))
            self.open = self.open or not complete
            self.returned.append(parts)

    def _assigned(self, target: ast.expr, value: ast.expr) -> None:
        """Track whether a name was only ever assigned None, and the elements of a tuple with a name."""
        if isinstance(target, ast.Name):
            parts, complete = self._parts(value)
            if isinstance(value, ast.Tuple | ast.List | ast.BinOp) and complete and len(parts) > 1:
                self.lists[target.id] = parts
            self.assigned[target.id] = self.assigned.get(target.id, True) and _is_none(value)
        elif isinstance(target, ast.Tuple | ast.List):
            values = value.elts if isinstance(value, ast.Tuple | ast.List) else []
            for place, each in enumerate(target.elts):
                given = values[place] if len(values) == len(target.elts) else ast.Constant(0)
                self._assigned(each, ast.Constant(None) if _is_none(value) else given)
        elif isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name):
            at, known = integer_literal(target.slice), self.lists.get(target.value.id, [])
            if at is not None and -len(known) <= at < len(known):
                known[at] = _is_none(value)
            else:
                self.lists.pop(target.value.id, None)

    def _parts(self, node: ast.expr) -> tuple[list[bool], bool]:
        """The elements of a returned expression, True for None, and whether that list is complete."""
        if isinstance(node, ast.Tuple | ast.List):
            return self._joined(node.elts)
        if isinstance(node, ast.Starred):
            return self._parts(node.value) if self._listed(node.value) else ([], False)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add) and self._listed(node):
            return self._joined([ast.Starred(node.left), ast.Starred(node.right)])
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult) and self._listed(node.left):
            parts, complete = self._parts(node.left)
            times = integer_literal(node.right)
            return (parts * times, complete) if times is not None else ([], False)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("tuple", "list"):
            return self._parts(node.args[0]) if node.args and self._listed(node.args[0]) else ([], False)
        if isinstance(node, ast.Name) and node.id in self.lists:
            return self.lists[node.id], True
        if isinstance(node, ast.Name):
            return [self.assigned.get(node.id, False)], True
        if isinstance(node, ast.IfExp):
            return [_is_none(node.body) and _is_none(node.orelse)], True
        return [_is_none(node)], True

    def _unwritten(self, node: ast.expr) -> bool:
        return isinstance(node, ast.Call) or (isinstance(node, ast.Name) and node.id not in self.lists)

    def _joined(self, nodes: list[ast.expr]) -> tuple[list[bool], bool]:
        joined: list[bool] = []
        for each in nodes:
            parts, complete = self._parts(each)
            joined += parts
            if not complete:
                return joined, False
        return joined, True

    def _listed(self, node: ast.expr) -> bool:
        """Whether an expression is a literal tuple or list, or built from such."""
        if isinstance(node, ast.Name):
            return node.id in self.lists
        if isinstance(node, ast.BinOp):
            sides = (node.left, node.right) if isinstance(node.op, ast.Add) else (node.left,)
            return any(self._listed(each) for each in sides)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("tuple", "list"):
            return bool(node.args) and self._listed(node.args[0])
        return isinstance(node, ast.Tuple | ast.List)


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _of_body(statements: list[ast.AST]) -> Iterator[ast.stmt]:
    """The statements of a function in the order of its lines, without those of functions defined inside."""
    for each in statements:
        if isinstance(each, ast.stmt) and not isinstance(each, ast.FunctionDef | ast.ClassDef):
            yield each
            for name in ("body", "orelse", "finalbody"):
                yield from _of_body(getattr(each, name, []))
            for handler in getattr(each, "handlers", []):
                yield from _of_body(handler.body)
