"""The exercises, and the format of their files, ours and those of others: what a teacher writes of one."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from ..numbered_files import BadFile, read_folder, read_numbered
from ..paths import TEMPLATES
from ..protocol.listed import listed
from .readings import READINGS

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
