"""The lessons: one question, one figure, one control each, read from a file each in ``templates/lessons``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

from ..numbered_files import read_folder, read_numbered
from ..paths import TEMPLATES
from ..schema.op import OpDescription
from ..url.address import GRAD_OUTPUT_RANGE, default_ranges
from ..url.numbers import write_number

_FOLDER = Path(TEMPLATES, "lessons")
WORD_BOUNDS = (40, 120)  # of the text of a lesson
_LONGEST_REVEAL = 120  # words
_TEXTS = ("title", "part", "address", "control", "expect", "text", "reveal")
_OPTIONAL = ("choices",)
_NAMED = "a lesson is called by its number and its name, as in 01_backward.toml"


class BadLesson(ValueError):
    """The file of a lesson that cannot be one; the message names the file and what is wrong with it."""


@dataclass(frozen=True)
class Lesson:
    """One lesson.

    ``title`` is its question, ``part`` the heading under which it is listed with its neighbours. ``op`` and ``query``
    are the address of its figure, ``control`` the one parameter of that address that can be moved, to one of
    ``choices`` where there are any. ``expect`` is the word of the verdict at the start; ``reveal`` says what happened
    and why.
    """

    name: str
    number: int
    title: str
    part: str
    op: str
    query: str
    control: str
    expect: str
    text: str
    reveal: str
    choices: tuple[str, ...] = ()

    @property
    def start(self) -> dict[str, str]:
        """What the address of the figure says at the start, by name."""
        return dict(parse_qsl(self.query))


@dataclass(frozen=True)
class LessonPlace:
    """A lesson among its neighbours."""

    lesson: Lesson
    count: int
    previous: Lesson | None
    next: Lesson | None


@cache
def all_lessons() -> tuple[Lesson, ...]:
    """Every lesson, in order; raises ``BadLesson``."""
    return read_folder(_FOLDER, read_lesson, "lessons", BadLesson)


def lesson_place(name: str) -> LessonPlace | None:
    """The lesson of this name, None where there is none."""
    lessons = all_lessons()
    for i, lesson in enumerate(lessons):
        if lesson.name == name:
            before, after = lessons[i - 1] if i else None, lessons[i + 1] if i + 1 < len(lessons) else None
            return LessonPlace(lesson, len(lessons), before, after)
    return None


def control_positions(lesson: Lesson, op: OpDescription) -> tuple[str, ...]:
    """Where the control can be, as texts of the address: all it offers, or the ends and the middle of its slider."""
    name, parameters = lesson.control, op["parameters"]
    words = {"of": op["elements"]["of"], "wrt": op["elements"]["wrt"], "order": ["1", "2"]}
    words |= {each["name"]: each["choices"] for each in parameters if each["kind"] == "choice"}
    words |= {each["name"]: ["true", "false"] for each in parameters if each["kind"] == "switch"}
    if lesson.choices or name in words:
        return lesson.choices or tuple(words[name])
    low, high = GRAD_OUTPUT_RANGE if name == "grad_output" else default_ranges(op)[name]
    middle = (low + high) / 2
    whole = any(each["name"] == name and each["kind"] == "int" for each in parameters)
    return tuple(map(write_number, (low, round(middle) if whole else middle, high)))


def read_lesson(file: str, content: str) -> Lesson:
    """The lesson in a file called ``NN_name.toml``; raises ``BadLesson``."""
    number, name, said = read_numbered(file, content, _NAMED, BadLesson)
    _check_names(file, said)
    texts = {key: _text(file, key, said[key]) for key in _TEXTS}
    place, _, query = texts.pop("address").partition("?")
    if not place.startswith("/ops/"):
        raise BadLesson(f"{file}: the address {place} is not that of an op, as in /ops/exp")
    _check_length(file, "text", texts["text"], *WORD_BOUNDS)
    _check_length(file, "reveal", texts["reveal"], 1, _LONGEST_REVEAL)
    choices = said.get("choices", [])
    if not isinstance(choices, list) or not all(isinstance(each, str) for each in choices):
        raise BadLesson(f"{file}: choices is not a list of texts")
    return Lesson(name, number, op=place.removeprefix("/ops/"), query=query, choices=tuple(choices), **texts)


def word_count(text: str) -> int:
    """How many words a text has; signs that stand alone are none."""
    return sum(any(sign.isalnum() for sign in word) for word in text.split())


def _check_names(file: str, said: Mapping[str, Any]) -> None:
    for problem, names in (
        ("lacks", set(_TEXTS) - said.keys()),
        ("has unknown keys:", said.keys() - {*_TEXTS, *_OPTIONAL}),
    ):
        if names:
            raise BadLesson(f"{file} {problem} {_listed(names)}")


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(names))


def _text(file: str, key: str, value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        raise BadLesson(f"{file}: {key} is not a text")
    return value.strip()


def _check_length(file: str, key: str, text: str, least: int, most: int) -> None:
    count = word_count(text)
    if not least <= count <= most:
        raise BadLesson(f"{file}: {key} has {count} words, and {least} to {most} are allowed")
