"""The lessons and exercises of a site: those of somebody's own folders, as they are now, and ours behind them."""

from collections.abc import Iterable, Set
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple, TypeVar

from ..exercises.exercise import BadExercise, Exercise, all_exercises, read_exercise
from ..numbered_files import BadFile, NumberedFolders, line_of
from ..protocol.listed import did_you_mean
from ..protocol.load_error import excerpt_around, load_error
from ..schema.op import LoadError
from .lessons import Lesson, LessonPlace, all_lessons, lesson_place, read_lesson

_MOST_FILES = 200  # budget: read at each change
_LARGEST = 2**16  # budget: bytes of a file
_OF_EXERCISES = ("task", "start", "solution")  # keys that no lesson has
_Item = TypeVar("_Item", Lesson, Exercise)


class BrokenFile(NamedTuple):
    """A file of somebody's own that is neither a lesson nor an exercise: the ``name`` in its address, and why.

    ``kind`` is what it was to be, as in an address.
    """

    name: str
    kind: str
    trouble: LoadError


@dataclass(frozen=True)
class Course:
    """Lessons and exercises, somebody's own before ours; of two of one name theirs is shown.

    ``digest`` is that of the files of somebody's own.
    """

    lessons: tuple[Lesson, ...]
    exercises: dict[str, Exercise]
    broken: tuple[BrokenFile, ...] = ()
    digest: str = ""

    def lesson(self, name: str) -> LessonPlace | None:
        """The lesson of this name among its neighbours, None where there is none."""
        return lesson_place(name, self.lessons)

    def exercises_of(self, lesson: Lesson) -> list[Exercise]:
        """The exercises that belong to a lesson."""
        return [exercise for exercise in self.exercises.values() if exercise.lesson == lesson.name]

    def beside(self, exercise: Exercise) -> list[Exercise]:
        """The exercises among which this one stands, in order: somebody's own, or ours."""
        return [other for other in self.exercises.values() if other.own is exercise.own]

    def trouble(self, kind: str, name: str) -> LoadError | None:
        """What is wrong with the file that was to be the lesson or exercise of this name."""
        return next((each.trouble for each in self.broken if (each.kind, each.name) == (kind, name)), None)


class CourseFolders:
    """Reads the files of somebody's own folders again once they are others."""

    def __init__(self, folders: NumberedFolders) -> None:
        self.folders = folders
        self._read = read_course(NumberedFolders())

    def course(self) -> Course:
        """What the folders hold now; raises nothing."""
        digest = self.folders.digest()
        if digest != self._read.digest:
            self._read = read_course(self.folders, digest)
        return self._read


def read_course(folders: NumberedFolders, digest: str = "") -> Course:
    """The lessons and exercises in these folders, and ours; raises nothing: what is wrong with a file is told in it."""
    found, broken = dict[str, Lesson | Exercise](), list[BrokenFile]()
    files = folders.files()
    taught = {*map(_name, files), *(lesson.name for lesson in all_lessons())}
    for i, path in enumerate(files):
        content, name = "", _name(path)
        try:
            if i >= _MOST_FILES:
                raise BadFile(path.name, f"of {len(files)} files the first {_MOST_FILES} are read; take some away.")
            content = _content(path)
            if name in found:
                raise BadFile(path.name, f"another file is called {name}, too; give it another name.")
            found[name] = _read(path.name, content, taught - {name})
        except BadFile as problem:
            kind = "exercises" if _is_exercise(content) else "lessons"
            broken.append(BrokenFile(path.stem if name in found else name, kind, trouble_of(problem, content)))
    lessons = _in_order(each for each in found.values() if isinstance(each, Lesson))
    exercises = _in_order(each for each in found.values() if isinstance(each, Exercise))
    return Course(
        (*lessons, *(each for each in all_lessons() if not isinstance(found.get(each.name), Lesson))),
        {**{each.name: each for each in exercises}, **_others(exercises)},
        tuple(broken),
        digest,
    )


def trouble_of(problem: BadFile, content: str) -> LoadError:
    """What is wrong with a file, with the lines around the one at fault."""
    excerpt = excerpt_around(content, problem.line) if problem.line else []
    return load_error(str(problem), type(problem).__name__, problem.file, problem.line, excerpt)


def _others(own: Iterable[Exercise]) -> dict[str, Exercise]:
    taken = {each.name for each in own}
    return {name: each for name, each in all_exercises().items() if name not in taken}


def _name(path: Path) -> str:
    """The name that stands in an address: that behind the number, or the whole where there is none."""
    number, _, name = path.stem.partition("_")
    return name if number.isdecimal() and name else path.stem


def _content(path: Path) -> str:
    try:
        if not path.is_file() or path.stat().st_size > _LARGEST:
            raise BadFile(path.name, f"it is no file, or larger than {_LARGEST >> 10} kB.")
        return path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as problem:
        raise BadFile(path.name, f"it cannot be read: {problem}.") from None


def _is_exercise(content: str) -> bool:
    return any(line_of(content, key) for key in _OF_EXERCISES)


def _read(file: str, content: str, taught: Set[str]) -> Lesson | Exercise:
    """The lesson or the exercise; raises ``BadFile``. ``taught`` are the names of all lessons."""
    if not _is_exercise(content):
        return read_lesson(file, content, own=True)
    exercise = read_exercise(file, content, own=True)
    if exercise.lesson and exercise.lesson not in taught:
        hint = did_you_mean(exercise.lesson, taught, "/lessons lists them all.")
        raise BadExercise(file, f"lesson: there is no lesson {exercise.lesson}; {hint}", line_of(content, "lesson"))
    return exercise


def _in_order(items: Iterable[_Item]) -> list[_Item]:
    """By their numbers, and then numbered from 1: lessons and exercises share the numbers of their files."""
    return [replace(each, number=i) for i, each in enumerate(sorted(items, key=lambda each: each.number), 1)]
