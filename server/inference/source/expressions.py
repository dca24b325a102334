"""Evidence from the expressions of one function: conditions, subscripts, and numbers compared with or divided by."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Literal

from .evidence import ArgumentEvidence
from .function_source import FunctionTree
from .name_binding import NameBinding, ReadingState, integer_literal, literal_elements, quoted_source
from .torch_signatures import UNINITIALISED

_VECTOR = 7  # the size of a vector, if nothing else is known of it
_WHOLE = {"int", "floor", "ceil", "round", "trunc"}
_STEPS = {"floor", "ceil", "round", "trunc", "round_", "floor_", "ceil_", "trunc_", "rint"}
_MIRRORED: dict[type[ast.cmpop], type[ast.cmpop]] = {ast.Lt: ast.Gt, ast.LtE: ast.GtE, ast.Gt: ast.Lt, ast.GtE: ast.LtE}
# Comparisons that ask for a dtype where they hold, and where they do not.
_SAME, _OTHER = (ast.Eq, ast.Is, ast.In), (ast.NotEq, ast.IsNot, ast.NotIn)
_WIDEST_FIRST = ("float64", "complex128", "float32", "complex64", "bfloat16", "float16", "int64", "int32", "bool")


class ExpressionReader(NameBinding, ast.NodeVisitor):
    """Reads the body of one function, named ``where`` in reasons, and of its helpers up to ``depth`` deep.

    ``required`` says that a condition is that of an assert, or of an if that raises; ``blank`` are the local names of
    uninitialised tensors, ``state`` those that the loop around computes from themselves, with what that says.
    """

    def __init__(
        self, source: FunctionTree, notes: ReadingState, of: dict[str, str], where: str, ctx: str = "", depth: int = 2
    ) -> None:
        super().__init__(source, notes, of, ctx)
        self.where, self.depth, self.required = where, depth, False
        self.blank = frozenset[str]()
        self.state = dict[str, Literal["spd", "stable"]]()

    def read(self) -> None:
        for each in self.source.statements:
            self.visit(each)

    def visit_Compare(self, node: ast.Compare) -> None:
        sides = [node.left, *node.comparators]
        for one, operator, other in zip(sides, node.ops, sides[1:], strict=False):
            self._compared(one, operator, other, node)
            self._compared(other, operator, one, node)
        self.generic_visit(node)

    def say(self, node: ast.AST | None, kind: str, weight: float, context: ast.AST, reason: str = "") -> None:
        """Add weight to a kind for the argument that an expression stands for, if any."""
        found = self.evidence(node)
        if found:
            found.supports(kind, weight, reason or f"{self.where} has `{quoted_source(context)}`")

    def chosen(self, node: ast.AST, strings: list[str]) -> None:
        """Note that an argument takes one of some strings."""
        found = self.evidence(node)
        if found and strings:
            found.supports("text", 4, f"it is compared with {strings[0]!r}")
            found.strings += [each for each in strings if each not in found.strings]

    def test(self, test: ast.expr, refused: bool = False) -> None:
        """Read the condition of an if, assert or while; ``refused`` says that it may raise."""
        condition = test.operand if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not) else test
        for each in condition.values if isinstance(condition, ast.BoolOp) else [condition]:
            plain = each.operand if isinstance(each, ast.UnaryOp) and isinstance(each.op, ast.Not) else each
            self.say(plain, "flag", 3, plain, f"{self.where} asks whether it is true")
        before, self.required = self.required, self.required or refused
        self.visit(test)
        self.required = before

    def _compared(self, one: ast.expr, operator: ast.cmpop, other: ast.expr, node: ast.Compare) -> None:
        values = [each.value for each in literal_elements(other) if isinstance(each, ast.Constant)]
        named = self.resolved(other) if isinstance(operator, ast.In | ast.NotIn) else None
        if named is not None and type(named) in (tuple, list, set, frozenset, dict):
            values += named
        wholes = [each for each in values if isinstance(each, int) and not isinstance(each, bool)]
        same, differ = isinstance(operator, ast.Eq | ast.In), isinstance(operator, ast.NotEq | ast.NotIn)
        counted, found = self.counted(one), self.evidence(one)
        if isinstance(other, ast.Constant) and other.value is None:
            self.say(one, "nothing", 1, node, f"{self.where} asks whether it is None")
        if counted and counted in self.notes.arguments and (same or (differ and self.required)):
            for each in wholes:
                self.notes.arguments[counted].has_rank(
                    each, f"{self.where} asks for `{quoted_source(node)}`", self.required
                )
        if same or differ:
            self.chosen(one, [each for each in values if isinstance(each, str)])
            self._sized(one, other, wholes, node)
            if found:
                found.numbers += [each for each in wholes if each not in found.numbers]
            held = (
                self.evidence(one.value)
                if isinstance(one, ast.Subscript) and integer_literal(one.slice) is not None
                else None
            )
            if held and wholes and set(wholes) <= {0, 1}:
                held.switch = True
        elif values and not counted:
            self.say(one, "number", 0.5, node)

    def _sized(self, one: ast.expr, other: ast.expr, wholes: list[int], node: ast.Compare) -> None:
        size, theirs, shaped = self.dimension(one), self.dimension(other), self.shaped(one)
        if size and theirs:
            self.notes.relations.tie(size, theirs, f"{self.where} asks for `{quoted_source(node)}`")
        if size and wholes and self.required:
            self.notes.relations.fixed.setdefault(size, wholes[0])
        if shaped and self.required:
            self._has_shape(shaped, other, node)

    def _has_shape(self, name: str, other: ast.expr, node: ast.AST) -> None:
        """A shape compared with that of another argument, or with literal sizes."""
        theirs, relations = self.shaped(other), self.notes.relations
        if theirs:
            relations.alike.append((name, theirs))
        if isinstance(other, ast.Tuple | ast.List) and name in self.notes.arguments:
            self.notes.arguments[name].has_rank(len(other.elts), f"{self.where} asks for `{quoted_source(node)}`")
            for place, each in enumerate(other.elts):
                size, fixed = self.dimension(each), integer_literal(each)
                if size:
                    relations.tie((name, place), size, f"{self.where} asks for `{quoted_source(node)}`")
                if fixed is not None and fixed > 0:
                    relations.fixed[name, place] = fixed

    def laid(self, target: ast.expr, value: ast.expr) -> None:
        """Assignment to elements of an uninitialised tensor has to fill it, so its indices are a permutation."""
        if isinstance(target, ast.Name):
            called = value.func if isinstance(value, ast.Call) else None
            blank = isinstance(called, ast.Attribute) and called.attr in UNINITIALISED
            self.blank = self.blank | {target.id} if blank else self.blank - {target.id}
        elif isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name) and target.value.id in self.blank:
            for each in target.slice.elts if isinstance(target.slice, ast.Tuple) else [target.slice]:
                found = self.evidence(each)
                if found:
                    found.once = True

    def paired(self, viewed: ast.expr, as_what: ast.expr) -> None:
        """A view as complex needs a last dimension of 2; as complex64 it needs float32."""
        dtype = as_what.attr if isinstance(as_what, ast.Attribute) else getattr(as_what, "value", "")
        found = self.evidence(viewed)
        if found and dtype in ("complex64", "complex128"):
            self.notes.relations.fixed[found.name, -1] = 2
            found.dtype = found.dtype or "float32" * (dtype == "complex64")

    def indexed(self, found: ArgumentEvidence, node: ast.Subscript) -> None:
        """Note the evidence of a subscript on the argument that is indexed, and on the index."""
        reason = f"{self.where} indexes `{quoted_source(node)}`"
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        taken = [each for each in parts if not (isinstance(each, ast.Constant) and each.value in (None, ...))]
        if isinstance(node.slice, ast.Tuple):
            found.supports("tensor", 4, reason)
            found.at_least(len(taken), reason)
        elif isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str):
            found.supports("object", 3, reason)
            found.keys.append(node.slice.value)
        elif isinstance(node.slice, ast.Slice):
            found.supports("tensor", 0.5, reason)
        else:
            found.supports("sequence", 1.5, reason)
            found.length = max(found.length, (integer_literal(node.slice) or 0) + 1)
        dots = any(
            isinstance(each, ast.Constant) and each.value is ... for each in parts[: len(parts) - len(taken) + 1]
        )
        for place, each in enumerate(taken):
            self.say(each, "index", 1.5, node, f"`{quoted_source(node)}` picks with it")
            self._reaches(found.name, place - len(taken) if dots else place, each)

    def _reaches(self, name: str, place: int, part: ast.expr) -> None:
        """Note how long a dimension has to be for an index or slice."""
        if not isinstance(part, ast.Slice) or part.lower or part.upper or part.step:
            alone = integer_literal(part)
            self.notes.relations.picked.setdefault((name, place), set()).add(alone)
        last = integer_literal(part.upper) if isinstance(part, ast.Slice) else integer_literal(part)
        least = (last or 0) + (not isinstance(part, ast.Slice))
        if last is not None and 1 < least < 20 and last >= 0:
            self.notes.relations.reach((name, place), least)

    def shortened(self, node: ast.BinOp) -> None:
        """A vector beside all but some elements of another, as ``band * x[1:]``, is so much shorter."""
        for one, other in ((node.left, node.right), (node.right, node.left)):
            part = other.slice if isinstance(other, ast.Subscript) else None
            if not isinstance(part, ast.Slice) or part.step or bool(part.lower) == bool(part.upper):
                continue
            name, whole = self.subject(one), self.subject(other.value)  # type: ignore[attr-defined]
            left_out = (integer_literal(part.lower) or 0) - (integer_literal(part.upper) or 0)
            if name and whole and name != whole and 0 < left_out < _VECTOR:
                fixed = self.notes.relations.fixed
                fixed.setdefault((name, 0), fixed.setdefault((whole, 0), _VECTOR) - left_out)

    def shared(self, node: ast.Call) -> None:
        """Note the share in ``int(rate * x.numel())``: how many of all elements, as a number from 0 to 1."""
        product = node.args[0] if _called(node) in _WHOLE and node.args else None
        if not isinstance(product, ast.BinOp) or not isinstance(product.op, ast.Mult):
            return
        for share, size in ((product.left, product.right), (product.right, product.left)):
            if isinstance(share, ast.BinOp) and isinstance(share.op, ast.Sub) and _is_one(share.left):
                share = share.right
            found = self.evidence(share)
            if found and self._is_size(size):
                found.share = True
                found.supports("number", 6, f"{self.where} takes a share of a size: `{ast.unparse(node)}`")

    def stepped(self, node: ast.Call) -> None:
        """Note the step in ``torch.round(x / step)``: the larger it is, the better the staircase is visible."""
        if _called(node) not in _STEPS:
            return
        method = isinstance(node.func, ast.Attribute) and not node.args
        rounded = node.func.value if method else node.args[0] if node.args else None  # type: ignore[attr-defined]
        for each in _quotients(rounded):
            divisor: ast.expr = each.right
            while isinstance(divisor, ast.BinOp) and isinstance(divisor.op, ast.Add):
                divisor = divisor.left
            found = self.evidence(divisor)
            if found:
                found.step = True

    def bounded(self, test: ast.expr, holds: bool) -> None:
        """Note the bounds on an argument that follow from ``test`` being true (``holds``) or false."""
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not | ast.Invert):
            self.bounded(test.operand, not holds)
        elif isinstance(test, ast.BoolOp):
            for each in test.values if isinstance(test.op, ast.And) == holds else []:
                self.bounded(each, holds)
        elif isinstance(test, ast.Call):
            method = isinstance(test.func, ast.Attribute) and not test.args
            self.bounded(test.func.value if method else (test.args or [ast.Constant(None)])[0], holds)  # type: ignore[attr-defined]
        elif isinstance(test, ast.Compare) and (holds or len(test.ops) == 1):
            sides = [test.left, *test.comparators]
            for one, operator, other in zip(sides, test.ops, sides[1:], strict=False):
                kind = type(operator)
                self._bound(one, kind, other, holds)
                self._typed(one, kind, other, holds)
                self._bound(other, _MIRRORED.get(kind, kind), one, holds)

    def _bound(self, one: ast.expr, kind: type[ast.cmpop], other: ast.expr, holds: bool) -> None:
        found, value = self.evidence(one), _number(other)
        if found is None or value is None or kind not in _MIRRORED:
            return
        above = (kind in (ast.Gt, ast.GtE)) == holds
        found.bounded_by(value if above else None, None if above else value)

    def _typed(self, one: ast.expr, kind: type[ast.cmpop], other: ast.expr, holds: bool) -> None:
        """Note the dtype in ``x.dtype == torch.float32``; of several the widest one."""
        found = self.evidence(one.value) if isinstance(one, ast.Attribute) and one.attr == "dtype" else None
        if found is None or kind not in (_SAME if holds else _OTHER):
            return
        named = {str(self.resolved(each)).removeprefix("torch.") for each in literal_elements(other)}
        dtype = next((each for each in _WIDEST_FIRST if each in named), "")
        kinds = {"bool": "mask", "int64": "index", "int32": "index"}
        if dtype:
            found.dtype = dtype
            found.supports(kinds.get(dtype, "tensor"), 6, f"{self.where} asks for torch.{dtype}")

    def _is_size(self, node: ast.expr) -> bool:
        """Whether an expression is the number of elements, or the length, of a tensor."""
        if isinstance(node, ast.Name):
            given = [each for each in self.source.statements for each in ast.walk(each) if isinstance(each, ast.Assign)]
            named = [each.value for each in given if any(_is_name(target, node.id) for target in each.targets)]
            return self.dimension(node) is not None or any(_counts(each) for each in named)
        return _counts(node) or self.dimension(node) is not None


def _called(node: ast.Call) -> str:
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


def _counts(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and _called(node) in ("numel", "nelement", "len")


def _is_name(target: ast.expr, name: str) -> bool:
    return isinstance(target, ast.Name) and target.id == name


def _is_one(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value == 1


def _number(node: ast.expr) -> float | None:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        found = _number(node.operand)
        return None if found is None else -found
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float) and not isinstance(node.value, bool):
        return float(node.value)
    return None


def _quotients(node: ast.expr | None) -> Iterator[ast.BinOp]:
    """The quotients among the terms of a sum."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub):
        yield from _quotients(node.left)
        yield from _quotients(node.right)
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
        yield node
