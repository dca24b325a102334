"""What the text of an edit says by itself, read from its syntax tree: lines to point at, and tensors saved in vain."""

import ast
from collections.abc import Callable, Iterator

_BACKWARD = ("backward", "vjp")


def line_to_mend(text: str, note: str) -> int | None:
    """The line, from 1, that a mistake of this note comes from: the last return of backward where none is nearer."""
    methods = list(_methods(text))
    nearer = _NEARER.get(note)
    for method in methods:
        if nearer and (line := nearer(method)):
            return line
    nodes = (node for method in methods if method.name in _BACKWARD for node in ast.walk(method))
    return max((node.lineno for node in nodes if isinstance(node, ast.Return)), default=None)


def unused_saved_line(text: str) -> int | None:
    """The line of ``save_for_backward`` if backward never uses one of the tensors saved there; None where it uses all.

    Or where that cannot be read: where ``saved_tensors`` goes elsewhere than into names.
    """
    nodes = (node for method in _methods(text) for node in ast.walk(method) if isinstance(node, ast.Call))
    saves = [node for node in nodes if _called(node) == "save_for_backward"]
    backward = next((method for method in _methods(text) if method.name in _BACKWARD), None)
    if backward is None or len(saves) != 1:
        return None
    unpacked = [node for node in ast.walk(backward) if isinstance(node, ast.Assign) and _is_saved(node.value)]
    reads = sum(_is_saved(node) for node in ast.walk(backward))
    if reads != len(unpacked) or len(unpacked) > 1:
        return None
    names = [node.id for each in unpacked for node in ast.walk(each.targets[0]) if isinstance(node, ast.Name)]
    used = {node.id for node in ast.walk(backward) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
    return None if names and used.issuperset(names) else saves[0].lineno


# By the id of the check of the contract that asks the same of code that may be called in the process of the judge.
READINGS: dict[str, Callable[[str], int | None]] = {"SAVED-UNUSED": unused_saved_line}


def _methods(text: str) -> Iterator[ast.FunctionDef]:
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    yield from (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))


def _called(node: ast.AST) -> str:
    """The name of the method that is called; empty for anything else."""
    return node.func.attr if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else ""


def _is_saved(node: ast.AST) -> bool:
    return isinstance(node, ast.Attribute) and node.attr == "saved_tensors"


def _written(method: ast.FunctionDef) -> int | None:
    """Where a tensor is written to: a method whose name ends in _, an augmented assignment, or one to elements."""
    for node in ast.walk(method):
        name = _called(node)
        stored = isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store)
        if isinstance(node, ast.AugAssign) or stored or (name.endswith("_") and not name.startswith("_")):
            return int(getattr(node, "lineno", 0))
    return None


def _kept(method: ast.FunctionDef) -> int | None:
    """Where something is kept on ctx, other than by ``save_for_backward``."""
    kept = (
        node.lineno
        for node in ast.walk(method)
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and isinstance(node.value, ast.Name)
    )
    return next(kept, None)


_NEARER: dict[str, Callable[[ast.FunctionDef], int | None]] = {"in-place": _written, "no-history": _kept}
