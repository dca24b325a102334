"""The user's Functions: each is turned into an ``Op`` when it is first asked for, and kept per recipe."""

import logging
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final, TypeVar

from cachetools import LRUCache

from ...ops import BadDeclaration, Op
from ..catalogue.op_description import describe_op, measured_shapes
from ..inference.construction.op import op_of
from ..inference.infer import settled_example
from ..inference.recipe.grammar import parse_recipe
from ..inference.recipe.recipe import BadRecipe, NotInferred, Recipe
from ..inference.search.failure import describe_error
from ..inference.search.trial import state_restored, try_recipe
from ..inference.source.signature import Unfit, signature_of
from ..protocol.errors import BadQuestion, Unsolved
from ..runtime.captured import captured_names
from ..sandbox.guest_process import GuestProcess
from ..schema.op import OpDescription, UnsolvedOp
from .captured_calls import captured_override, data_of_function, with_data
from .codegen import declaration_source
from .example_inputs import Override, has_example, override_for, reasons
from .import_errors import encodable, exception_message, import_error_report
from .importer import UserFileFinder
from .load import CatalogueEntry, Load, files_to_watch, load_text
from .surrogates import claimed_in_docstring, with_declared
from .usual_call import UsualCall, found_call, with_scalar_inputs, written_call

_CACHE_SIZE = 128  # ops in the LRU cache, by name and recipe
_MAX_TRIED = 5
_T = TypeVar("_T")
# What an op does not say of itself, or otherwise than its file.
_STUB_KEYS: Final = ("doc", "digest", "line", "file", "own", "declared", "bound", "import_line")


@dataclass(frozen=True)
class _SolvedOp:
    """An op, and the recipe it is called by; None for a declared op."""

    op: Op
    recipe: Recipe | None


