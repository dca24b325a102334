"""A site: a page and a frame for each Function, the lessons about them, exercises, and an index with a search."""

import asyncio
from collections import deque
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from ..exercises.exercise import Exercise
from ..exercises.grade import graded_text
from ..html.course import Course
from ..html.gallery import cards_by_group, searched_card
from ..html.lessons import BadLesson, Lesson, control_positions
from ..protocol.errors import BadQuestion, EngineBroken, EngineFault, Unsolved
from ..protocol.listed import did_you_mean
from ..schema.op import DeviceSummary, OpDescription, OpStub
from ..supervisor.edits import Edits
from ..supervisor.engine import Engine
from ..supervisor.worker_process import helper_count
from ..url.address import Address, default_address
from ..url.parse import parse_query, read_address
from .figure import file_names, shared_files
from .page import Done, Planned, Published, published, site_page, undrawn
from .sliders import SliderAxis, slider_axes, slider_axis, usual_sliders, worded_axis

_POSITIONS = 25  # sample: of the slider of a lesson


class NothingPublished(Exception):
    """What was asked for cannot be published; the message is a sentence."""


@dataclass(frozen=True)
class Plan:
    """What is to be published: the Functions, the lessons whose Functions are among them, and the exercises."""

    functions: tuple[Planned, ...]
    lessons: tuple[Planned, ...]
    exercises: tuple[Exercise, ...]

    @property
    def questions(self) -> int:
        """How many answers it takes."""
        return sum(each.questions for each in (*self.functions, *self.lessons))


async def planned_site(engine: Engine, course: Course, names: Collection[str], sliders: str) -> Plan:
    """The plan for the Functions of these ``names``, or for all; raises ``NothingPublished`` and ``BadQuery``."""
    catalogue, device = await engine.catalogue(), await engine.device()
    if not catalogue:
        raise NothingPublished("There is no Function to publish.")
    if course.broken:
        raise NothingPublished(course.broken[0].trouble["sentence"])
    _check(names, catalogue, "--op", "Function")
    files = file_names([name for name in catalogue if name in names or not names])
    functions = {name: await _function(engine, device, catalogue[name], file, sliders) for name, file in files.items()}
    taken = [each["name"] for plan in functions.values() if plan.op for each in plan.op["parameters"]]
    known = dict.fromkeys(["grad_output", *taken])
    _check([each.partition(":")[0] for each in sliders.split(",") if each], known, "--sliders", "parameter")
    ours = not engine.job.targets
    taught = [each for each in course.lessons if each.op in functions and functions[each.op].op and (ours or each.own)]
    lessons = [_lesson(taught, place, functions[each.op], device) for place, each in enumerate(taught)]
    exercises = [each for each in course.exercises.values() if (ours or each.own) and not names]
    return Plan(tuple(functions.values()), tuple(lessons), tuple(exercises))


async def site_files(
    engine: Engine, plan: Plan, title: str, done: Done
) -> tuple[dict[str, bytes], tuple[Published, ...]]:
    """All files of the site by path, and the pages of the Functions; ``done`` is called after each question.

    Several workers answer, as far as the machine has room. Raises ``EngineBroken``.
    """
    device, pages, taught = await engine.device(), dict[int, Published](), bool(plan.lessons)
    waiting = deque(enumerate((*plan.functions, *plan.lessons)))

    async def serve(one: Engine) -> None:
        while waiting:
            place, each = waiting.popleft()
            pages[place] = await published(one.answer, device, each, taught, done)

    helpers: list[Engine] = []
    try:
        with suppress(OSError):  # without room for another process those that there are do it
            for _ in range(helper_count(len(plan.functions))):
                helpers.append(Engine.spawn(engine.job))
        for each in helpers:
            await each.connect()
        await asyncio.gather(*(serve(each) for each in (engine, *helpers)))
    finally:
        for each in helpers:
            await each.close()
    shown = [pages[place] for place in sorted(pages)]
    files = shared_files()
    for page in (*shown, *await _exercises(plan)):
        files |= page.files
    functions = tuple(shown[: len(plan.functions)])
    return files | _lists(plan, functions, title, device), functions


