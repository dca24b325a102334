"""Into how many equal parts a dimension is taken: by ``chunk``, ``split``, ``view``, ``unflatten``, steps, halves."""

from __future__ import annotations

import ast
import math

from .expressions import ExpressionReader
from .name_binding import integer_literal

_LAST = -1


def read_parts(reader: ExpressionReader, name: str, given: list[ast.expr], node: ast.Call) -> None:
    """Note what a call of ``name`` with the tensor and the arguments ``given`` says of a size that is divisible."""
    if not given:
        return
    keywords = {each.arg: each.value for each in node.keywords}
    if name in ("chunk", "split", "tensor_split", "hsplit", "vsplit"):
        size = given[1] if len(given) > 1 else keywords.get("chunks", keywords.get("split_size_or_sections"))
        along = given[2] if len(given) > 2 else keywords.get("dim", keywords.get("axis", ast.Constant(0)))
        _divided(reader, given[0], along, integer_literal(size))
    elif name == "unflatten" and len(given) > 2:
        _divided(reader, given[0], given[1], _product(getattr(given[2], "elts", [])))
    elif name in ("view", "reshape"):
        sizes = given[1].elts if len(given) == 2 and isinstance(given[1], ast.Tuple | ast.List) else given[1:]
        if any(integer_literal(each) == -1 for each in sizes):
            _divided(reader, given[0], ast.Constant(_LAST), _product(sizes))


def read_quotient(reader: ExpressionReader, node: ast.BinOp) -> None:
    """Note what a quotient or remainder says: ``x.shape[-1] // 2``, ``len(x) % 4``."""
    where, left = reader.dimension(node.left), node.left
    if where is None and isinstance(left, ast.Subscript) and getattr(left.value, "attr", "") == "shape":
        place = integer_literal(left.slice)
        where = None if place is None else ("", place)
    if where:
        reader.notes.relations.divide(where, integer_literal(node.right) or 2)


def read_stride(reader: ExpressionReader, node: ast.Subscript) -> None:
    """Note what a step says: ``x[..., ::2]`` takes each second of an even number."""
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    dots = next((place for place, each in enumerate(parts) if _is_dots(each)), len(parts))
    for place, each in enumerate(parts):
        if isinstance(each, ast.Slice) and each.step:
            along = place - len(parts) if place > dots else place
            _divided(reader, node.value, ast.Constant(along), integer_literal(each.step))


def _divided(reader: ExpressionReader, what: ast.expr, along: ast.expr, count: int | None) -> None:
    """A dimension of an argument; of whatever it was made of where it is none."""
    place = integer_literal(along)
    if count is not None and place is not None:
        reader.notes.relations.divide((reader.subject(what) or "", place), count)


def _product(sizes: list[ast.expr]) -> int:
    """The product of the sizes that are written out."""
    return math.prod(each for each in map(integer_literal, sizes) if each and each > 0)


def _is_dots(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is ...
