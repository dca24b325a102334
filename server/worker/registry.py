"""The collection of ops that a worker serves: the interface, and the gallery's; the user's own is in ``user_code``."""

from __future__ import annotations

from typing import Any, Protocol

from ...ops import OPS, Op
from ..catalogue.op_description import op_descriptions
from ..user_code.codegen import pytest_source


class OpCollection(Protocol):
    """Ops by name. A call of one may do anything.

    ``notes`` are sentences on all of them, added to every answer.
    """

    notes: list[str]

    def hello(self) -> dict[str, Any]:
        """The ``catalogue``, what is known of every op without calling it; and further members of the greeting."""
        ...

    def late(self) -> list[str]:
        """The user's files read since the greeting or the last call of this: imported when a Function was called."""
        ...

    def op(self, name: str, recipe: str, before: str = "") -> Op:
        """The op as it is called by ``recipe``; raises ``Unsolved`` and ``BadRecipe``.

        ``before`` is the recipe that it was called by before its file was saved, "" where that is not known.
        """
        ...

    def described(self, name: str, recipe: str, before: str = "") -> dict[str, Any]:
        """The description of that op, its outputs measured; raises ``Unsolved`` and ``BadRecipe``."""
        ...

    def test(self, name: str, recipe: str, before: str = "") -> str:
        """The op as a test file for pytest; raises ``Unsolved`` and ``BadRecipe``."""
        ...


class Gallery:
    """The ops of ``ops/``, which declare how they are called; raises ``BadDeclaration`` for an invalid one."""

    def __init__(self) -> None:
        self.notes: list[str] = []
        self._catalogue = op_descriptions()

    def hello(self) -> dict[str, Any]:
        """The descriptions of all ops."""
        return {"catalogue": self._catalogue}

    def late(self) -> list[str]:
        """Empty: files of the gallery are not watched."""
        return []

    def op(self, name: str, recipe: str = "", before: str = "") -> Op:
        """The op of that name; it has no other recipe than its own."""
        return OPS[name]

    def described(self, name: str, recipe: str = "", before: str = "") -> dict[str, Any]:
        """Its entry in the catalogue."""
        return next(each for each in self._catalogue if each["name"] == name)

    def test(self, name: str, recipe: str = "", before: str = "") -> str:
        """A test of what the op declares."""
        return pytest_source(OPS[name], None, f"from gradloupe.ops.{name} import op")
