"""What a worker can be asked about: a collection of ops, that of the gallery or the visitor's own."""

from __future__ import annotations

from typing import Any, Protocol

from ...ops import OPS, Op
from ..catalogue.op_description import catalogue
from ..user_code.codegen import pytest_of


class Collection(Protocol):
    """Ops by name. Nothing is promised of what a call of them may do.

    ``notes`` are sentences about all of them, to be read beside every answer.
    """

    notes: list[str]

    def hello(self) -> dict[str, Any]:
        """The ``catalogue``: of every op what is known without calling it; and what else the server is to know."""
        ...

    def late(self) -> list[str]:
        """The visitor's files that were read since the greeting, or since this was asked last: to call a Function."""
        ...

    def op(self, name: str, recipe: str, before: str = "") -> Op:
        """The op as it is called by ``recipe``; raises ``Unsolved`` and ``BadRecipe``.

        ``before`` is the recipe that it was called by before its file was saved, "" where nothing is known of that.
        """
        ...

    def described(self, name: str, recipe: str, before: str = "") -> dict[str, Any]:
        """The same as plain data, its outputs measured; raises ``Unsolved`` and ``BadRecipe``."""
        ...

    def test(self, name: str, recipe: str, before: str = "") -> str:
        """The op as a test file for pytest; raises ``Unsolved`` and ``BadRecipe``."""
        ...


class Gallery:
    """The ops of ``ops/``, which declare how they are called; raises ``BadDeclaration`` where one cannot be."""

    def __init__(self) -> None:
        self.notes: list[str] = []
        self._catalogue = catalogue()

    def hello(self) -> dict[str, Any]:
        """Every op, described whole."""
        return {"catalogue": self._catalogue}

    def late(self) -> list[str]:
        """None: nothing of the gallery is followed."""
        return []

    def op(self, name: str, recipe: str = "", before: str = "") -> Op:
        """The op of that name; there is no other way to call it than its own."""
        return OPS[name]

    def described(self, name: str, recipe: str = "", before: str = "") -> dict[str, Any]:
        """What the catalogue says of it."""
        return next(each for each in self._catalogue if each["name"] == name)

    def test(self, name: str, recipe: str = "", before: str = "") -> str:
        """A test of what the op declares of itself."""
        return pytest_of(OPS[name], None, f"from gradloupe.ops.{name} import op")
