"""A site: a page and a frame for each Function, the lessons about them, and an index with a search."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..exercises.exercise import Exercise
from ..html.course import Course
from ..html.gallery import cards_by_group, searched_card
from ..html.lessons import BadLesson, Lesson, control_positions
from ..protocol.errors import BadQuestion
from ..protocol.suggest import closest_match
from ..schema.op import DeviceSummary, OpDescription
from ..supervisor.engine import Engine
from ..supervisor.helpers import helper_count
from ..url.address import Address
from ..url.parse import parse_query, read_address
from .entry import Done, Entry, Planned, planned, published, site_page
from .exercises import exercise_files
from .figure import measured_figure
from .files import figure_files, file_names, shared_files
from .sliders import SliderAxis, slider_axis, worded_axis

_POSITIONS = 25  # sample: of the slider of a lesson


class NothingPublished(Exception):
    """What was asked for cannot be published; the message is a sentence."""


@dataclass(frozen=True)
class Plan:
    """What is to be published: the Functions, the lessons whose Functions are among them, and the exercises."""

    functions: tuple[Planned, ...]
    lessons: tuple[tuple[Lesson, Planned, Address, SliderAxis], ...]
    exercises: tuple[Exercise, ...]

    @property
    def questions(self) -> int:
        """How many answers it takes."""
        lessons = sum(len(axis.values) for _, _, _, axis in self.lessons)
        return lessons + sum(each.questions for each in self.functions)


async def planned_site(engine: Engine, course: Course, names: Collection[str], sliders: str) -> Plan:
    """The plan for the Functions of these ``names``, or for all; raises ``NothingPublished`` and ``BadQuery``."""
    catalogue, device = await engine.catalogue(), await engine.device()
    if not catalogue:
        raise NothingPublished("There is no Function to publish.")
    if course.broken:
        raise NothingPublished(course.broken[0].trouble["sentence"])
    _check(names, catalogue, "--op", "Function")
    chosen = [name for name in catalogue if name in names or not names]
    files = file_names(chosen)
    functions = [await planned(engine, device, catalogue[name], files[name], sliders) for name in chosen]
    known = dict.fromkeys(["grad_output", *(each["name"] for plan in functions for each in plan.parameters)])
    _check([each.partition(":")[0] for each in sliders.split(",") if each], known, "--sliders", "parameter")
    by_name = {each.stub["name"]: each for each in functions if each.op}
    ours = not engine.job.targets
    taught = [each for each in course.lessons if each.op in by_name and (ours or each.own)]
    lessons = [_planned_lesson(each, by_name[each.op], device) for each in taught]
    exercises = [each for each in course.exercises.values() if (ours or each.own) and not names]
    return Plan(tuple(functions), tuple(lessons), tuple(exercises))


async def site_files(engine: Engine, plan: Plan, title: str, done: Done) -> tuple[dict[str, bytes], tuple[Entry, ...]]:
    """All files of the site by path, and the entry of each Function; ``done`` is called after each question.

    Several workers answer, as far as the machine has room. Raises ``EngineBroken``.
    """
    device, entries = await engine.device(), dict[int, Entry]()
    waiting = deque(enumerate(plan.functions))

    async def serve(one: Engine) -> None:
        while waiting:
            place, each = waiting.popleft()
            entries[place] = await published(one, device, each, bool(plan.lessons), done)

    helpers = [Engine.spawn(engine.job) for _ in range(helper_count(len(plan.functions)))]
    try:
        for each in helpers:
            await each.connect()
        await asyncio.gather(*(serve(each) for each in (engine, *helpers)))
    finally:
        for each in helpers:
            await each.close()
    files = shared_files()
    shown = tuple(entries[place] for place in sorted(entries))
    for entry in shown:
        files |= entry.files
    for number, (lesson, about, address, axis) in enumerate(plan.lessons, 1):
        assert about.op is not None
        figure = await measured_figure(engine.answer, about.op, device, address, (axis,), done, still=True)
        files |= figure_files(figure, f"lessons/{lesson.name}")
        files |= _lesson_page(plan, number, lesson, about)
    files |= await exercise_files(plan.exercises, [each for each, _, _, _ in plan.lessons])
    return files | _lists(plan, shown, title, device), shown


def _lesson_page(plan: Plan, number: int, lesson: Lesson, shown: Planned) -> dict[str, bytes]:
    lessons = [each for each, _, _, _ in plan.lessons]
    beside = {"previous": lessons[:number][-2:-1], "next": lessons[number : number + 1]}
    context: dict[str, Any] = {"lesson": lesson, "number": number, "count": len(lessons), "shown": shown, **beside}
    page = site_page("lesson", "../../", True, **context)
    return {f"lessons/{lesson.name}/index.html": page}


def _lists(plan: Plan, entries: Sequence[Entry], title: str, device: DeviceSummary) -> dict[str, bytes]:
    cards = [{**each.stub, "entry": each, "word": each.word} for each in entries]
    groups = cards_by_group(cards)  # type: ignore[type-var]
    lessons = [each for each, _, _, _ in plan.lessons]
    common: dict[str, Any] = {"lessons": lessons, "exercises": plan.exercises, "title": title, "torch": device["torch"]}
    found = {"index.html": site_page("index", "", bool(lessons), groups=groups, said=_searched, **common)}
    if lessons:
        found["lessons/index.html"] = site_page("lessons", "../", True, **common)
    return found


def _searched(card: Mapping[str, object]) -> str:
    """The words by which a card is found."""
    read = searched_card(card)  # type: ignore[arg-type]
    return " ".join(f"{read.title} {read.keywords} {read.text}".lower().split())


def _planned_lesson(
    lesson: Lesson, shown: Planned, device: DeviceSummary
) -> tuple[Lesson, Planned, Address, SliderAxis]:
    assert shown.op is not None
    try:
        address = read_address(shown.op, device, parse_query(lesson.query))
        return lesson, shown, address, _control(lesson, shown.op, address)
    except (BadQuestion, BadLesson) as problem:
        raise NothingPublished(f"The lesson {lesson.name} cannot be shown: {problem}") from None


def _control(lesson: Lesson, op: OpDescription, address: Address) -> SliderAxis:
    """The axis of the one control of a lesson."""
    texts = control_positions(lesson, op, address.question.wrt.name)
    numeric = {"grad_output", *(each["name"] for each in op["inputs"] if not each["shape"])}
    numeric |= {each["name"] for each in op["parameters"] if each["kind"] in ("float", "int")}
    if lesson.choices or lesson.control not in numeric:
        return worded_axis(op, address, lesson.control, texts)
    return slider_axis(op, address, lesson.control, _POSITIONS)


def _check(names: Collection[str], known: Collection[str], flag: str, kind: str) -> None:
    """Raise ``NothingPublished`` for a name after an option that is not ``known``."""
    for name in names:
        if name not in known:
            close = closest_match(name, known)
            hint = f"did you mean {close}? There" if close else "there"
            raise NothingPublished(f"{flag} {name}: there is no such {kind}; {hint} are {', '.join(known)}.")
