"""AST visitor over the body of a function: collects the evidence on each argument, under all its names."""

from __future__ import annotations

import ast
from functools import cached_property

from .calls import CallReader
from .complex_evidence import COMPLEX_USES
from .evidence import ArgumentEvidence
from .expressions import ExpressionReader
from .iteration import loop_state, only_repeats, repetitions
from .name_binding import quoted_source
from .parts import read_quotient, read_stride
from .torch_signatures import (
    BUILTIN_ATTRIBUTES,
    DICT_METHODS,
    RANKS_BY_POSITION,
    STRING_METHODS,
    TAKES_SQUARE,
    TENSOR_ATTRIBUTES,
    TENSOR_CASTS,
)


class Reader(ExpressionReader):
    """Reads one function's body, in the order of its lines; ``where`` is what it is called in reasons."""

    @cached_property
    def calls(self) -> CallReader:
        """What reads the calls in it."""
        return CallReader(self)

    # Statements.

    def visit_Assign(self, node: ast.Assign) -> None:
        self._read_value(node.targets, node.value)
        for target in node.targets:
            self.laid(target, node.value)
            self._note_unpacking(target, node.value)
            self.bind(target, node.value)
            if isinstance(target, ast.Subscript):
                self.visit(target)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self._read_value([node.target], node.value)
            self.bind(node.target, node.value)

    def visit_NamedExpr(self, node: ast.NamedExpr) -> None:
        self.visit(node.value)
        self.bind(node.target, node.value)

    def visit_For(self, node: ast.For) -> None:
        self.say(node.iter, "sequence", 3, node.iter, f"{self.where} goes through it with for")
        for each in repetitions(node):
            self.say(each, "whole", 5, node.iter)
            if (found := self.evidence(each)) and self.where != "backward":
                found.repeats = found.repeats or only_repeats(node)
        self._read_loop(node)

    def visit_If(self, node: ast.If) -> None:
        refused = any(isinstance(each, ast.Raise) for each in node.body)
        if refused:
            self.bounded(node.test, False)
        self.test(node.test, refused)
        for each in (*node.body, *node.orelse):
            self.visit(each)

    def visit_IfExp(self, node: ast.IfExp) -> None:
        self.test(node.test)
        self.visit(node.body)
        self.visit(node.orelse)

    def visit_While(self, node: ast.While) -> None:
        self.test(node.test)
        self._read_loop(node)

    def visit_Assert(self, node: ast.Assert) -> None:
        alternatives = (
            node.test.values if isinstance(node.test, ast.BoolOp) and isinstance(node.test.op, ast.Or) else []
        )
        self.bounded(node.test, True)
        # Of several alternatives only the first is required; the others may contradict it.
        needed = next((each for each in alternatives if not _of_none(each)), node.test)
        self.test(needed, refused=True)
        for each in alternatives:
            if each is not needed:
                self.test(each)

    # Expressions.

    def visit_Name(self, node: ast.Name) -> None:
        found = self.evidence(node)
        if found and isinstance(node.ctx, ast.Load):
            found.used.add(self.where)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        kept = self.evidence(node)
        if kept and self.is_ctx(node.value):
            kept.used.add(self.where)
        found = self.evidence(node.value)
        if found:
            self._note_attribute(found, node)
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        self.calls.read(node)
        self._note_identity(node)
        self.shared(node)
        self.stepped(node)
        if isinstance(node.func, ast.Attribute) and node.func.attr == "view" and len(node.args) == 1:
            self.paired(node.func.value, node.args[0])
        saves = isinstance(node.func, ast.Attribute) and node.func.attr == "save_for_backward"
        for each in ast.iter_child_nodes(node):
            # To be saved is no use of an argument.
            if not saves or (isinstance(each, ast.Attribute) and not self.is_ctx(each.value)):
                self.visit(each)

    def visit_Subscript(self, node: ast.Subscript) -> None:
        read_stride(self, node)
        found = self.evidence(node.value)
        if found:
            self.indexed(found, node)
        where = self.dimension(node)
        if where and where[0] in self.notes.arguments:
            place = where[1]
            least = place + 1 if place >= 0 else -place
            self.notes.arguments[where[0]].at_least(least, f"{self.where} asks for `{quoted_source(node)}`")
        table = self.resolved(node.value)
        if isinstance(table, dict) and self.subject(node.slice):
            self.chosen(node.slice, [each for each in table if isinstance(each, str)])
        self.generic_visit(node)

    def visit_Slice(self, node: ast.Slice) -> None:
        for each in (node.lower, node.upper, node.step):
            self.say(each, "whole", 4, node, "it bounds a slice")
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        if isinstance(node.op, ast.MatMult):
            self.calls.product(node.left, node.right, node)
        self.shortened(node)
        if isinstance(node.op, ast.Div) and (found := self.evidence(node.right)):
            found.divides = True
        if isinstance(node.op, ast.Sub) and isinstance(node.left, ast.Constant) and node.left.value == 1:
            self._note_label(node)
        if isinstance(node.op, ast.Pow) and isinstance(node.left, ast.Constant):
            self.say(node.right, "whole", 3, node)
        if isinstance(node.op, ast.LShift):
            self.say(node.right, "whole", 4, node)
        if isinstance(node.op, ast.FloorDiv | ast.Mod):
            self.say(node.right, "whole", 1.5, node)
            read_quotient(self, node)
        if isinstance(node.op, ast.BitAnd | ast.BitOr):
            self.say(node.left, "mask", 1, node)
        self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        if isinstance(node.op, ast.Invert):
            self.say(node.operand, "mask", 4, node)
        self.generic_visit(node)

    def visit_Starred(self, node: ast.Starred) -> None:
        self.say(node.value, "sequence", 3, node)
        self.generic_visit(node)

    # What is noted.

    def _read_loop(self, node: ast.For | ast.While) -> None:
        before, self.state = self.state, self.state | loop_state(node)
        self.generic_visit(node)
        self.state = before

    def _read_value(self, targets: list[ast.expr], value: ast.expr) -> None:
        """Read the value of an assignment; storing an argument on ctx does not count as using it."""
        on_ctx = len(targets) == 1 and isinstance(targets[0], ast.Attribute) and self.is_ctx(targets[0].value)
        if on_ctx and self.subject(value):
            self.say(value, "number", 2, value, f"it is kept as an attribute of {self.ctx}")
        elif isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr in TENSOR_CASTS:
            found = self.evidence(value.args[0]) if value.args else None
            if found:
                found.used.add(value.func.attr)
            for each in value.args if not found else ():
                self.visit(each)
        else:
            self.visit(value)

    def _note_unpacking(self, target: ast.expr, value: ast.expr) -> None:
        if not isinstance(target, ast.Tuple | ast.List):
            return
        starred = sum(isinstance(each, ast.Starred) for each in target.elts)
        count, shaped, found = len(target.elts) - starred, self.shaped(value), self.evidence(value)
        what = f"unpacked into {count}{' or more' if starred else ''} in {self.where}"
        if shaped and shaped in self.notes.arguments:
            known = self.notes.arguments[shaped]
            known.at_least(count, f"its shape is {what}") if starred else known.has_rank(count, f"its shape is {what}")
        elif found and not self.items(value):
            found.supports("sequence", 4, f"it is {what}")
            found.length = found.length or count

    def _note_attribute(self, found: ArgumentEvidence, node: ast.Attribute) -> None:
        reason = f"{self.where} uses `{quoted_source(node)}`"
        if node.attr in COMPLEX_USES:
            found.complex = found.complex or reason
        if node.attr in TENSOR_ATTRIBUTES:
            found.supports("tensor", 4, reason)
            found.square = found.square or node.attr in TAKES_SQUARE
            rank = RANKS_BY_POSITION.get(node.attr, {}).get(0, 2 if node.attr == "T" else 0)
            if rank:
                found.has_rank(rank, reason)
        elif node.attr in STRING_METHODS:
            found.supports("text", 3, reason)
        elif node.attr in DICT_METHODS:
            found.supports("object", 2, reason)
        elif node.attr not in BUILTIN_ATTRIBUTES:
            found.supports("object", 3, reason)
            found.members.append(node.attr)

    def _note_identity(self, node: ast.Call) -> None:
        """An identity of the size of a tensor stands beside a matrix; one of a written size says that of another."""
        if ast.unparse(node.func) != "torch.eye" or len(node.args) != 1:
            return
        if isinstance(node.args[0], ast.Constant) and type(node.args[0].value) is int:
            self.notes.relations.identities.add(node.args[0].value)
        where = self.dimension(node.args[0])
        if where and where[0] in self.notes.arguments:
            known = self.notes.arguments[where[0]]
            known.beside_eye = True
            known.has_rank(2, f"{self.where} has `{quoted_source(node)}` beside it", sure=False)

    def _note_label(self, node: ast.BinOp) -> None:
        """``1 - y`` is the complement of a y of 0 or 1, and ``1 - x * y`` the margin of one of -1 or 1."""
        if found := self.evidence(node.right):
            found.binary = quoted_source(node)
        elif isinstance(node.right, ast.BinOp) and isinstance(node.right.op, ast.Mult):
            for each in filter(None, map(self.evidence, (node.right.left, node.right.right))):
                each.signs = quoted_source(node)


def _of_none(node: ast.expr) -> bool:
    """Whether a condition compares with None."""
    return isinstance(node, ast.Compare) and any(
        isinstance(each, ast.Constant) and each.value is None for each in node.comparators
    )
