"""Routes of a course: ``/lessons``, ``/lessons/{lesson}``, ``/exercises``, ``/exercises/{exercise}``, ``/glossary``;
for the frames of other pages ``/embed/lessons/{lesson}``, ``/embed/exercises/{exercise}`` and ``/embed/play/edit``.
Edits are graded by a route of ``play``.
"""

import asyncio
from collections.abc import Callable
from functools import partial

from fastapi import APIRouter, HTTPException, Request, Response

from ..cache.visitor import Visitor
from ..exercises.exercise import OPEN_GOALS, Exercise, Goal
from ..html.course import Course, trouble_of
from ..html.glossary import glossary_entries
from ..html.lessons import BadLesson, Lesson, LessonPlace, control_positions
from ..html.play_page import FrameDress
from ..http.responses import reply, uncached_reply
from ..protocol.errors import BadQuestion, UnknownOp
from ..protocol.fingerprint import fingerprint
from ..protocol.listed import did_you_mean, listed
from ..protocol.question import Question
from ..schema.op import DeviceSummary, OpDescription
from ..url.address import DRESS, Address, canonical_address, curves_only, encoded_query
from ..url.numbers import printable_excerpt
from ..url.parse import parse_query, read_address, read_dress, undressed_query
from ..url.representations import EMBED
from .context import Site, made_once, query_string
from .play import check_allowed
from .sections import SectionPlace, section_page

_PATIENCE = 4.0  # seconds that a page waits for its figure

router = APIRouter()


@router.get("/lessons", include_in_schema=False)
async def lesson_list(request: Request) -> Response:
    """All lessons, in order."""
    site = Site.serving(request)
    course = await site.course()
    render = partial(site.pages.lessons, course, site.editable)
    return await _words(request, f"lessons {site.editable} {course.digest}", render)


@router.get("/glossary", include_in_schema=False)
async def glossary(request: Request) -> Response:
    """Every term, with a definition and a figure."""
    site = Site.serving(request)
    return await _words(request, "glossary", partial(site.pages.glossary, glossary_entries()))


@router.get("/lessons/{lesson}", include_in_schema=False)
async def lesson_page(request: Request) -> Response:
    """One lesson. Its query, where there is one, is that of its figure."""
    return await _lesson(request, framed=False)


@router.get("/embed/lessons/{lesson}", include_in_schema=False)
async def framed_lesson(request: Request) -> Response:
    """One lesson for the frame of another page: text, figure and control."""
    return await _lesson(request, framed=True)


async def _words(request: Request, kind: str, render: Callable[[str, bool], bytes]) -> Response:
    """A page that depends on nothing but its template."""
    site = Site.serving(request)
    base, public = site.base(request), site.settings.public
    mark = fingerprint(site.build, site.assets.digest, base, repr(public), kind)

    async def rendered(_: Visitor) -> tuple[bytes, bool]:
        return await asyncio.to_thread(render, base, public), True

    return await made_once(request, mark, "text/html", rendered)


async def _lesson(request: Request, framed: bool) -> Response:
    site, name = Site.serving(request), request.path_params["lesson"]
    course = await site.course()
    trouble = course.trouble("lessons", name)
    if trouble is None:
        place, asked = _place(name, course), query_string(request)
        try:
            return await _section(request, place, course, asked, framed)
        except BadLesson as problem:
            trouble = trouble_of(problem, "")
        except (BadQuestion, UnknownOp) as problem:
            if not place.lesson.own or undressed_query(asked):
                raise
            trouble = trouble_of(place.lesson.misplaced(str(problem)), "")
    return uncached_reply(request, site.pages.broken_file(trouble, course.digest, framed), "text/html", 422)


