"""What a loop computes anew from itself, by which it is known for a fixed point or for a solver."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from typing import Literal

# What measures a state by its length, or makes one of it: solvers and power iterations do.
_LENGTH = re.compile(r"norm|\b(dot|inner|vdot|qr)\b")


def loop_state(loop: ast.For | ast.While) -> dict[str, Literal["spd", "stable"]]:
    """The names that a loop computes from themselves, each with the values of a matrix that it multiplies them by.

    A map that is applied again and again converges where it contracts, by ``stable`` matrices. One that scales its
    state by a length or an inner product of it is at home with ``spd`` ones.
    """
    values = defaultdict[str, list[ast.expr]](list)
    for node in ast.walk(loop):
        for name, value in _assigned(node):
            values[name].append(value)
    read = {name: {one for each in found for one in names_in(each)} for name, found in values.items()}
    state = {name for name in read if name in _reached(name, read)}
    scaled = any(_is_scaled(each, state) for name in state for each in values[name])
    return dict.fromkeys(state, "spd" if scaled else "stable")


def repetitions(loop: ast.For) -> list[ast.expr]:
    """What counts how often a loop is run: the bounds of its ``range``."""
    counted = isinstance(loop.iter, ast.Call) and ast.unparse(loop.iter.func) == "range"
    return loop.iter.args if counted else []  # type: ignore[attr-defined]


def only_repeats(loop: ast.For) -> bool:
    """Whether a loop does the same again and again, wherever it is: it never reads what it counts."""
    return not any(isinstance(loop.target, ast.Name) and loop.target.id in names_in(each) for each in loop.body)


def names_in(node: ast.AST) -> set[str]:
    """The names that an expression reads."""
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}


def _assigned(node: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    """The names that a statement binds, with what they are bound to; one that it changes is read, too."""
    if isinstance(node, ast.Assign):
        for target in node.targets:
            paired = isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple)
            both = zip(target.elts, node.value.elts, strict=False) if paired else [(target, node.value)]  # type: ignore[attr-defined]
            yield from ((name, value) for one, value in both for name in names_in(one))
    elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
        yield node.target.id, ast.BinOp(node.target, node.op, node.value)


def _reached(name: str, read: dict[str, set[str]]) -> set[str]:
    """The names that a name is computed from, in a turn of the loop or in earlier ones."""
    found, left = set[str](), [name]
    while left:
        new = read.get(left.pop(), set()) - found
        found |= new
        left += new
    return found


def _is_scaled(value: ast.expr, state: set[str]) -> bool:
    """Whether a value is divided by a length or an inner product of the state, or made one of length 1."""
    for node in ast.walk(value):
        if isinstance(node, ast.Call) and _LENGTH.search(ast.unparse(node.func)) and names_in(node) & state:
            return True
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div) and _is_inner(node.right, state):
            return True
    return False


def _is_inner(node: ast.expr, state: set[str]) -> bool:
    products = (each for each in ast.walk(node) if isinstance(each, ast.BinOp) and isinstance(each.op, ast.MatMult))
    return any(names_in(each.left) & state and names_in(each.right) & state for each in products)
