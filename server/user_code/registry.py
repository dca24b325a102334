"""Registry of the user's Functions: each is turned into an ``Op`` when it is first asked for, and kept per recipe."""

from __future__ import annotations

import logging
import os
import sys
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from ...ops import BadDeclaration, Op
from ..catalogue.op_description import described
from ..catalogue.output_shapes import shapes
from ..inference.construction.op import op_of
from ..inference.infer import infer
from ..inference.recipe.grammar import parse
from ..inference.recipe.recipe import BadRecipe, NotInferred, Recipe
from ..inference.source.signature import Unfit, signature_of
from ..protocol.errors import Unsolved
from .codegen import block, pytest_of
from .example_inputs import Override, override
from .import_errors import plain_text, said_of, trouble
from .load import Entry, files_read, load
from .previous_recipe import as_before, since
from .scalar_inputs import with_numbers
from .source_loader import Reading

_REMEMBERED = 128  # ops in the LRU cache, by name and recipe
MOST_TRIED = 5
_T = TypeVar("_T")
OF_THE_STUB = ("doc", "digest", "line", "file", "own", "declared")


@dataclass(frozen=True)
class Usual:
    """The default recipe of a Function, and the reason for each argument."""

    recipe: Recipe
    assumed: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Solved:
    """An op, and the recipe it is called by; None for a declared op."""

    op: Op
    recipe: Recipe | None


