"""Routes of the exercises: ``/exercises`` and ``/exercises/{exercise}``. Edits are graded by a route of ``play``."""

from __future__ import annotations

import asyncio

from fastapi import APIRouter, HTTPException, Request, Response

from ..exercises.exercise import all_exercises
from ..http.responses import reply
from ..protocol.suggest import closest_match
from ..url.numbers import printable_excerpt
from .context import Site
from .play import check_allowed

router = APIRouter()


@router.get("/exercises", include_in_schema=False)
async def exercise_list(request: Request) -> Response:
    """All exercises, in order."""
    site = Site.serving(request)
    await check_allowed(site)
    listed = all_exercises().values()
    body = await asyncio.to_thread(site.pages.exercises, listed, site.base(request), site.settings.public)
    return reply(request, body, "text/html")


@router.get("/exercises/{exercise}", include_in_schema=False)
async def exercise_page(request: Request) -> Response:
    """One exercise: its task, its code, its curves."""
    site, name, exercises = Site.serving(request), request.path_params["exercise"], all_exercises()
    await check_allowed(site)
    if name not in exercises:
        close = closest_match(name, exercises)
        hint = f"did you mean {close}? " if close else ""
        raise HTTPException(404, f"There is no exercise {printable_excerpt(name)!r}; {hint}/exercises lists them all.")
    place = [*exercises.values()], exercises[name].number
    body = await asyncio.to_thread(site.pages.exercise, *place, site.base(request), site.settings.public)
    return reply(request, body, "text/html")
