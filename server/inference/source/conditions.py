"""Evidence from conditions: comparisons and tests of None, strings, numbers, ranks and sizes."""

from __future__ import annotations

import ast

from .early_returns import early_return_values, returned_names
from .name_binding import NameBinding, integer_literal, literal_elements, quoted_source


class ConditionReader(NameBinding, ast.NodeVisitor):
    """Reads comparisons and tests; ``where`` is what the function is called in reasons.

    ``required`` says that the condition is that of an assert, or of an if that raises.
    """

    where = ""
    required = False

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
            found.speaks(kind, weight, reason or f"{self.where} has `{quoted_source(context)}`")

    def chosen(self, node: ast.AST, strings: list[str]) -> None:
        """Note that an argument takes one of some strings."""
        found = self.evidence(node)
        if found and strings:
            found.speaks("text", 4, f"it is compared with {strings[0]!r}")
            found.strings += [each for each in strings if each not in found.strings]

    def test(self, test: ast.expr, refused: bool = False) -> None:
        """Read the condition of an if, assert or while; ``refused`` says that it may raise."""
        bare = test.operand if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not) else test
        for each in bare.values if isinstance(bare, ast.BoolOp) else [bare]:
            plain = each.operand if isinstance(each, ast.UnaryOp) and isinstance(each.op, ast.Not) else each
            self.say(plain, "flag", 3, plain, f"{self.where} asks whether it is true")
        before, self.required = self.required, self.required or refused
        self.visit(test)
        self.required = before

    def leads_past(self, node: ast.If | ast.IfExp) -> None:
        """Note the values for which a branch of forward returns its argument unchanged, or raises."""
        if self.where != "backward":
            for one, value in early_return_values(
                node, lambda each: self.subject(each) is not None, returned_names(self.source.statements)
            ):
                found = self.evidence(one)
                if found and not found.leads_past(value):
                    found.past.append(value)

    def _compared(self, one: ast.expr, operator: ast.cmpop, other: ast.expr, node: ast.Compare) -> None:
        values = [each.value for each in literal_elements(other) if isinstance(each, ast.Constant)]
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
            self.notes.relations.tie(size, theirs)
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
                    relations.tie((name, place), size)
                if fixed is not None and fixed > 0:
                    relations.fixed[name, place] = fixed
