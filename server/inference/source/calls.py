"""Evidence from calls: arguments passed to functions of torch and Python, and to helpers, which are read in turn."""

from __future__ import annotations

import ast
import math
from contextlib import suppress
from types import FunctionType, MethodType, ModuleType
from typing import Any

import torch
from torch.autograd import Function

from ...runtime.graph import has_setup_context
from .complex_evidence import COMPLEX_USES
from .expressions import ExpressionReader
from .function_source import FunctionTree, read_function_source
from .iteration import names_in
from .name_binding import quoted_source
from .parts import read_parts
from .torch_signatures import (
    KEYWORD_CHOICES,
    KINDS_BY_KEYWORD,
    LEAST_RANKS,
    RANKS_BY_POSITION,
    TAKES_DIM,
    TAKES_SQUARE,
    kind_of_parameter,
)

_NOT_TENSORS = {"arange", "zeros", "ones", "full", "tensor", "as_tensor", "empty", "eye", "rand", "randn", "from_numpy"}
_WEIGHTS = {"tensor": 2.0, "index": 3.0, "mask": 3.0, "dim": 4.0, "whole": 3.0, "number": 1.5, "sequence": 2.0}
_KIND_OF_TYPE = {
    **{"Tensor": "tensor", "int": "whole", "float": "number", "Number": "number", "bool": "flag", "str": "text"},
    **dict.fromkeys(("tuple", "list", "Sequence", "Iterable"), "sequence"),
}


