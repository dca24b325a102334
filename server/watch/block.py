"""The body of the ``with`` block in which something was watched, as a function that runs it again."""

import ast
import linecache
from collections.abc import Callable
from types import FrameType
from typing import Any


def block_of(frame: FrameType) -> tuple[Callable[[], None], dict[str, Any]] | None:
    """The body of the block that this frame enters, and the names that it sees; None where its code is not to be had.

    That is so at a prompt that keeps no lines, and where the body returns, yields or awaits.
    """
    code = frame.f_code
    try:
        tree = ast.parse("".join(linecache.getlines(code.co_filename, frame.f_globals)))
        node = _entered(tree, frame.f_lineno)
        if node is None:
            return None
        body = compile(ast.Module(node.body, []), code.co_filename, "exec")
    except (SyntaxError, ValueError):
        return None
    # One space for both, as functions inside of the body look names up there.
    names = {**frame.f_globals, **frame.f_locals}
    return (lambda: exec(body, dict(names))), names  # noqa: S102 - the user's own code, once more


def _entered(tree: ast.AST, line: int) -> ast.With | None:
    """The innermost ``with`` whose items stand at this line."""
    withs = [node for node in ast.walk(tree) if isinstance(node, ast.With)]
    found = [node for node in withs if node.lineno <= line <= (node.items[-1].context_expr.end_lineno or 0)]
    return max(found, key=lambda node: node.lineno, default=None)
