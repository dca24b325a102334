"""The page of an exercise: its task and its code, before anything is answered."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..exercises.exercise import Exercise, all_exercises
from ..url.parse import parse_query
from .lessons import all_lessons
from .play_page import unanswered
from .social_tags import plain_tags


def lesson_exercises(lesson: str) -> list[Exercise]:
    """The exercises that belong to the lesson of this name."""
    return [exercise for exercise in all_exercises().values() if exercise.lesson == lesson]


def exercise_context(exercises: Sequence[Exercise], number: int, base: str, indexed: bool) -> dict[str, Any]:
    """The context of the page of the exercise of this number, among all of them.

    ``asked`` are the words of the query that it begins with, which its form does not have before the first answer.
    """
    before, (exercise, *after) = exercises[: number - 1], exercises[number - 1 :]
    text, query = " ".join(exercise.task.replace("`", "").split()), exercise.goal.asks[0]
    return {
        **unanswered(),
        "social": plain_tags(f"{base}/exercises/{exercise.name}", exercise.title, text, indexed),
        "exercise": exercise,
        "lesson": next((lesson for lesson in all_lessons() if lesson.name == exercise.lesson), None),
        "count": len(exercises),
        "previous": before[-1:],
        "next": after[:1],
        "search": f"?{query}" if query else "",
        "asked": [(name, "") for name in parse_query(query)],
    }