class CallReader:
    """Collects the evidence from the calls in the function of a ``reader``."""

    def __init__(self, reader: ExpressionReader) -> None:
        self.reader = reader

    def read(self, node: ast.Call) -> None:
        """Note the evidence of one call on the arguments passed to it."""
        reader = self.reader
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        called = (
            reader.evidence(node.func)
            if not isinstance(node.func, ast.Attribute) or reader.is_ctx(node.func.value)
            else None
        )
        if called:
            called.supports("callable", 6, f"{reader.where} calls it")
            called.arity = max(called.arity, len(node.args) + len(node.keywords))
        owner = reader.evidence(node.func.value) if isinstance(node.func, ast.Attribute) else None
        if owner:
            owner.methods.add(name)
        callee = reader.resolved(node.func)
        if isinstance(node.func, ast.Attribute) and reader.is_ctx(node.func.value) and not called:
            self._ctx_method(name, node)
            return
        if name == "isinstance" and len(node.args) == 2:
            self._isinstance_test(node)
            return
        if self._is_user_helper(callee):
            self._follow(callee, node)
            return
        method = isinstance(node.func, ast.Attribute) and not isinstance(reader.resolved(node.func.value), ModuleType)
        given: list[ast.expr] = [node.func.value, *node.args] if method else list(node.args)  # type: ignore[attr-defined]
        self._read_positions(name, given, node, callee)
        label = reader.evidence(given[1]) if name.startswith("binary_cross_entropy") and len(given) > 1 else None
        if label:
            label.binary = name
        self._read_keywords(node)
        read_parts(reader, name, given, node)
        self._relate_shapes(name, given, node)

    def product(self, left: ast.expr, right: ast.expr, node: ast.AST) -> None:
        """A matrix product: the last dimension of one equals the second to last of the other."""
        one, other = self._operand(left), self._operand(right)
        for each in (left, right):
            self.reader.say(each, "tensor", 2, node)
        for found, side in ((one, right), (other, left)):
            known = self.reader.notes.arguments.get(found[0]) if found else None
            if known is None:
                continue
            known.at_least(1 if self.reader.subject(side) else 2, "it is multiplied as a matrix")
            if state := [self.reader.state[name] for name in names_in(side) if name in self.reader.state]:
                known.iterated = known.iterated or state[0]
                known.at_least(2, f"{self.reader.where} goes on with `{quoted_source(node)}` in a loop")
        if one and other:
            for name, _ in (one, other):
                self.reader.notes.arguments[name].supposed += [2]
            inner = (one[0], -2 if one[1] else -1), (other[0], -1 if other[1] else -2)
            self.reader.notes.relations.tie(*inner, f"{self.reader.where} has `{quoted_source(node)}`")

    def _operand(self, node: ast.expr) -> tuple[str, bool] | None:
        """The argument that is multiplied, and whether it is transposed."""
        name = self.reader.subject(node)
        if name:
            return name, False
        turned = node.func if isinstance(node, ast.Call) else node
        if isinstance(turned, ast.Attribute) and turned.attr in ("t", "T", "mT", "transpose", "swapaxes", "permute"):
            name = self.reader.subject(turned.value)
            return (name, True) if name else None
        return None

    def _ctx_method(self, name: str, node: ast.Call) -> None:
        if name == "save_for_backward":
            for each in node.args:
                self.reader.say(each, "tensor", 3, node, "it is saved for backward")
                found = self.reader.evidence(each)
                if found:
                    found.saved = True
            saved = [] if any(isinstance(each, ast.Starred) for each in node.args) else node.args
            if saved:
                self.reader.notes.memory.saved[:] = [self.reader.subject(each) for each in saved]
        if name == "mark_dirty":
            for each in node.args:
                self.reader.say(each, "tensor", 4, node, "it is changed in place")

    def _isinstance_test(self, node: ast.Call) -> None:
        found = self.reader.evidence(node.args[0])
        if found:
            found.typed = True
        types = node.args[1].elts if isinstance(node.args[1], ast.Tuple) else [node.args[1]]
        weight = 3.0 if self.reader.required else 1.0
        for place, each in enumerate(types):
            name = each.attr if isinstance(each, ast.Attribute) else getattr(each, "id", "")
            kind = _KIND_OF_TYPE.get(name, "object")
            share = (weight if kind != "sequence" else 0.5) / (place + 1)
            self.reader.say(node.args[0], kind, share, node, f"{self.reader.where} asks whether it is a {name}")

    def _is_user_helper(self, callee: Any) -> bool:
        """Whether this is a helper in the user's own code."""
        if isinstance(getattr(callee, "__self__", None), type) and issubclass(callee.__self__, Function):
            return callee.__name__ == "apply"
        plain = getattr(callee, "__func__", callee)
        plain = getattr(plain, "__wrapped__", plain)
        module = getattr(plain, "__module__", "") or ""
        return isinstance(plain, FunctionType) and module.split(".")[0] not in ("torch", "numpy", "math", "typing")

    def _follow(self, callee: Any, node: ast.Call) -> None:
        """Read the body of a helper, in which the arguments have other names."""
        reader = self.reader
        applied = isinstance(getattr(callee, "__self__", None), type) and issubclass(callee.__self__, Function)
        context = applied and not has_setup_context(callee.__self__)
        source = read_function_source(callee.__self__.forward if applied else callee)
        if reader.depth <= 0 or source is None:
            return
        names = source.parameters[context:]
        if isinstance(callee, MethodType) and not applied and source.parameters[:1] == ["self"]:
            names = names[1:]
        of = {name: reader.subject(each) for name, each in zip(names, node.args, strict=False)}
        of |= {each.arg: reader.subject(each.value) for each in node.keywords if each.arg in names}
        found = {name: subject for name, subject in of.items() if subject}
        self._inside(source, found, getattr(callee.__self__ if applied else callee, "__name__", "a helper"))

    def _inside(self, source: FunctionTree, of: dict[str, str], where: str) -> None:
        type(self.reader)(source, self.reader.notes, of, where, depth=self.reader.depth - 1).read()

    def _read_positions(self, name: str, given: list[ast.expr], node: ast.Call, callee: Any) -> None:
        reader, places = self.reader, set()
        for place, each in enumerate(given):
            kind = kind_of_parameter(name, place)
            if kind in _WEIGHTS and (place or kind != "tensor"):
                reader.say(each, kind, _WEIGHTS[kind], node, _reason(kind, name))
                places.add(place)
        for place, rank in RANKS_BY_POSITION.get(name.removesuffix("_"), {}).items():
            found = reader.evidence(given[place]) if place < len(given) else None
            if found:
                found.has_rank(rank, f"it goes to {name}()")
        for place, rank in LEAST_RANKS.get(name, {}).items():
            if place < len(given) and (found := reader.evidence(given[place])):
                found.at_least(rank, f"it goes to {name}()")
        first = reader.evidence(given[0]) if given else None
        if first and name in COMPLEX_USES:
            first.complex = first.complex or f"it goes to {name}()"
        if first and name in TAKES_SQUARE and 0 not in places:
            first.square = True
        owner = str(getattr(callee, "__module__", "") or "")
        if first and 0 not in places and name not in _NOT_TENSORS and _of_torch(callee, owner):
            reader.say(given[0], "tensor", 2, node)
        if name in ("float", "round", "abs") and callee is None:
            reader.say(given[0] if given else None, "number", 1, node)
        if getattr(math, name, None) is callee and callee is not None:
            for each in given:
                reader.say(each, "number", 3, node)
        if name in ("int", "bool", "str"):
            reader.say(given[0] if given else None, {"int": "whole", "bool": "flag", "str": "text"}[name], 1, node)
        if name == "len":
            reader.say(given[0] if given else None, "sequence", 1, node)

    def _read_keywords(self, node: ast.Call) -> None:
        for each in node.keywords:
            kind = KINDS_BY_KEYWORD.get(each.arg or "")
            found = self.reader.evidence(each.value)
            if kind and found:
                self.reader.say(each.value, kind, 3, node, f"it is passed on as {each.arg}=")
                found.strings += [word for word in KEYWORD_CHOICES.get(each.arg or "", ()) if kind == "text"]
            if each.arg in ("dim", "axis") and isinstance(node.func, ast.Attribute):
                self._dimensional(
                    node.func.value if not self.reader.resolved(node.func.value) else node.args[0:1], each.value
                )

    def _dimensional(self, node: Any, dim: ast.expr) -> None:
        place = None
        found = self.reader.evidence(node[0] if isinstance(node, list) and node else node if node else None)
        with suppress(ValueError):
            place = ast.literal_eval(dim)
        if found and type(place) is int:
            found.at_least(place + 1 if place >= 0 else -place, f"{self.reader.where} goes along its dim={place}")

    def _relate_shapes(self, name: str, given: list[ast.expr], node: ast.Call) -> None:
        relations, arguments = self.reader.notes.relations, self.reader.notes.arguments
        if name in ("matmul", "mm", "bmm", "mv", "dot") and len(given) > 1:
            self.product(given[0], given[1], node)
        subjects = [self.reader.subject(each) for each in given[:3]] + [None] * 3
        x, weight, bias = subjects[:3]
        why = f"{name}() asks for it"
        if name == "linear" and x and weight:
            relations.tie((x, -1), (weight, -1), why)
        if name in ("linear", "conv1d", "conv2d", "conv3d") and weight and bias:
            relations.tie((bias, 0), (weight, 0), why)
        if name.startswith("conv") and name in RANKS_BY_POSITION and weight:
            turned = "transpose" in name
            relations.kernels += [(weight, -1 - place) for place in range(RANKS_BY_POSITION[name][0] - 2)]
            if x:
                relations.tie((x, 1), (weight, 0 if turned else 1), why)
        if name == "sparse_coo_tensor" and x and weight:
            relations.fixed[x, 0] = 2
            relations.tie((x, 1), (weight, 0), why)
        if name == "einsum" and given and isinstance(given[0], ast.Constant) and isinstance(given[0].value, str):
            self._read_einsum(given[0].value, [self.reader.subject(each) for each in given[1:]])
        if name in TAKES_DIM and len(given) > 1:
            self._dimensional(given[0], given[1])
        if name == "transpose" and all(isinstance(each, ast.Constant) for each in given[1:]) and len(given) == 3:
            found = self.reader.evidence(given[0])
            if found:
                found.at_least(max(each.value for each in given[1:]) + 1, f"`{name}` turns its dimensions")  # type: ignore[attr-defined]
        if name in TAKES_SQUARE and subjects[0]:
            arguments[subjects[0]].square = True

    def _read_einsum(self, equation: str, subjects: list[str | None]) -> None:
        """The letters of an einsum name the dimensions."""
        dimensions: dict[str, tuple[str, int]] = {}
        for letters, subject in zip(equation.replace(" ", "").split("->")[0].split(","), subjects, strict=False):
            if not subject or "." in letters:
                continue
            self.reader.notes.arguments[subject].has_rank(len(letters), f"einsum calls it {letters!r}")
            for place, letter in enumerate(letters):
                if letter in dimensions:
                    self.reader.notes.relations.tie(
                        dimensions[letter], (subject, place), f"einsum calls both {letter!r}"
                    )
                dimensions[letter] = (subject, place)


def _of_torch(callee: Any, owner: str) -> bool:
    if owner.split(".")[0] in ("torch", "numpy") or isinstance(callee, torch._C.ScriptFunction):
        return True
    return type(callee).__name__ in ("builtin_function_or_method", "ufunc", "method_descriptor") and not owner


def _reason(kind: str, name: str) -> str:
    words = {"dim": f"{name}() takes it for a dimension", "whole": f"{name}() takes it for a whole number"}
    words |= {"index": f"{name}() takes it for an index", "mask": f"{name}() takes it for a mask"}
    return words.get(kind, f"it goes to {name}()")
