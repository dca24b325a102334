"""The lessons: one question, one figure, one control each, read from a file each: ours in ``templates/lessons``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

from ..numbered_files import BadFile, line_of, read_folder, read_numbered, word_count
from ..paths import TEMPLATES
from ..protocol.listed import listed
from ..protocol.suggest import closest_match
from ..schema.op import OpDescription
from ..schema.verdict_words import VERDICTS
from ..url.address import GRAD_OUTPUT_RANGE, default_ranges
from ..url.numbers import write_number

_FOLDER = Path(TEMPLATES, "lessons")
WORD_BOUNDS = (40, 120)  # of the text of a lesson of ours
_LONGEST_REVEAL = 120  # words, of ours
_OWN_BOUNDS = (1, 400)  # budget: words of each text of somebody's own
_LONGEST_LINE = 200  # budget: characters of what stands on a line
_TEXTS = ("title", "part", "address", "control", "expect", "text", "reveal")
_LONG = ("text", "reveal")
_OPTIONAL = ("choices",)
_OWN_OPTIONAL = ("part", "expect")  # besides
_NAMED = "a lesson is called by its number and its name, as in 01_backward.toml."


class BadLesson(BadFile):
    """The file of a lesson that cannot be one."""


@dataclass(frozen=True)
class Lesson:
    """One lesson; ``own`` where it is not ours.

    ``title`` is its question, ``part`` the heading under which it is listed with its neighbours. ``op`` and ``query``
    are the address of its figure, ``control`` the one parameter of that address that can be moved, to one of
    ``choices`` where there are any. ``expect`` is the word of the verdict at the start; ``reveal`` says what happened
    and why. ``lines`` says on which lines of its ``file`` its address and its control stand.
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
    own: bool = False
    file: str = ""
    lines: tuple[int | None, int | None] = (None, None)

    @property
    def start(self) -> dict[str, str]:
        """What the address of the figure says at the start, by name."""
        return dict(parse_qsl(self.query))

    def misplaced(self, sentence: str) -> BadLesson:
        """The error for an address that cannot be asked for, which the sentence says."""
        return BadLesson(self.file, f"address: {sentence}", self.lines[0])

    def uncontrolled(self, sentence: str) -> BadLesson:
        """The error for a control that cannot be moved."""
        return BadLesson(self.file, f"control: {sentence}", self.lines[1])


@dataclass(frozen=True)
class LessonPlace:
    """A lesson among its neighbours."""

    lesson: Lesson
    count: int
    previous: Lesson | None
    next: Lesson | None


@cache
def all_lessons() -> tuple[Lesson, ...]:
    """Every lesson of ours, in order; raises ``BadLesson``."""
    return read_folder(_FOLDER, read_lesson, BadLesson)


def lesson_place(name: str, lessons: tuple[Lesson, ...]) -> LessonPlace | None:
    """The lesson of this name among ``lessons``, None where there is none; our own are no neighbours of others."""
    found = next((lesson for lesson in lessons if lesson.name == name), None)
    if found is None:
        return None
    beside = [lesson for lesson in lessons if lesson.own is found.own]
    i = beside.index(found)
    before, after = beside[i - 1] if i else None, beside[i + 1] if i + 1 < len(beside) else None
    return LessonPlace(found, len(beside), before, after)


