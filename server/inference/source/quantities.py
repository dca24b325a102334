"""Evidence on numeric values: a fraction of a size, the step of a quantiser, and bounds that a condition demands."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from .indexing import SubscriptReader

_WHOLE = {"int", "floor", "ceil", "round", "trunc"}
_STEPS = {"floor", "ceil", "round", "trunc", "round_", "floor_", "ceil_", "trunc_", "rint"}
_MIRRORED: dict[type[ast.cmpop], type[ast.cmpop]] = {ast.Lt: ast.Gt, ast.LtE: ast.GtE, ast.Gt: ast.Lt, ast.GtE: ast.LtE}


class QuantityReader(SubscriptReader):
    """Reads products, quotients and comparisons."""

    def shared(self, node: ast.Call) -> None:
        """Note the share in ``int(rate * x.numel())``: how many of all elements, as a number from 0 to 1."""
        product = node.args[0] if _called(node) in _WHOLE and node.args else None
        if not isinstance(product, ast.BinOp) or not isinstance(product.op, ast.Mult):
            return
        for share, size in ((product.left, product.right), (product.right, product.left)):
            if isinstance(share, ast.BinOp) and isinstance(share.op, ast.Sub) and _is_one(share.left):
                share = share.right
            found = self.evidence(share)
            if found and self._a_size(size):
                found.share = True
                found.speaks("number", 6, f"{self.where} takes a share of a size: `{ast.unparse(node)}`")

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
                self._bound(other, _MIRRORED.get(kind, kind), one, holds)

    def _bound(self, one: ast.expr, kind: type[ast.cmpop], other: ast.expr, holds: bool) -> None:
        found, value = self.evidence(one), _number(other)
        if found is None or value is None or kind not in _MIRRORED:
            return
        if (kind in (ast.Gt, ast.GtE)) == holds:
            found.low = value if found.low is None else max(value, found.low)
        else:
            found.high = value if found.high is None else min(value, found.high)

    def _a_size(self, node: ast.expr) -> bool:
        """Whether an expression is the number of elements, or the length, of a tensor."""
        if isinstance(node, ast.Name):
            given = [each for each in self.source.statements for each in ast.walk(each) if isinstance(each, ast.Assign)]
            named = [each.value for each in given if any(_names(target, node.id) for target in each.targets)]
            return self.dimension(node) is not None or any(_counts(each) for each in named)
        return _counts(node) or self.dimension(node) is not None


def _called(node: ast.Call) -> str:
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


def _counts(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and _called(node) in ("numel", "nelement", "len")


def _names(target: ast.expr, name: str) -> bool:
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