class UserFunctions:
    """The Functions of one load: of the user's files, which are imported into this process for good."""

    def __init__(self, load: Load) -> None:
        self._load = load
        self.catalogue = [each.stub for each in self._load.entries.values()]  # in source order
        self.files, self.notes = self._load.files, self._load.notes
        self._reported_files = set(self._load.files)
        self._defaults: dict[str, UsualCall] = {}
        self._solved: LRUCache[tuple[str, str], _SolvedOp | Unsolved] = LRUCache(_CACHE_SIZE)

    def late(self) -> list[str]:
        """The user's files that were read since the handshake, or since the last call of this."""
        late = [each for each in files_to_watch(self._load.reading) if each not in self._reported_files]
        self._reported_files.update(late)
        return late

    def rest(self) -> None:
        """Nothing: its code may go on between two questions, as it may anywhere in this process."""

    def op(self, name: str, recipe: str, before: str = "") -> Op:
        """The op of a Function called by ``recipe``, or by its default one; raises ``Unsolved`` and ``BadRecipe``.

        ``before`` is the recipe it was called by before its file was saved.
        """
        return self._solution(name, recipe, before).op

    def described(self, name: str, recipe: str, before: str = "") -> OpDescription:
        """The description of that op as plain data, output shapes included; raises ``Unsolved`` and ``BadRecipe``."""
        entry, solved = self._entry(name), self._solution(name, recipe, before)
        return self._guarded(entry, recipe, lambda: self._described(entry, solved))

    def _described(self, entry: CatalogueEntry, solved: _SolvedOp) -> OpDescription:
        default, recipe = self._defaults.get(entry.name), solved.recipe.text() if solved.recipe else ""
        default_text = default.recipe.text() if default else ""
        usual = default if recipe == default_text else None
        sayable = not captured_names(solved.op)
        description = describe_op(solved.op, measured_shapes(solved.op), entry.stub["file"])
        for key in _STUB_KEYS:
            description[key] = entry.stub[key]
        (usual or UsualCall(Recipe(()))).tell(description)
        return description | {
            "recipe": recipe,
            "usual_recipe": default_text,
            "like": bool(solved.recipe and solved.recipe.like),
            "written": self._is_written(entry.name, solved.recipe),
            "block": declaration_source(solved.op, solved.recipe, entry.stub["bound"])
            if sayable and solved.recipe
            else "",
        }

    def _is_written(self, name: str, recipe: Recipe | None) -> bool:
        """Whether the user's file says that the Function is called so."""
        default = self._defaults.get(name)
        return recipe is None or bool(default and default.written and default.recipe == recipe)

    def _entry(self, name: str) -> CatalogueEntry:
        if name not in self._load.entries:  # the file was changed, and this worker has reloaded it
            raise BadQuestion(f"There is no {name} any more in {', '.join(self._load.targets)}; reload the page.")
        return self._load.entries[name]

    def _solution(self, name: str, recipe: str, before: str) -> _SolvedOp:
        default, entry = self._defaults.get(name), self._entry(name)
        key = (name, "" if default and recipe == default.recipe.text() else recipe)
        if key not in self._solved:
            try:
                self._solved[key] = self._guarded(entry, recipe, lambda: self._solve(entry, recipe, before))
            except Unsolved as unsolved:
                self._solved[key] = unsolved
        solution = self._solved[key]
        if isinstance(solution, Unsolved):
            raise solution
        return solution

    def _solve(self, entry: CatalogueEntry, text: str, before: str) -> _SolvedOp:
        definition = entry.definition
        declared = definition.op
        if declared and declared.says_the_call and not text:
            op = with_scalar_inputs(replace(declared, name=entry.name, group=entry.group))
            return _SolvedOp(with_data(op, data_of_function(self._load.capture, definition.function)), None)
        override = self._override(entry, forgiving=bool(text))
        known = self._defaults.get(entry.name)
        if text and known and text == known.recipe.text():
            recipe = known.recipe  # its text does not say what nobody declared
        elif text:  # the user's recipe has to work even where inference fails
            objects = override.objects if override else None
            recipe = parse_recipe(text, signature_of(definition.function).names, objects)
            recipe = settled_example(definition.function, recipe)
        else:
            recipe = self._default_recipe(entry, override, before).recipe
        tensors, title = override.given if override else None, entry.stub["title"]
        try:
            found = op_of(definition.function, recipe, entry.name, title, entry.group, tensors, not recipe.like)
        except NotInferred as problem:
            if problem.error is None or recipe.text() != before:
                raise
            raise _broken_since_save(problem.error, before) from None
        op = with_declared(found, declared) if declared and not declared.says_the_call else found
        op = with_data(op, data_of_function(self._load.capture, definition.function))
        if definition.custom:  # what the graph has is a class that torch has made
            op.show_source(definition.lines.first, definition.source)
        return _SolvedOp(op, recipe)

    def _override(self, entry: CatalogueEntry, forgiving: bool) -> Override | None:
        """The override in the user's file; raises ``NotInferred`` if it cannot be used, unless ``forgiving``."""
        function, data = entry.definition.function, data_of_function(self._load.capture, entry.definition.function)
        names, namespace = signature_of(function).names, vars(entry.module)
        if function.__module__ in sys.modules and not has_example(function, namespace):
            namespace = vars(sys.modules[function.__module__])
        alone = sum(each.definition.file == entry.definition.file for each in self._load.entries.values()) == 1
        recipe = self._load.recipes.get(entry.name, "")
        if data and not recipe and (captured := captured_override(data, function)):
            return captured
        try:
            return override_for(function, names, namespace, alone, recipe)
        except BadRecipe as problem:
            if forgiving:
                return None
            raise NotInferred(str(problem)) from None

    def _default_recipe(self, entry: CatalogueEntry, override: Override | None, before: str) -> UsualCall:
        if entry.name not in self._defaults:
            function = entry.definition.function
            declared = override and written_call(function, override)
            self._defaults[entry.name] = declared or _inferred_default(function, before)
        return self._defaults[entry.name]

    def _guarded(self, entry: CatalogueEntry, recipe: str, work: Callable[[], _T]) -> _T:
        """The result of ``work``; raises ``Unsolved`` for whatever the user's code raises."""
        try:
            return work()
        except NotInferred as problem:
            raise _unsolved(entry, problem, self._load.reading) from None
        except BadDeclaration as problem:
            raise _unsolved(entry, NotInferred(str(problem), recipe=recipe), self._load.reading) from None
        except (Unsolved, BadRecipe):
            raise
        except (Exception, SystemExit, KeyboardInterrupt) as problem:
            logging.getLogger(__name__).info("%s could not be described", entry.name, exc_info=True)
            raised = f"{type(problem).__name__}: {exception_message(problem)}".rstrip(": .")
            sentence = f"{entry.stub['title']} raised {raised} when it was called; fix it, or call it in another way."
            raise _unsolved(entry, NotInferred(sentence, recipe=recipe, error=problem), self._load.reading) from None


