"""Routes of the exercises: ``/exercises`` and ``/exercises/{exercise}``; and for the frames of other pages
``/embed/exercises/{exercise}`` and ``/embed/play/edit``. Edits are graded by a route of ``play``.
"""

import asyncio

from fastapi import APIRouter, HTTPException, Request, Response

from ..exercises.exercise import OPEN_GOALS, Exercise, Goal
from ..html.course import Course
from ..html.play_page import FrameDress
from ..http.responses import reply, uncached_reply
from ..protocol.errors import BadQuestion
from ..protocol.listed import did_you_mean, listed
from ..url.address import FRAME_PARTS, encoded_query
from ..url.numbers import printable_excerpt
from ..url.parse import parse_query, read_dress
from .context import Site, query_string
from .play import check_allowed

DRESS = ("theme", "hide", "height")  # words of a frame

router = APIRouter()


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
    dress = None if words is None else FrameDress(**read_dress(words, DRESS, FRAME_PARTS))
    around = await site.course(), site.base(request), site.settings.public, dress
    return reply(request, await asyncio.to_thread(site.pages.exercise, exercise, *around), "text/html")


def _exercise(name: str, course: Course) -> Exercise:
    exercises = course.exercises
    if name not in exercises:
        hint = did_you_mean(name, exercises, "/exercises lists them all.")
        raise HTTPException(404, f"There is no exercise {printable_excerpt(name)!r}; {hint}")
    return exercises[name]
