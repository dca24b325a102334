"""The exercises, and the format of their files, ours and those of others: what a teacher writes of one; and what the
text of an edit says by itself: lines to point at, and tensors saved in vain.
"""

import ast
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from ..numbered_files import BadFile, read_folder, read_numbered
from ..paths import TEMPLATES
from ..protocol.listed import listed

_FOLDER = Path(TEMPLATES, "exercises")
WORD_BOUNDS = (25, 120)  # of the text of a task of ours
_OWN_BOUNDS = (1, 400)  # budget: words of somebody's own
_TEXTS = ("title", "goal", "task", "start", "solution")
_OPTIONAL: dict[str, type] = {
    "lesson": str,
    "asks": list,
    "hints": list,
    "clean": list,
    "appended": str,
    "catches": dict,
    "spares": list,
}
# By the goal, the word that a verdict must have; empty where it is no verdict that decides.
GOALS = {"matches": "matches", "surrogate": "matches its surrogate", "check": ""}
OPEN_GOALS = ("matches", "surrogate")  # those that need nothing but the text that an edit began as


class BadExercise(BadFile):
    """The file of an exercise that cannot be one."""

    kind = "an exercise"


@dataclass(frozen=True)
class Goal:
    """What an edit has to reach.

    ``kind`` is one of ``GOALS``: each answer to the queries ``asks`` has its word, forward is that of the text
    ``model``, and the readings ``clean`` find nothing. For ``check`` it is the edit that judges: of the Functions in
    ``appended``, which stands behind each edit, it rejects those that it ``catches``, whose answer notes are given,
    and ``spares`` the others.
    """

    kind: str
    model: str
    asks: tuple[str, ...] = ("",)
    clean: tuple[str, ...] = ()
    appended: str = ""
    catches: Mapping[str, str] = field(default_factory=dict)
    spares: tuple[str, ...] = ()


@dataclass(frozen=True)
class Exercise:
    """One exercise: a ``task``, the code it ``start``s with, a ``solution`` and what the code has to reach.

    ``lesson`` is the name of the lesson that it belongs to; ``hints`` are told after those that the verdict gives;
    ``own`` where it is not ours.
    """

    name: str
    number: int
    title: str
    task: str
    start: str
    solution: str
    goal: Goal
    lesson: str = ""
    hints: tuple[str, ...] = ()
    own: bool = False


@cache
def all_exercises() -> dict[str, Exercise]:
    """Every exercise of ours by name, in order; raises ``BadExercise``."""
    return {exercise.name: exercise for exercise in read_folder(_FOLDER, read_exercise, BadExercise)}


def read_exercise(file: str, content: str, own: bool = False) -> Exercise:
    """The exercise in a file called ``NN_name.toml``, ``own`` where it is not ours; raises ``BadExercise``."""
    read = read_numbered(file, content, BadExercise)
    read.check_keys(_TEXTS, _OPTIONAL)
    said = {key: kind() for key, kind in _OPTIONAL.items()} | {"asks": [""]} | read.said
    for key, values, names in (("goal", [said["goal"]], GOALS), ("clean", said["clean"], READINGS)):
        if not set(values).issubset(names):
            raise read.fault(key, f"must be of {listed([*names])}.")
    if (said["goal"] == "check") != bool(said["catches"] and said["spares"]):
        raise read.fault("goal", "check needs catches and spares, and they go with no other.")
    read.check_words("task", _OWN_BOUNDS if own else WORD_BOUNDS)
    read.check_line("title")
    asks, clean, hints, spares = (tuple(said[key]) for key in ("asks", "clean", "hints", "spares"))
    goal = Goal(said["goal"], said["solution"], asks, clean, said["appended"], said["catches"], spares)
    texts = {key: said[key] for key in ("title", "start", "solution", "lesson")}
    return Exercise(read.name, read.number, task=said["task"].strip(), goal=goal, hints=hints, own=own, **texts)


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