class Own:
    """The Functions of the targets, which it imports into this process, for good; raises ``LoadFailed``."""

    def __init__(self, targets: Sequence[str], again: int = 0) -> None:
        self._load = load(targets, again)
        self.notes: list[str] = self._load.notes
        self._told = set(self._load.files)
        self._usual: dict[str, Usual] = {}
        self._solved: OrderedDict[tuple[str, str], Solved | Unsolved] = OrderedDict()

    def hello(self) -> dict[str, Any]:
        """The handshake, known without a call: ``catalogue`` in source order, ``files`` that were read, ``notes``."""
        catalogue = [each.stub for each in self._load.entries.values()]
        return {"catalogue": catalogue, "files": self._load.files, "notes": self.notes}

    def late(self) -> list[str]:
        """The user's files that were read since the handshake, or since the last call of this."""
        late = [each for each in files_read(self._load.reading) if each not in self._told]
        self._told.update(late)
        return late

    def op(self, name: str, recipe: str, before: str = "") -> Op:
        """The op of a Function called by ``recipe``, or by its default one; raises ``Unsolved`` and ``BadRecipe``.

        ``before`` is the recipe it was called by before its file was saved.
        """
        return self._solution(name, recipe, before).op

    def described(self, name: str, recipe: str, before: str = "") -> dict[str, Any]:
        """The description of that op as plain data, output shapes included; raises ``Unsolved`` and ``BadRecipe``."""
        entry, solved = self._entry(name), self._solution(name, recipe, before)
        return self._guarded(entry, recipe, lambda: self._described(entry, solved))

    def test(self, name: str, recipe: str, before: str = "") -> str:
        """The source of a pytest file for that op; raises ``Unsolved`` and ``BadRecipe``."""
        entry, solved = self._entry(name), self._solution(name, recipe, before)
        return self._guarded(entry, recipe, lambda: pytest_of(solved.op, solved.recipe, entry.import_line))

    def _described(self, entry: Entry, solved: Solved) -> dict[str, Any]:
        usual, used = self._usual.get(entry.name), solved.recipe.text() if solved.recipe else ""
        text = usual.recipe.text() if usual else ""
        asked = {
            "recipe": used,
            "usual_recipe": text,
            "assumed": [list(each) for each in usual.assumed] if usual and used == text else [],
            "block": block(solved.op, solved.recipe) if solved.recipe else "",
        }
        told = described(solved.op, shapes(solved.op), entry.stub["file"])
        return told | {key: entry.stub[key] for key in OF_THE_STUB} | asked

    def _entry(self, name: str) -> Entry:
        if name not in self._load.entries:  # the file was changed, and this worker has reloaded it
            said = f"There is no {name} any more in {', '.join(self._load.targets)}; reload the page."
            nothing: dict[str, Any] = {"argument": "", "recipe": "", "tried": [], "parameters": [], "trouble": None}
            raise Unsolved({"name": name, "title": name, "sentence": said, **nothing})
        return self._load.entries[name]

    def _solution(self, name: str, recipe: str, before: str) -> Solved:
        key, entry = (name, recipe), self._entry(name)
        if key not in self._solved:
            try:
                self._solved[key] = self._guarded(entry, recipe, lambda: self._solve(entry, recipe, before))
            except Unsolved as unsolved:
                self._solved[key] = unsolved
            while len(self._solved) > _REMEMBERED:
                self._solved.popitem(last=False)
        self._solved.move_to_end(key)
        found = self._solved[key]
        if isinstance(found, Unsolved):
            raise found
        return found

    def _solve(self, entry: Entry, text: str, before: str) -> Solved:
        held = entry.held
        if held.op and not text:
            return Solved(with_numbers(replace(held.op, name=entry.name, group=entry.group)), None)
        said = self._said(entry, forgiving=bool(text))
        if text:  # the user's recipe has to work even where inference fails
            recipe = parse(text, signature_of(held.function).names, said.objects if said else None)
        else:
            recipe = self._usually(entry, said, before).recipe
        given = said.given if said else None
        try:
            op = op_of(held.function, recipe, entry.name, entry.stub["title"], entry.group, given)
        except NotInferred as problem:
            if problem.error is None or recipe.text() != before:
                raise
            raise since(problem.error, before) from None
        return Solved(op, recipe)

    def _said(self, entry: Entry, forgiving: bool) -> Override | None:
        """The override in the user's file; raises ``NotInferred`` if it cannot be used, unless ``forgiving``."""
        function = entry.held.function
        names, namespace = signature_of(function).names, vars(sys.modules.get(function.__module__, entry.module))
        alone = sum(each.held.file == entry.held.file for each in self._load.entries.values()) == 1
        try:
            return override(function, names, namespace, alone)
        except BadRecipe as problem:
            if forgiving:
                return None
            raise NotInferred(str(problem)) from None

    def _usually(self, entry: Entry, said: Override | None, before: str) -> Usual:
        if entry.name not in self._usual:
            function = entry.held.function
            usual = _guessed(function, before) if said is None else _because(said.recipe, said.where)
            self._usual[entry.name] = usual
        return self._usual[entry.name]

    def _guarded(self, entry: Entry, recipe: str, find: Callable[[], _T]) -> _T:
        """The result of ``find``; raises ``Unsolved`` for whatever the user's code raises."""
        try:
            return find()
        except NotInferred as problem:
            raise _unsolved(entry, problem, self._load.reading) from None
        except BadDeclaration as problem:
            raise _unsolved(entry, NotInferred(str(problem), recipe=recipe), self._load.reading) from None
        except (Unsolved, BadRecipe):
            raise
        except (Exception, SystemExit, KeyboardInterrupt) as problem:
            logging.getLogger(__name__).info("%s could not be described", entry.name, exc_info=True)
            raised = f"{type(problem).__name__}: {said_of(problem)}".rstrip(": .")
            said = f"{entry.stub['title']} raised {raised} when it was called; mend it, or call it in another way."
            raise _unsolved(entry, NotInferred(said, recipe=recipe, error=problem), self._load.reading) from None


def _guessed(function: Any, before: str) -> Usual:
    try:
        guess = infer(function)
    except NotInferred as problem:
        return _because(as_before(function, before, problem), "it was called so before the save")
    return Usual(guess.recipe, guess.because)


def _because(recipe: Recipe, reason: str) -> Usual:
    return Usual(recipe, tuple((each.name, reason) for each in recipe.arguments))


def _unsolved(entry: Entry, problem: NotInferred, reading: Reading) -> Unsolved:
    told: dict[str, Any] = {
        "sentence": plain_text(problem.sentence),
        "argument": problem.argument,
        "recipe": plain_text(problem.recipe),
        "tried": [[plain_text(each) for each in tried] for tried in problem.tried[:MOST_TRIED]],
        "parameters": [[plain_text(each) for each in found] for found in problem.parameters],
        "sayable": problem.sayable,
        "unfit": isinstance(problem, Unfit),
    }
    error = problem.error
    told["trouble"] = error and trouble(error, reading, os.getcwd()) | {"sentence": told["sentence"]}
    return Unsolved(entry.stub | told)