def control_positions(lesson: Lesson, op: OpDescription, swept: str) -> tuple[str, ...]:
    """Where the control can be, as texts of the address: all it offers, or the ends and the middle of its slider.

    Raises ``BadLesson`` for a control that a figure whose x-axis is ``swept`` does not have.
    """
    name, parameters = lesson.control, op["parameters"]
    tensors = {each["name"] for each in op["inputs"] if each["shape"]}
    ranges = {each: ends for each, ends in default_ranges(op).items() if each != swept and each not in tensors}
    words = {"of": op["elements"]["of"], "wrt": op["elements"]["wrt"], "order": ["1", "2"]}
    words |= {each["name"]: each["choices"] for each in parameters if each["kind"] == "choice"}
    words |= {each["name"]: ["true", "false"] for each in parameters if each["kind"] == "switch"}
    if not lesson.choices and name not in ("grad_output", *words, *ranges):
        allowed = dict.fromkeys(("grad_output", *ranges, *words))
        close = closest_match(name, [*allowed])
        hint = f"did you mean {close}? It has" if close else "it has"
        raise lesson.uncontrolled(f"{lesson.op} has no {name} that can be moved; {hint} {listed([*allowed])}.")
    if lesson.choices or name in words:
        return lesson.choices or tuple(words[name])
    low, high = GRAD_OUTPUT_RANGE if name == "grad_output" else ranges[name]
    middle = (low + high) / 2
    whole = any(each["name"] == name and each["kind"] == "int" for each in parameters)
    return tuple(map(write_number, (low, round(middle) if whole else middle, high)))


def read_lesson(file: str, content: str, own: bool = False) -> Lesson:
    """The lesson in a file called ``NN_name.toml``, ``own`` where it is not ours; raises ``BadLesson``."""
    number, name, said = read_numbered(file, content, _NAMED, BadLesson)
    if own:
        said = dict.fromkeys(_OWN_OPTIONAL, "") | said
    _check(file, content, said, own)
    texts = {key: said[key].strip() for key in _TEXTS}
    place, _, query = texts.pop("address").partition("?")
    choices, lines = tuple(said.get("choices", ())), (line_of(content, "address"), line_of(content, "control"))
    found = {"op": place.removeprefix("/ops/"), "query": query, "choices": choices, **texts}
    return Lesson(name, number, own=own, file=file, lines=lines, **found)


def _check(file: str, content: str, said: Mapping[str, Any], own: bool) -> None:
    needed, known = {*_TEXTS}, {*_TEXTS, *_OPTIONAL}
    if missing := sorted(needed - said.keys()):
        raise BadLesson(file, f"it lacks {listed(missing)}.")
    if unknown := sorted(said.keys() - known):
        close = closest_match(unknown[0], sorted(known))
        hint = f"did you mean {close}? It" if close else "it"
        sentence = f"{unknown[0]} is no key of a lesson; {hint} may have {listed(sorted(known))}."
        raise BadLesson(file, sentence, line_of(content, unknown[0]))
    longest = {"text": WORD_BOUNDS, "reveal": (1, _LONGEST_REVEAL)}
    for key in _TEXTS:
        empty = own and key in _OWN_OPTIONAL and said[key] == ""
        bounds = (_OWN_BOUNDS if own else longest[key]) if key in _LONG else None
        if sentence := "" if empty else _trouble(key, said[key], bounds):
            raise BadLesson(file, f"{key} {sentence}", line_of(content, key))
    choices = said.get("choices", [])
    if not isinstance(choices, list) or not all(isinstance(each, str) for each in choices):
        raise BadLesson(file, "choices is not a list of texts.", line_of(content, "choices"))


def _trouble(key: str, value: object, bounds: tuple[int, int] | None) -> str:
    """The end of the sentence on what is wrong with a text, "" where it is none; ``bounds`` are words."""
    if not isinstance(value, str) or not value.strip():
        return "is not a text."
    if bounds is None and (len(value) > _LONGEST_LINE or "\n" in value.strip()):
        return f"is longer than a line of {_LONGEST_LINE} characters."
    if bounds is not None and not bounds[0] <= (count := word_count(value)) <= bounds[1]:
        return f"has {count} words, and {bounds[0]} to {bounds[1]} are allowed."
    if key == "address" and not value.strip().startswith("/ops/"):
        return f"{value.strip()} is not that of an op, as in /ops/exp."
    if key == "expect" and value.strip() not in VERDICTS:
        return f"is {value.strip()}, which is no word of a verdict; these are {listed([*VERDICTS])}."
    return ""