async def _function(engine: Engine, device: DeviceSummary, stub: OpStub, file: str, sliders: str) -> Planned:
    """How a Function is to be published, with the ``sliders`` of an address as far as it has them, or with the usual.

    Raises ``BadQuery`` where these reach too many sections.
    """
    page = Planned(file, "function", {"stub": stub})
    try:
        op = await engine.op(stub["name"])
    except Unsolved as unsolved:
        return replace(page, why=unsolved.told["sentence"])
    except EngineFault as fault:
        return replace(page, why=str(fault))
    address = default_address(op)
    known = {"grad_output", *(each["name"] for each in op["parameters"])} - {address.question.wrt.name}
    chosen = ",".join(each for each in sliders.split(",") if each.partition(":")[0] in known)
    if not sliders:
        address = usual_sliders(op, address)
    elif chosen:
        address = read_address(op, device, {"sliders": chosen})
    return replace(page, op=op, address=address, axes=slider_axes(op, address))


def _lesson(lessons: Sequence[Lesson], place: int, shown: Planned, device: DeviceSummary) -> Planned:
    lesson, beside = lessons[place], {"previous": lessons[:place][-1:], "next": lessons[place + 1 : place + 2]}
    about = {"lesson": lesson, "number": place + 1, "count": len(lessons), "shown": shown, **beside}
    assert shown.op is not None
    try:
        address = read_address(shown.op, device, parse_query(lesson.query))
        axes = (_control(lesson, shown.op, address),)
        return Planned(f"lessons/{lesson.name}", "lesson", about, shown.op, address, axes)
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


async def _exercises(plan: Plan) -> list[Published]:
    """The pages of the exercises, each with the figure of the code that it begins with."""
    edits, pages = Edits(), list[Published]()
    lessons = {each.about["lesson"].name: each.about["lesson"] for each in plan.lessons}
    try:
        for number, each in enumerate(plan.exercises, 1):
            about = {"exercise": each, "number": number, "count": len(plan.exercises)}
            page = Planned(f"exercises/{each.name}", "exercise", {**about, "lesson": lessons.get(each.lesson)})
            pages.append(await _exercise(edits, each, page, bool(lessons)))
    finally:
        await edits.close()
    return pages


async def _exercise(edits: Edits, exercise: Exercise, page: Planned, taught: bool) -> Published:
    """Its page; a test that is to be written has no figure, nor code that does not run in the sandbox."""
    if exercise.goal.kind == "check":
        return undrawn(page, taught)
    words = parse_query(exercise.goal.asks[0])
    try:
        async with edits.engine(graded_text(exercise.start, exercise.goal), "") as engine:
            await engine.wait_ready()
            op = await engine.op(next(iter(await engine.catalogue())), words.get("recipe", ""))
            address = usual_sliders(op, read_address(op, await engine.device(), words))
            page = replace(page, op=op, address=address, axes=slider_axes(op, address))
            return await published(engine.answer, await engine.device(), page, taught)
    except (BadQuestion, EngineBroken, EngineFault, Unsolved):
        return undrawn(page, taught)


def _lists(plan: Plan, pages: Sequence[Published], title: str, device: DeviceSummary) -> dict[str, bytes]:
    """The lists of Functions, lessons and exercises."""
    cards = [{**each.plan.about["stub"], "entry": each, "word": each.word} for each in pages]
    groups = cards_by_group(cards)  # type: ignore[type-var]
    lessons = [each.about["lesson"] for each in plan.lessons]
    common: dict[str, Any] = {"lessons": lessons, "exercises": plan.exercises, "title": title, "torch": device["torch"]}
    common |= {"groups": groups, "said": _searched}
    wanted = {"index": "index.html"} | ({"lessons": "lessons/index.html"} if lessons else {})
    wanted |= {"exercises": "exercises/index.html"} if plan.exercises else {}
    return {place: site_page(template, place, bool(lessons), **common) for template, place in wanted.items()}


def _searched(card: Mapping[str, object]) -> str:
    """The words by which a card is found."""
    read = searched_card(card)  # type: ignore[arg-type]
    return " ".join(f"{read.title} {read.keywords} {read.text}".lower().split())


def _check(names: Collection[str], known: Collection[str], flag: str, kind: str) -> None:
    """Raise ``NothingPublished`` for a name after an option that is not ``known``."""
    for name in names:
        if name not in known:
            hint = did_you_mean(name, known, f"there are {', '.join(known)}.")
            raise NothingPublished(f"{flag} {name}: there is no such {kind}; {hint}")
