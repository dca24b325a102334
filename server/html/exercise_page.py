"""The page of an exercise: its task and its code, before anything is answered."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..exercises.exercise import Exercise
from ..url.parse import parse_query
from .course import Course
from .play_page import unanswered
from .social_tags import plain_tags


@dataclass(frozen=True)
class FrameDress:
    """What a frame leaves out of an exercise, its theme, and its height in pixels where it is given one."""

    hide: tuple[str, ...] = ()
    theme: str = "auto"
    height: int | None = None


def exercise_context(
    exercise: Exercise, course: Course, base: str, indexed: bool, dress: FrameDress | None = None
) -> dict[str, Any]:
    """The context of the page of an exercise of ``course``, or with a ``dress`` that of its frame on another page.

    ``asked`` are the words of the query that it begins with, which its form does not have before the first answer.
    """
    others = course.beside(exercise) if exercise.name else []
    before, after = others[: exercise.number - 1], others[exercise.number :]
    text, query = " ".join(exercise.task.replace("`", "").split()), exercise.goal.asks[0]
    address, blank = f"{base}/exercises/{exercise.name}", unanswered()
    if dress is not None:
        blank |= {"hide": dress.hide, "theme": dress.theme, "values": {**blank["values"], "height": dress.height or ""}}
    return blank | {
        "social": plain_tags(address, exercise.title, text, indexed and dress is None),
        "exercise": exercise,
        "framed": dress is not None,
        "lesson": next((lesson for lesson in course.lessons if lesson.name == exercise.lesson), None),
        "course": course.digest if exercise.own else "",
        "count": len(others),
        "previous": before[-1:],
        "next": after[:1],
        "search": f"?{query}" if query else "",
        "asked": [(name, "") for name in parse_query(query)],
    }
