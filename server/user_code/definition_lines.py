"""Line numbers of the classes and functions of a source file, from one parse of its syntax tree."""

import ast
import inspect
import linecache
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from types import CodeType
from typing import Any


@dataclass(frozen=True)
class DefinitionLines:
    """Line numbers of a definition, from 1: its ``class`` or ``def``, its first decorator, and its end."""

    line: int
    first: int
    last: int


NO_LINES = DefinitionLines(0, 0, 0)


class SourceFile:
    """A source file as ``linecache`` has it, which is as it was loaded."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.lines = linecache.getlines(path)

    @cached_property
    def definitions(self) -> dict[str, list[DefinitionLines]]:
        """The lines of every class and function by qualified name; several where a name is defined again."""
        by_name: dict[str, list[DefinitionLines]] = {}
        for name, lines in _definitions(ast.parse("".join(self.lines)), ""):
            by_name.setdefault(name, []).append(lines)
        return by_name

    def place(self, thing: Any) -> DefinitionLines:
        """The lines of a class or function; ``NO_LINES`` if it was created at run time."""
        places = self.definitions.get(getattr(thing, "__qualname__", ""), [])
        code = code_of(thing)
        line = code.co_firstlineno if code else 0
        return next((each for each in places if each.first <= line <= each.last), places[-1] if places else NO_LINES)

    def text(self, lines: DefinitionLines) -> str:
        """The source text of these lines."""
        return "".join(self.lines[lines.first - 1 : lines.last]) if lines.first else ""


def _definitions(node: ast.AST, within: str) -> Iterator[tuple[str, DefinitionLines]]:
    """The qualified names and lines of all definitions inside a node, nested ones included."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            first = min([child.lineno, *(each.lineno for each in child.decorator_list)])
            yield within + child.name, DefinitionLines(child.lineno, first, child.end_lineno or child.lineno)
            local = "." if isinstance(child, ast.ClassDef) else ".<locals>."
            yield from _definitions(child, within + child.name + local)
        elif not isinstance(child, ast.expr):
            yield from _definitions(child, within)


def code_of(thing: Any) -> CodeType | None:
    """The first code object of a class or function; None without one."""
    methods = vars(thing).values() if isinstance(thing, type) else [thing]
    codes = (getattr(inspect.unwrap(getattr(each, "__func__", each)), "__code__", None) for each in methods)
    return next((code for code in codes if code is not None), None)
