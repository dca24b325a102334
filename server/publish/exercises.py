"""The exercises of a site: the task of each, the code to mend, and the live figure of what that code does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..exercises.exercise import Exercise
from ..exercises.grade import graded_text
from ..html.lessons import Lesson
from ..protocol.errors import BadQuestion, EngineBroken, EngineFault, Unsolved
from ..supervisor.edits import Edits
from ..url.parse import parse_query, read_address
from .entry import site_page
from .figure import Figure, measured_figure
from .files import figure_files
from .sliders import usual_sliders


async def exercise_files(exercises: Sequence[Exercise], lessons: Sequence[Lesson]) -> dict[str, bytes]:
    """The files of these exercises by path, and their list; ``lessons`` are those of the site, to which they lead.

    The code is run in the sandbox; where that, or the code, does not run there is no figure.
    """
    edits, files = Edits(), dict[str, bytes]()
    taught = {lesson.name: lesson for lesson in lessons}
    try:
        for number, exercise in enumerate(exercises, 1):
            figure, place = await _figure(edits, exercise), f"exercises/{exercise.name}"
            files |= {} if figure is None else figure_files(figure, place)
            context: dict[str, Any] = {
                "exercise": exercise,
                "number": number,
                "count": len(exercises),
                "drawn": figure is not None,
            }
            page = site_page("exercise", "../../", bool(lessons), lesson=taught.get(exercise.lesson), **context)
            files[f"{place}/index.html"] = page
    finally:
        await edits.close()
    if exercises:
        files["exercises/index.html"] = site_page("exercises", "../", bool(lessons), exercises=exercises)
    return files


async def _figure(edits: Edits, exercise: Exercise) -> Figure | None:
    """The figure of the code that an exercise begins with; None for a test that is to be written."""
    if exercise.goal.kind == "check":
        return None
    words = parse_query(exercise.goal.asks[0])
    try:
        async with edits.engine(graded_text(exercise.start, exercise.goal), "") as engine:
            await engine.wait_ready()
            op, device = (
                await engine.op(next(iter(await engine.catalogue())), words.get("recipe", "")),
                await engine.device(),
            )
            address = usual_sliders(op, read_address(op, device, words))
            return await measured_figure(engine.answer, op, device, address)
    except (BadQuestion, EngineBroken, EngineFault, Unsolved):
        return None
