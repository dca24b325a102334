"""The exercises: the start of each is wrong and its solution right, and wrong tries are told by their answer notes."""

import asyncio
from collections.abc import Sequence

import pytest
from support import event_loop
from support.exercise_tries import TRIES

from gradloupe.server.exercises.exercise import Exercise, all_exercises
from gradloupe.server.exercises.grade import Grader
from gradloupe.server.supervisor.edits import EditLimits, Edits

STARTS = {
    "mask": "mask-forgotten",
    "factor": "factor-constant",
    "sign": "sign-of-grad_output",
    "sum": "sum-missing",
    "straight_through": "no-surrogate",
    "needs_input_grad": "blocked",
    "in_place": "in-place",
    "saved": "saved-for-nothing",
    "second_derivative": "no-history",
    "write_the_test": "misses-mask-leaks",
}
PUSHED = ("mask", "write_the_test")


def notes(exercise: Exercise, texts: Sequence[str]) -> list[str]:
    """The answer notes of some texts, run in the sandbox."""

    async def graded() -> list[str]:
        edits = Edits(EditLimits(deadline=120.0))
        try:
            grader = Grader(edits)
            return [(await grader.grade(text, exercise.goal, "")).note for text in texts]
        finally:
            await edits.close()
            await asyncio.sleep(0)

    return event_loop.run(graded())


def changed(text: str, old: str, new: str) -> str:
    assert old in text
    return text.replace(old, new)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name in PUSHED else [pytest.mark.nightly]) for name in STARTS]
)
def test_an_exercise_tells_its_start_its_solution_and_wrong_tries_apart(name: str) -> None:
    exercise = all_exercises()[name]
    tries = {note: changed(exercise.solution, old, new) for old, new, note in TRIES[name]}
    told = notes(exercise, [exercise.start, exercise.solution, *tries.values()])
    assert told == [STARTS[name], "solved", *tries]