async def _section(request: Request, place: LessonPlace, course: Course, asked: str, framed: bool) -> Response:
    """The page; where what is ``asked`` says nothing of the figure, that begins as the lesson says."""
    lesson = place.lesson
    query = asked if undressed_query(asked) else "&".join(filter(None, (lesson.query, asked)))
    return await section_page(
        request,
        SectionPlace(lesson.op, query),
        EMBED,
        f"lesson {lesson.name} {framed} {course.digest}",
        lambda pages, view: pages.lesson(view, place, course, framed),
        _PATIENCE,
        partial(_at_every_position, lesson),
    )


def _at_every_position(lesson: Lesson, op: OpDescription, device: DeviceSummary, address: Address) -> list[Question]:
    """The questions of the figure with the control of the lesson at each of its positions, for axes that hold still.

    Raises ``BadLesson`` for a control that cannot be there.
    """
    _, _, query = canonical_address(op, curves_only(address)).partition("?")
    words, places = parse_query(query), control_positions(lesson, op, address.question.wrt.name)
    try:
        return [read_address(op, device, {**words, lesson.control: text}).question for text in places]
    except BadQuestion as problem:
        if not lesson.own:
            raise
        raise lesson.uncontrolled(str(problem)) from None


def _place(name: str, course: Course) -> LessonPlace:
    place = course.lesson(name)
    if place is None:
        hint = did_you_mean(name, (each.name for each in course.lessons), "/lessons lists them all.")
        raise HTTPException(404, f"There is no lesson {printable_excerpt(name)!r}; {hint}")
    return place


@router.get("/exercises", include_in_schema=False)
async def exercise_list(request: Request) -> Response:
    """All exercises, in order."""
    site = Site.serving(request)
    await check_allowed(site)
    course = await site.course()
    body = await asyncio.to_thread(site.pages.exercises, course, site.base(request), site.settings.public)
    return reply(request, body, "text/html")


@router.get("/exercises/{exercise}", include_in_schema=False)
async def exercise_page(request: Request) -> Response:
    """One exercise: its task, its code, its curves."""
    return await _named(request)


@router.get("/embed/exercises/{exercise}", include_in_schema=False)
async def framed_exercise(request: Request) -> Response:
    """One exercise for the frame of another page."""
    return await _named(request, parse_query(query_string(request)))


@router.get("/embed/play/edit", include_in_schema=False)
async def framed_edit(request: Request) -> Response:
    """Code to edit for the frame of another page, which gives it in the fragment; with a ``goal`` it is graded."""
    words = parse_query(query_string(request))
    goal = words.pop("goal", "")
    if goal and goal not in OPEN_GOALS:
        raise BadQuestion(f"goal={printable_excerpt(goal)} is none; it may be {listed(OPEN_GOALS, 'or')}.", "goal")
    dress = {name: words.pop(name) for name in DRESS if name in words}
    asks = (encoded_query(words),)
    return await _page(request, Exercise("", 0, "Code to edit", "", "", "", Goal(goal, "", asks)), dress)


async def _named(request: Request, words: dict[str, str] | None = None) -> Response:
    site, name = Site.serving(request), request.path_params["exercise"]
    course = await site.course()
    trouble = course.trouble("exercises", name)
    if trouble is not None:
        page = site.pages.broken_file(trouble, course.digest, words is not None)
        return uncached_reply(request, page, "text/html", 422)
    return await _page(request, _exercise(name, course), words)


async def _page(request: Request, exercise: Exercise, words: dict[str, str] | None = None) -> Response:
    site = Site.serving(request)
    await check_allowed(site)
    dress = None if words is None else FrameDress(**read_dress(words))
    around = await site.course(), site.base(request), site.settings.public, dress
    return reply(request, await asyncio.to_thread(site.pages.exercise, exercise, *around), "text/html")


def _exercise(name: str, course: Course) -> Exercise:
    exercises = course.exercises
    if name not in exercises:
        hint = did_you_mean(name, exercises, "/exercises lists them all.")
        raise HTTPException(404, f"There is no exercise {printable_excerpt(name)!r}; {hint}")
    return exercises[name]
