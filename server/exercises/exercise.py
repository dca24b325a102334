"""The exercises, and the format of their files, ours and those of others: what a teacher writes of one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from ..numbered_files import BadFile, line_of, read_folder, read_numbered, word_count
from ..paths import TEMPLATES
from ..protocol.listed import listed
from .readings import READINGS

_FOLDER = Path(TEMPLATES, "exercises")
WORD_BOUNDS = (25, 120)  # of the text of a task of ours
_OWN_BOUNDS = (1, 400)  # budget: words of somebody's own
_LONGEST_TITLE = 200  # budget: characters
_NAMED = "an exercise is called by its number and its name, as in 01_mask.toml."
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
    number, name, said = read_numbered(file, content, _NAMED, BadExercise)
    if found := _trouble(said, own):
        key, sentence = found
        raise BadExercise(file, sentence, line_of(content, key))
    asks, clean, spares = (
        tuple(said.get(key, usual)) for key, usual in (("asks", [""]), ("clean", []), ("spares", []))
    )
    goal = Goal(said["goal"], said["solution"], asks, clean, said.get("appended", ""), said.get("catches", {}), spares)
    texts = {key: said[key] for key in ("title", "start", "solution")}
    hints, lesson = tuple(said.get("hints", ())), said.get("lesson", "")
    task = said["task"].strip()
    return Exercise(name, number, task=task, **texts, goal=goal, lesson=lesson, hints=hints, own=own)


def _trouble(said: Mapping[str, Any], own: bool) -> tuple[str, str] | None:
    """The key at fault and the sentence that says so, None where all is well."""
    if lacking := [key for key in _TEXTS if not isinstance(said.get(key), str) or not said[key].strip()]:
        return lacking[0], f"it lacks {listed(lacking)}, or that is no text."
    if unknown := sorted(said.keys() - {*_TEXTS, *_OPTIONAL}):
        allowed = listed([*_TEXTS, *_OPTIONAL])
        return unknown[0], f"{listed(unknown)} is no key of an exercise; it may have {allowed}."
    for key, kind in _OPTIONAL.items():
        values = said.get(key, kind())
        inner = values.values() if kind is dict and isinstance(values, dict) else values
        if not isinstance(values, kind) or not all(isinstance(value, str) for value in inner):
            return key, f"{key} must be a {'text' if kind is str else f'{kind.__name__} of texts'}."
    for key, values, names in (
        ("goal", [said["goal"]], [*GOALS]),
        ("clean", said.get("clean", []), [*READINGS]),
    ):
        if not set(values).issubset(names):
            return key, f"{key} must be of {listed(names)}."
    if (said["goal"] == "check") != bool(said.get("catches") and said.get("spares")):
        return "goal", "catches and spares go with the goal check, and both are needed there."
    least, most = _OWN_BOUNDS if own else WORD_BOUNDS
    if not least <= (count := word_count(said["task"])) <= most:
        return "task", f"task has {count} words, and {least} to {most} are allowed."
    if len(said["title"]) > _LONGEST_TITLE:
        return "title", f"title has {len(said['title'])} characters, and {_LONGEST_TITLE} are allowed."
    return None
