"""Which file of a folder defines Functions, found out without importing any."""

from __future__ import annotations

import ast
import os
import warnings
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

MOST_FILES, MOST_BYTES = 300, 2**20
BASE = "Function"


def defining(folder: Path) -> Path | None:
    """The first file in a folder, or below, that defines a class which inherits from ``Function``; None without one."""
    return next((path for path in islice(_files(folder), MOST_FILES) if _defines_one(path)), None)


def _files(folder: Path) -> Iterator[Path]:
    """Python files, those that lie higher first."""
    for here, inner, names in os.walk(folder):
        inner[:] = sorted(each for each in inner if each.isidentifier() and not each.startswith("__"))
        yield from (Path(here, name) for name in sorted(names) if name.endswith(".py"))


def _defines_one(path: Path) -> bool:
    try:
        if path.stat().st_size > MOST_BYTES:
            return False
        data = path.read_bytes()
        with warnings.catch_warnings(action="ignore"):
            tree = ast.parse(data) if BASE.encode() in data else None
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    classes = [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)] if tree else []
    return any(_last(base) == BASE for each in classes for base in each.bases)


def _last(base: ast.expr) -> str:
    return base.attr if isinstance(base, ast.Attribute) else base.id if isinstance(base, ast.Name) else ""
