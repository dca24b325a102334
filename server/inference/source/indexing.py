"""Evidence from subscripts: indexing of an argument, indexing with it, and filling an empty tensor by index."""

from __future__ import annotations

import ast

from .conditions import ConditionReader
from .evidence import ArgumentEvidence
from .name_binding import integer_literal, quoted_source
from .torch_signatures import UNINITIALISED


class SubscriptReader(ConditionReader):
    """Reads subscripts; ``blank`` are the local names of uninitialised tensors."""

    blank: frozenset[str] = frozenset()

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
        said = as_what.attr if isinstance(as_what, ast.Attribute) else getattr(as_what, "value", "")
        found = self.evidence(viewed)
        if found and said in ("complex64", "complex128"):
            self.notes.relations.fixed[found.name, -1] = 2
            found.single = found.single or said == "complex64"

    def indexed(self, found: ArgumentEvidence, node: ast.Subscript) -> None:
        """Note the evidence of a subscript on the argument that is indexed, and on the index."""
        reason = f"{self.where} indexes `{quoted_source(node)}`"
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        taken = [each for each in parts if not (isinstance(each, ast.Constant) and each.value in (None, ...))]
        if isinstance(node.slice, ast.Tuple):
            found.speaks("tensor", 4, reason)
            found.at_least(len(taken), reason)
        elif isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str):
            found.speaks("object", 3, reason)
            found.keys.append(node.slice.value)
        elif isinstance(node.slice, ast.Slice):
            found.speaks("tensor", 0.5, reason)
        else:
            found.speaks("sequence", 1.5, reason)
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
