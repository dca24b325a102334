"""Names of the inputs, parameters and outputs of an op, none of them reserved or used twice."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable, Iterable
from typing import Any

from ....ops.op import RESERVED


def free_names(names: Iterable[str]) -> dict[str, str]:
    """The name in the op for each argument name, with underscores appended where it is reserved or taken."""
    found: dict[str, str] = {}
    for name in names:
        own = name
        while own in RESERVED or own in found.values():
            own += "_"
        found[name] = own
    return found


def names_of_outputs(function: Callable[..., Any], count: int, taken: Iterable[str]) -> tuple[str, ...]:
    """Names of the outputs: the local names in the return statement of forward, or ``y0``, ``y1``."""
    if count == 1:
        return ("y",)
    names = _returned(function)
    if len(names) == count == len(set(names)) and not set(names) & {*taken, *RESERVED}:
        return names
    return tuple(f"y{place}" for place in range(count))


def _returned(function: Callable[..., Any]) -> tuple[str, ...]:
    """The names in the last return statement of forward; none if it returns anything else."""
    written = function.forward if isinstance(function, type) else function  # type: ignore[attr-defined]
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(written)))
    except (OSError, TypeError, SyntaxError, ValueError):
        return ()
    returns = [node.value for node in ast.walk(tree) if isinstance(node, ast.Return)]
    last = returns[-1] if returns else None
    if not isinstance(last, ast.Tuple | ast.List):
        return ()
    names = tuple(each.id for each in last.elts if isinstance(each, ast.Name))
    return names if len(names) == len(last.elts) else ()