class EditedFunctions(UserFunctions):
    """The Functions of a text that was edited in a page, executed by a guest; raises ``LoadFailed``."""

    def __init__(self, text: Callable[[], str]) -> None:
        """``text`` waits for it, while the guest is prepared."""
        self._guest = GuestProcess(claims=claimed_in_docstring)
        self._guest.prepare()
        super().__init__(load_text(text(), self._guest))
        self.rest()

    def op(self, name: str, recipe: str, before: str = "") -> Op:
        self._guest.begin()
        return super().op(name, recipe, before)

    def described(self, name: str, recipe: str, before: str = "") -> OpDescription:
        self._guest.begin()
        return super().described(name, recipe, before)

    def rest(self) -> None:
        """Have its code wait for the next question."""
        self._guest.pause()


def _inferred_default(function: Any, before: str) -> UsualCall:
    try:
        return found_call(function)
    except NotInferred as problem:
        recipe = replace(_previous_recipe(function, before, problem), like=True)
        return UsualCall(recipe, reasons(recipe, "it was called so before the save"))


def _unsolved(entry: CatalogueEntry, problem: NotInferred, reading: UserFileFinder) -> Unsolved:
    error, sentence = problem.error, encodable(problem.sentence)
    told: UnsolvedOp = {
        **entry.stub,
        "sentence": sentence,
        "argument": problem.argument,
        "recipe": encodable(problem.recipe),
        "tried": list(encodable(problem.tried[:_MAX_TRIED])),
        "parameters": list(encodable(problem.parameters)),
        "trouble": import_error_report(error, reading, os.getcwd()) | {"sentence": sentence} if error else None,
        "sayable": problem.sayable,
        "unfit": isinstance(problem, Unfit),
    }
    return Unsolved(told)


def _previous_recipe(function: Any, before: str, problem: NotInferred) -> Recipe:
    """The recipe of ``before``, if forward still works with it; a failing backward is shown with the curve of forward.

    Raises ``NotInferred``: the ``problem``, or the error that the call raises now and did not raise before.
    """
    recipe = _parsed_if_fitting(function, before)
    if recipe is None:
        raise problem
    with state_restored():
        outcome = try_recipe(signature_of(function).call, recipe)
    if outcome.error is None or outcome.forward:
        return recipe
    if problem.error is not None:
        raise problem
    raise _broken_since_save(outcome.error, before) from None


def _broken_since_save(error: BaseException, before: str) -> NotInferred:
    """The ``NotInferred`` for an ``error`` in a call that worked before the save."""
    sentence = f"forward {describe_error(error)}, called with {before} as before the save; fix it."
    return NotInferred(sentence, recipe=before, error=error)


def _parsed_if_fitting(function: Any, before: str) -> Recipe | None:
    """The recipe, if it still fits the signature of the Function."""
    try:
        signature = signature_of(function)
        recipe = parse_recipe(before, signature.names) if before else None
    except (NotInferred, BadRecipe):
        return None
    names = {each.name for each in recipe.arguments} if recipe else set()
    missing = any(each.required and each.name not in names for each in signature.arguments)
    return None if missing else recipe
