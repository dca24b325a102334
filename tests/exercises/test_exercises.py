"""The exercises: the start of each is wrong and its solution right, and wrong tries are told by their answer notes."""

import asyncio
from collections.abc import Sequence

import pytest
from support import event_loop
from support.exercise_tries import TRIES

from gradloupe.server.exercises.exercise import Exercise, all_exercises
from gradloupe.server.exercises.grade import Grade, Grader
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


def graded(exercise: Exercise, texts: Sequence[str]) -> list[Grade]:
    """The grades of some texts, run in the sandbox."""

    async def asked() -> list[Grade]:
        edits = Edits(EditLimits(deadline=120.0))
        try:
            grader = Grader(edits)
            return [await grader.grade(text, exercise.goal, "") for text in texts]
        finally:
            await edits.close()
            await asyncio.sleep(0)

    return event_loop.run(asked())


def changed(text: str, old: str, new: str) -> str:
    assert old in text
    return text.replace(old, new)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name in PUSHED else [pytest.mark.nightly]) for name in STARTS]
)
def test_an_exercise_tells_its_start_its_solution_and_wrong_tries_apart(name: str) -> None:
    exercise = all_exercises()[name]
    tries = {note: changed(exercise.solution, old, new) for old, new, note in TRIES[name]}
    told = graded(exercise, [exercise.start, exercise.solution, *tries.values()])
    assert [grade.note for grade in told] == [STARTS[name], "solved", *tries]


def test_a_constant_in_place_of_a_parameter_solves_nothing_and_the_value_that_shows_it_is_named() -> None:
    exercise = all_exercises()["mask"]
    grade = graded(exercise, [changed(exercise.solution, "x < ctx.clip", "x < 2.0")])[0]
    where, line = grade.hints
    assert where.says.startswith("Set clip to 1. Differs where 1 < x < 2: ")
    assert line.says.startswith("Line 14: ")
