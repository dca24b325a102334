"""Name binding: which argument a local name stands for, through assignments, helpers, and ctx into backward."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from ...protocol.listed import shortened
from .evidence import ArgumentEvidence, ShapeRelations
from .function_source import FunctionTree
from .torch_signatures import SHAPE_PRESERVING

# Most characters of a quotation in a reason.
_QUOTED = 40


@dataclass
class SavedOnCtx:
    """What ``forward`` keeps on ctx for ``backward``: arguments by attribute, and saved tensors in order."""

    kept: dict[str, str] = field(default_factory=dict)
    saved: list[str | None] = field(default_factory=list)


@dataclass
class ReadingState:
    """The state of reading a Function: evidence on each argument, relations of shapes, and what is kept on ctx."""

    arguments: dict[str, ArgumentEvidence]
    relations: ShapeRelations = field(default_factory=ShapeRelations)
    memory: SavedOnCtx = field(default_factory=SavedOnCtx)
    # The name of ``*args``, whose arguments are created as they are met: args0, args1 ...
    star: str = ""

    def starred(self, place: int) -> str:
        """The name of one argument of ``*args``."""
        for each in range(place + 1):
            self.arguments.setdefault(f"{self.star}{each}", ArgumentEvidence(f"{self.star}{each}"))
        return f"{self.star}{place}"


class NameBinding:
    """The bindings of the names in one function.

    ``of`` says which argument a local name is, ``sizes`` which dimension of one, ``lists`` which arguments stand in a
    tuple; ``ctx`` is the name of ctx, ``star`` that of a tuple of all arguments.
    """

    def __init__(self, source: FunctionTree, notes: ReadingState, of: dict[str, str], ctx: str = "") -> None:
        self.source, self.notes, self.of, self.ctx = source, notes, dict(of), ctx
        self.sizes: dict[str, tuple[str, int]] = {}
        self.lists: dict[str, list[str | None]] = {}
        self.star = ""

    def subject(self, node: ast.AST | None) -> str | None:
        """The argument that an expression stands for, in its own shape; None if it stands for none."""
        if isinstance(node, ast.Name):
            return self.of.get(node.id)
        if isinstance(node, ast.Attribute):
            if self.is_ctx(node.value):
                return self.notes.memory.kept.get(node.attr)
            return self.subject(node.value) if node.attr in SHAPE_PRESERVING else None
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in SHAPE_PRESERVING:
            return self.subject(node.func.value)
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name):
            place = integer_literal(node.slice)
            return self._item(node.value.id, place) if place is not None else None
        return None

    def evidence(self, node: ast.AST | None) -> ArgumentEvidence | None:
        """The evidence on the argument that an expression stands for."""
        name = self.subject(node)
        return self.notes.arguments.get(name) if name else None

    def resolved(self, node: ast.AST) -> Any:
        """The object that a dotted name refers to in its module; None if that is not known."""
        if isinstance(node, ast.Name):
            return None if node.id in self.of else self.source.namespace.get(node.id)
        if isinstance(node, ast.Attribute):
            owner = self.resolved(node.value)
            try:
                return None if owner is None else getattr(owner, node.attr, None)
            except Exception:  # noqa: BLE001 a user's object may raise anything
                return None
        return None

    def dimension(self, node: ast.AST) -> tuple[str, int] | None:
        """The (argument, dimension) whose size an expression is: ``x.shape[1]``, or a name bound to it."""
        if isinstance(node, ast.Name):
            return self.sizes.get(node.id)
        name: str | None = None
        place: int | None = None
        if isinstance(node, ast.Subscript):
            name, place = self.shaped(node.value), integer_literal(node.slice)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "size":
            name, place = self.subject(node.func.value), integer_literal(node.args[0]) if node.args else None
        elif _is_len(node):
            name, place = self.subject(node.args[0]), 0  # type: ignore[attr-defined]
        return (name, place) if name and place is not None else None

    def shaped(self, node: ast.AST) -> str | None:
        """The argument whose shape an expression is: ``x.shape``, ``x.size()``, ``list(x.shape)``."""
        if isinstance(node, ast.Attribute) and node.attr == "shape":
            return self.subject(node.value)
        if isinstance(node, ast.Call):
            if isinstance(node.func, ast.Attribute) and node.func.attr == "size" and not node.args:
                return self.subject(node.func.value)
            if isinstance(node.func, ast.Name) and node.func.id in ("list", "tuple") and node.args:
                return self.shaped(node.args[0])
        return None

    def counted(self, node: ast.AST) -> str | None:
        """The argument whose number of dimensions an expression is: ``x.dim()``, ``x.ndim``, ``len(x.shape)``."""
        if isinstance(node, ast.Attribute) and node.attr == "ndim":
            return self.subject(node.value)
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr in ("dim", "ndimension")
        ):
            return self.subject(node.func.value)
        return self.shaped(node.args[0]) if _is_len(node) else None  # type: ignore[attr-defined]

    def is_ctx(self, node: ast.AST) -> bool:
        return isinstance(node, ast.Name) and bool(self.ctx) and node.id == self.ctx

    def items(self, value: ast.expr) -> list[str | None]:
        """The arguments in a tuple or list: the saved tensors, or a literal."""
        if isinstance(value, ast.Attribute) and value.attr in ("saved_tensors", "saved_variables"):
            return self.notes.memory.saved if self.is_ctx(value.value) else []
        if isinstance(value, ast.Tuple | ast.List):
            return [self.subject(each) for each in value.elts]
        return self.lists.get(value.id, []) if isinstance(value, ast.Name) else []

    def bind(self, target: ast.expr, value: ast.expr) -> None:
        """Bind a target of an assignment to what its value stands for."""
        if isinstance(target, ast.Tuple | ast.List):
            self._unpack(target.elts, value)
        elif isinstance(target, ast.Attribute) and self.is_ctx(target.value):
            subject = self.subject(value)
            if subject:
                self.notes.memory.kept[target.attr] = subject
        elif isinstance(target, ast.Name):
            self._rename(target.id, value)

    def _item(self, name: str, place: int) -> str | None:
        if self.star and name == self.star and place >= 0:
            return self.notes.starred(place)
        items = self.lists.get(name, [])
        return items[place] if -len(items) <= place < len(items) else None

    def _rename(self, name: str, value: ast.expr) -> None:
        subject, size, items = self.subject(value), self.dimension(value), self.items(value)
        if subject:
            self.of[name] = subject
        elif not self._defaulted(name, value):
            self.of.pop(name, None)
        self.sizes.pop(name, None)
        self.lists.pop(name, None)
        self.sizes |= {name: size} if size else {}
        self.lists |= {name: items} if items else {}

    def _defaulted(self, name: str, value: ast.expr) -> bool:
        """Whether ``value`` is the argument or a default for it: ``k if k is not None else 2``."""
        either = [value.body, value.orelse] if isinstance(value, ast.IfExp) else getattr(value, "values", [])
        return name in self.of and any(self.subject(each) == self.of[name] for each in either)

    def _unpack(self, targets: list[ast.expr], value: ast.expr) -> None:
        stars = [place for place, each in enumerate(targets) if isinstance(each, ast.Starred)]
        shaped, items = self.shaped(value), self.items(value)
        if self.star and isinstance(value, ast.Name) and value.id == self.star and not stars:
            items = [self.notes.starred(place) for place in range(len(targets))]
        for place, target in enumerate(targets):
            back = place - len(targets) if stars and place > stars[0] else place
            item = items[back] if -len(items) <= back < len(items) and place not in stars else None
            if isinstance(target, ast.Name):
                for table in (self.of, self.sizes, self.lists):
                    table.pop(target.id, None)
                if shaped and place not in stars:
                    self.sizes[target.id] = (shaped, back)
                elif item:
                    self.of[target.id] = item
            elif isinstance(target, ast.Attribute) and item and self.is_ctx(target.value):
                self.notes.memory.kept[target.attr] = item


def integer_literal(node: ast.AST | None) -> int | None:
    """The value of an integer literal, negative ones included; None for anything else."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        found = integer_literal(node.operand)
        return -found if found is not None else None
    if isinstance(node, ast.Constant) and isinstance(node.value, int) and not isinstance(node.value, bool):
        return node.value
    return None


def literal_elements(node: ast.expr) -> Iterator[ast.expr]:
    """The elements of a tuple, list or set literal, or the expression itself."""
    if isinstance(node, ast.Tuple | ast.List | ast.Set):
        yield from node.elts
    else:
        yield node


def _is_len(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "len" and bool(node.args)


def quoted_source(node: ast.AST) -> str:
    """The source of a node, on one line and shortened."""
    return shortened(" ".join(ast.unparse(node).split()), _QUOTED)
