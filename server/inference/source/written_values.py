"""What an expression in a file stands for, as far as it is written: the shape and kind of a tensor, or a constant.

Nothing is executed. A size that is not written is None.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from .torch_signatures import SHAPE_PRESERVING

# What nothing is known of.
UNKNOWN = ...
_DEEPEST = 24
_FILLED = {"randn", "rand", "zeros", "ones", "empty"}
_COUNTED = {"arange": "index", "randperm": "index", "linspace": "tensor", "logspace": "tensor"}
_ALIKE = {f"{name}_like" for name in ("randn", "rand", "zeros", "ones", "empty", "full")}
_SAME_SHAPE = {
    "abs",
    "exp",
    "sigmoid",
    "tanh",
    "relu",
    "softmax",
    "log_softmax",
    "clamp",
    "sort",
    "normal_",
    "uniform_",
}
_KIND_OF_DTYPE = {"bool": "mask", **dict.fromkeys(("int", "long", "int64", "int32", "int16", "int8", "uint8"), "index")}
Shape = tuple[int | None, ...]


@dataclass(frozen=True)
class WrittenTensor:
    """A tensor of this ``kind`` (tensor, index, mask), with indices ``below`` a bound; a ``shape`` of None is any.

    ``frozen`` says what holds it back from getting a gradient, ``learned`` that it is written to get one.
    """

    shape: Shape | None
    kind: str = "tensor"
    below: int = 0
    frozen: str = ""
    learned: bool = False


@dataclass(frozen=True)
class Parameter:
    """The parameter of an enclosing function, whose value its callers know."""

    name: str


@dataclass
class Scope:
    """The names that are bound in a module or function, each with the line; ``members`` are those of ``self``."""

    node: ast.AST
    outer: Scope | None = None
    names: dict[str, list[tuple[int, ast.expr]]] = field(default_factory=dict)
    members: dict[str, tuple[ast.expr, str]] = field(default_factory=dict)
    given: dict[str, Any] = field(default_factory=dict)

    def bind(self, target: ast.expr, value: ast.expr) -> None:
        """Note an assignment."""
        if isinstance(target, ast.Name):
            self.names.setdefault(target.id, []).append((target.lineno, value))
        elif isinstance(target, ast.Attribute) and ast.unparse(target.value) == "self":
            self.members.setdefault(target.attr, (value, ""))
        elif isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
            for one, other in zip(target.elts, value.elts, strict=True):
                self.bind(one, other)

    @property
    def is_plain_function(self) -> bool:
        """Whether it is that of a function, and of no method."""
        method = self.outer is not None and isinstance(self.outer.node, ast.ClassDef)
        return isinstance(self.node, ast.FunctionDef) and not method

    @property
    def parameters(self) -> list[str]:
        """The names of the parameters, of a function."""
        taken = self.node.args if isinstance(self.node, ast.FunctionDef) else None
        return [each.arg for each in (*taken.posonlyargs, *taken.args)] if taken else []

    @property
    def defaults(self) -> dict[str, ast.expr]:
        """The defaults of its last parameters."""
        taken = self.node.args.defaults if isinstance(self.node, ast.FunctionDef) else []
        return dict(zip(self.parameters[::-1], taken[::-1], strict=False))


def scoped_calls(tree: ast.AST) -> list[tuple[ast.Call, Scope]]:
    """All calls in a tree, each with the scope that it stands in; none in one that is too deep to be walked through."""
    try:
        return list(_calls(tree, Scope(tree)))
    except RecursionError:
        return []


def _calls(node: ast.AST, scope: Scope) -> Iterator[tuple[ast.Call, Scope]]:
    for each in ast.iter_child_nodes(node):
        inner = scope
        if isinstance(each, ast.FunctionDef):
            inner = Scope(each, scope, members=scope.members)
            _bind_parametrized(each, inner)
        elif isinstance(each, ast.ClassDef):
            inner = Scope(each, scope)
        elif isinstance(each, ast.Assign):
            for target in each.targets:
                scope.bind(target, each.value)
        elif isinstance(each, ast.For) and isinstance(each.iter, ast.List | ast.Tuple) and each.iter.elts:
            scope.bind(each.target, each.iter.elts[0])
        elif isinstance(each, ast.AnnAssign) and each.value is not None:
            scope.bind(each.target, each.value)
        elif isinstance(each, ast.Call):
            if ast.unparse(each.func) == "self.register_buffer" and len(each.args) > 1:
                name = each.args[0].value if isinstance(each.args[0], ast.Constant) else ""
                scope.members[str(name)] = (each.args[1], "is a buffer")
            yield each, scope
        yield from _calls(each, inner)


def _bind_parametrized(function: ast.FunctionDef, scope: Scope) -> None:
    """The first values with which pytest calls a test."""
    for each in function.decorator_list:
        if isinstance(each, ast.Call) and ast.unparse(each.func).endswith("parametrize") and len(each.args) > 1:
            names, rows = each.args[:2]
            if isinstance(names, ast.Constant) and isinstance(rows, ast.List | ast.Tuple) and rows.elts:
                target = ast.parse(str(names.value)).body[0]
                scope.bind(ast.copy_location(target.value, function), rows.elts[0])  # type: ignore[attr-defined]


def written_value(node: ast.expr, scope: Scope, deep: int = 0) -> Any:
    """A ``WrittenTensor``, a constant, a tuple or list of both, or ``UNKNOWN``."""
    if deep > _DEEPEST:
        return UNKNOWN
    if isinstance(node, ast.Name):
        return _named(node, scope, deep + 1)
    if isinstance(node, ast.Attribute):
        return _attribute(node, scope, deep + 1)
    if isinstance(node, ast.Call):
        return _called(node, scope, deep + 1)
    if isinstance(node, ast.Tuple | ast.List):
        items = [written_value(each, scope, deep + 1) for each in node.elts]
        return items if isinstance(node, ast.List) else tuple(items)
    if isinstance(node, ast.BinOp):
        return _combined(node, *(written_value(each, scope, deep + 1) for each in (node.left, node.right)))
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        value = written_value(node.operand, scope, deep + 1)
        return -value if isinstance(value, int | float) else value
    return node.value if isinstance(node, ast.Constant) else UNKNOWN


def _named(node: ast.Name, scope: Scope | None, deep: int) -> Any:
    inside = True
    while scope is not None:
        if node.id in scope.given:
            return scope.given[node.id]
        found = [value for line, value in scope.names.get(node.id, ()) if not inside or line < node.lineno]
        if found:
            return written_value(found[-1], scope, deep)
        if node.id in scope.parameters:
            return Parameter(node.id)
        scope, inside = scope.outer, False
    return UNKNOWN


def _attribute(node: ast.Attribute, scope: Scope, deep: int) -> Any:
    if isinstance(node.value, ast.Name) and node.value.id == "self" and node.attr in scope.members:
        written, frozen = scope.members[node.attr]
        value = written_value(written, scope, deep)
        value = WrittenTensor(None) if frozen and not isinstance(value, WrittenTensor) else value
        return replace(value, frozen=frozen) if frozen else value
    return _method(written_value(node.value, scope, deep), node.attr, [], {})


def _called(node: ast.Call, scope: Scope, deep: int) -> Any:
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    given = [written_value(each, scope, deep) for each in node.args]
    keywords = {each.arg: written_value(each.value, scope, deep) for each in node.keywords if each.arg}
    dtype = next((ast.unparse(each.value).rpartition(".")[2] for each in node.keywords if each.arg == "dtype"), "")
    made = _made(name, given, keywords)
    if made is None and name.endswith("Parameter") and given:
        value = given[0] if isinstance(given[0], WrittenTensor) else WrittenTensor(None)
        made = replace(value, learned=keywords.get("requires_grad") is not False)
    if made is not None:
        return _marked(replace(made, kind=_KIND_OF_DTYPE.get(dtype, made.kind)), keywords)
    if isinstance(node.func, ast.Attribute):
        value = written_value(node.func.value, scope, deep)
        if isinstance(value, WrittenTensor):
            return _marked(_method(value, name, given, keywords), keywords)
    first = next(iter(given), UNKNOWN)
    return first if name in _SAME_SHAPE and isinstance(first, WrittenTensor) else UNKNOWN


def _marked(value: Any, keywords: dict[str, Any]) -> Any:
    """The tensor, with what ``requires_grad=`` says."""
    if not isinstance(value, WrittenTensor) or not isinstance(asked := keywords.get("requires_grad"), bool):
        return value
    return replace(value, learned=asked, frozen="" if asked else "does not require grad")


def _made(name: str, given: Sequence[Any], keywords: dict[str, Any]) -> WrittenTensor | None:
    """The tensor that a call of torch makes; None if it makes none that is known."""
    if name in _FILLED:
        return WrittenTensor(_sizes(given or [keywords.get("size", UNKNOWN)]))
    if name in _ALIKE and given and isinstance(given[0], WrittenTensor):
        return WrittenTensor(given[0].shape)
    if name in ("full", "normal"):
        size = keywords.get("size") or next((each for each in given if isinstance(each, tuple | list)), UNKNOWN)
        return WrittenTensor(_sizes([size]))
    if name == "randint":
        bounds = [each for each in (*given, keywords.get("high")) if isinstance(each, int)]
        size = keywords.get("size") or next((each for each in given if isinstance(each, tuple | list)), UNKNOWN)
        return WrittenTensor(_sizes([size]), "index", max(bounds, default=0))
    if name in _COUNTED:
        return WrittenTensor((given[-1] if given and isinstance(given[-1], int) else None,), _COUNTED[name])
    if name == "eye":
        return WrittenTensor(_sizes(given if len(given) > 1 else [*given, *given]))
    return _literal(given[0]) if name in ("tensor", "as_tensor", "Tensor") and given else None


def _literal(value: Any) -> WrittenTensor | None:
    """The tensor of numbers that are written out."""
    shape = list[int | None]()
    while isinstance(value, list | tuple) and value:
        shape.append(len(value))
        value = value[0]
    kinds = {bool: "mask", int: "index", float: "tensor", complex: "tensor"}
    return WrittenTensor(tuple(shape), kinds[type(value)]) if type(value) in kinds else None


def _sizes(given: Sequence[Any]) -> Shape | None:
    """The shape that is written as sizes, or as one tuple of them; None where it is not known."""
    sizes = given[0] if len(given) == 1 and isinstance(given[0], tuple | list) else given
    if len(given) == 1 and given[0] is UNKNOWN:
        return None
    return tuple(each if type(each) is int else None for each in sizes)


def _method(value: Any, name: str, given: Sequence[Any], keywords: dict[str, Any]) -> Any:
    """What a method or attribute of a tensor is."""
    if not isinstance(value, WrittenTensor):
        return UNKNOWN
    if name in ("detach", "detach_", "data"):
        return replace(value, frozen="is detached", learned=False)
    if name == "requires_grad_":
        asked = given[0] if given else keywords.get("requires_grad", True)
        return replace(value, learned=asked is True, frozen="does not require grad" if asked is False else "")
    if name in _KIND_OF_DTYPE:
        return replace(value, kind=_KIND_OF_DTYPE[name])
    if name in SHAPE_PRESERVING or name in _SAME_SHAPE:
        return value
    if value.shape is None:
        return value
    if name in ("t", "T", "mT"):
        return replace(value, shape=(*value.shape[:-2], *value.shape[-2:][::-1]))
    if name in ("view", "reshape", "expand", "repeat") and given:
        return replace(value, shape=tuple(None if each == -1 else each for each in _sizes(given) or ()) or None)
    return replace(value, shape=None)


def _combined(node: ast.BinOp, left: Any, right: Any) -> Any:
    """The result of an operator on sizes, or on a tensor and a number."""
    numbers = type(left) in (int, float) and type(right) in (int, float)
    if numbers and isinstance(node.op, ast.Add | ast.Sub | ast.Mult):
        return {ast.Add: left + right, ast.Sub: left - right, ast.Mult: left * right}[type(node.op)]
    if numbers and isinstance(node.op, ast.FloorDiv | ast.Div) and right:
        return left // right if isinstance(node.op, ast.FloorDiv) else left / right
    tensors = [each for each in (left, right) if isinstance(each, WrittenTensor)]
    return tensors[0] if len(tensors) == 1 and UNKNOWN not in (left, right) else UNKNOWN
