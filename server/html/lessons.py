"""The lessons: one question, one figure, one control each, read from a file each: ours in ``templates/lessons``."""

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from urllib.parse import parse_qsl

from ..numbered_files import BadFile, read_folder, read_numbered
from ..paths import TEMPLATES
from ..protocol.listed import did_you_mean, listed
from ..schema.op import OpDescription
from ..schema.verdict_words import VERDICTS
from ..url.address import GRAD_OUTPUT_RANGE, default_ranges
from ..url.numbers import write_number

_FOLDER = Path(TEMPLATES, "lessons")
WORD_BOUNDS = (40, 120)  # of the text of a lesson of ours
_REVEAL_BOUNDS = (1, 120)  # words, of ours
_OWN_BOUNDS = (1, 400)  # budget: words of each text of somebody's own
_TEXTS = ("title", "part", "address", "control", "expect", "text", "reveal")
_OWN_OPTIONAL = ("part", "expect")


class BadLesson(BadFile):
    """The file of a lesson that cannot be one."""

    kind = "a lesson"


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
        allowed = [*dict.fromkeys(("grad_output", *ranges, *words))]
        hint = did_you_mean(name, allowed, f"it has {listed(allowed)}.")
        raise lesson.uncontrolled(f"{lesson.op} has no {name} that can be moved; {hint}")
    if lesson.choices or name in words:
        return lesson.choices or tuple(words[name])
    low, high = GRAD_OUTPUT_RANGE if name == "grad_output" else ranges[name]
    middle = (low + high) / 2
    whole = any(each["name"] == name and each["kind"] == "int" for each in parameters)
    return tuple(map(write_number, (low, round(middle) if whole else middle, high)))


def read_lesson(file: str, content: str, own: bool = False) -> Lesson:
    """The lesson in a file called ``NN_name.toml``, ``own`` where it is not ours; raises ``BadLesson``."""
    read = read_numbered(file, content, BadLesson)
    empty = {key for key in _OWN_OPTIONAL if own and not read.said.get(key)}
    read.check_keys([key for key in _TEXTS if key not in empty], {"choices": list} | dict.fromkeys(empty, str))
    texts = {key: read.said.get(key, "").strip() for key in _TEXTS}
    for key in ("title", "part", "address", "control", "expect"):
        if texts[key]:
            read.check_line(key)
    for key, bounds in {"text": WORD_BOUNDS, "reveal": _REVEAL_BOUNDS}.items():
        read.check_words(key, _OWN_BOUNDS if own else bounds)
    place, _, query = texts.pop("address").partition("?")
    if not place.startswith("/ops/"):
        raise read.fault("address", f"{place} is not that of an op, as in /ops/exp.")
    if texts["expect"] not in ({*VERDICTS, ""} if own else VERDICTS):
        raise read.fault(
            "expect", f"is {texts['expect']}, which is no word of a verdict; these are {listed([*VERDICTS])}."
        )
    choices, lines = tuple(read.said.get("choices", ())), (read.line("address"), read.line("control"))
    found = {"op": place.removeprefix("/ops/"), "query": query, "choices": choices, **texts}
    return Lesson(read.name, read.number, own=own, file=file, lines=lines, **found)
