"""What a teacher may write in the file of an exercise, and what is read from the text of an edit."""

import pytest
from support.edits import edited

from gradloupe.server.exercises.exercise import (
    BadExercise,
    all_exercises,
    line_to_mend,
    read_exercise,
    unused_saved_line,
)

TASK = "word " * 30
PLAIN = {"title": '"A"', "goal": '"matches"', "task": f'"{TASK}"', "start": '"a"', "solution": '"b"'}


def written(**changes: str) -> str:
    return "\n".join(f"{key} = {value}" for key, value in (PLAIN | changes).items() if value)


def test_there_are_ten_in_order_each_with_code_that_python_can_read() -> None:
    exercises = all_exercises()
    assert [exercise.number for exercise in exercises.values()] == [*range(1, 11)]
    for exercise in exercises.values():
        compile(exercise.start + exercise.solution + exercise.goal.appended, exercise.name, "exec")


def test_a_file_needs_five_keys_and_takes_more() -> None:
    exercise = read_exercise("01_a.toml", written(asks='["order=2"]', hints='["look"]'))
    assert (exercise.name, exercise.goal.asks, exercise.hints) == ("a", ("order=2",), ("look",))
    assert read_exercise("01_a.toml", written()).goal.asks == ("",)


@pytest.mark.parametrize(
    ("file", "content", "words"),
    [
        ("a.toml", written(), "its number and its name"),
        ("01_a.toml", "title", "01_a.toml, line 1: Expected"),
        ("01_a.toml", written(start=""), "lacks start"),
        ("01_a.toml", written(task='"short"'), "task has 1 words"),
        ("01_a.toml", written(goal='"match"'), "goal must be of matches, surrogate and check"),
        ("01_a.toml", written(clean='["GRADIENT"]'), "clean must be of SAVED-UNUSED"),
        ("01_a.toml", written(asks='"order=2"'), "asks is not a list of texts"),
        ("01_a.toml", written(hint='"look"'), "hint is no key"),
        ("01_a.toml", written(goal='"check"'), "catches and spares"),
    ],
)
def test_a_file_that_cannot_be_one_is_told_why(file: str, content: str, words: str) -> None:
    with pytest.raises(BadExercise, match=words):
        read_exercise(file, content)


SAVES = "ctx.save_for_backward(a, b)\n        return a * b"


@pytest.mark.parametrize(
    ("unpacked", "unused"),
    [
        ("a, b = ctx.saved_tensors\n        return a * b", False),
        ("a, b = ctx.saved_tensors\n        return a", True),
        ("a, _ = ctx.saved_tensors\n        return a", True),
        ("return ctx.saved_tensors[0]", False),
        ("saved = ctx.saved_tensors\n        return saved[0]", False),
        ("(a, *rest) = ctx.saved_tensors\n        return a", True),
        ("return grad_output", True),
    ],
)
def test_a_tensor_is_saved_for_nothing_where_its_name_is_never_read(unpacked: str, unused: bool) -> None:
    forward = f"    def forward(ctx, a, b):\n        {SAVES}"
    backward = f"    def backward(ctx, g):\n        {unpacked}"
    assert unused_saved_line(f"class A:\n{forward}\n{backward}\n") == (3 if unused else None)


@pytest.mark.parametrize(
    ("text", "note", "line"),
    [
        (edited(), "mask-forgotten", 16),
        (edited(backward="grad_output *= 2\n        return grad_output, None"), "in-place", 16),
        (edited(), "no-history", 10),
        ("class A(", "mask-forgotten", None),
        ("", "in-place", None),
    ],
)
def test_a_hint_points_at_the_line_to_mend(text: str, note: str, line: int | None) -> None:
    assert line_to_mend(text, note) == line
