"""The grade of an edit: whether it reaches a goal by what the judge has answered, and the note of what it lacks."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any, NamedTuple

from ..schema.answer_notes import SOLVED, note_of
from .exercise import GOALS, READINGS, Goal, line_to_mend

Document = dict[str, Any]  # an answer with its columns as lists
_Column = list[float]
_RTOL = 1e-9  # bound: forwards that differ by less, as a share of the largest value, are the same but for rounding
TRIED = "Tried"  # the Function that is left when a check has rejected all others
# What is right, and not what is asked for: the answer note, and what the goal is.
_OTHERWISE = {
    "matches": ("no-surrogate", "backward is the derivative of forward; the goal is that of the surrogate instead."),
    "matches its surrogate": ("surrogate", "backward is the derivative of a surrogate; the goal is that of forward."),
}
_FORWARD_CHANGED = "forward does not return what it did: only backward is to be mended."
_HARNESS = f"""

from torch.autograd.gradcheck import GradcheckError


class {TRIED}(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output


def _passes(function):
    try:
        return check(function) is not False
    except (AssertionError, GradcheckError):
        return False


for _name in {{names}}:
    if not _passes(globals()[_name]):
        del globals()[_name]
"""


class Hint(NamedTuple):
    """What somebody may ask who is stuck, and the sentence that answers it."""

    asks: str
    says: str


@dataclass(frozen=True)
class Grade:
    """Whether a goal is reached; the answer ``note``, ``solved`` where it is; and what helps, from hint to hint."""

    solved: bool
    note: str
    hints: tuple[Hint, ...] = ()


def graded_text(text: str, goal: Goal) -> str:
    """The text that is run to grade an edit: the edit, and behind it what the goal appends."""
    harness = _HARNESS.format(names=sorted((*goal.catches, *goal.spares))) if goal.kind == "check" else ""
    return f"{text}\n\n{goal.appended}{harness}" if goal.appended or harness else text


def grade_answers(text: str, goal: Goal, answers: Sequence[Document], models: Sequence[Document]) -> Grade:
    """The grade by the documents of the edit and of the model, one for each query of the goal.

    The first that is wrong gives the note. ``answers`` may end at it.
    """
    for answer, model in zip(answers, models, strict=False):
        if not answer["failure"] and not same_forward(answer, model):
            return Grade(False, "forward-changed", (Hint("Where?", _FORWARD_CHANGED),))
        verdict = answer["verdict"]
        note = verdict["note"]
        if note == SOLVED and verdict["word"] != GOALS[goal.kind]:
            note, says = _OTHERWISE[verdict["word"]]
            return Grade(False, note, (Hint("Where?", says), *line_hint(text, line_to_mend(text, note))))
        if note != SOLVED:
            return Grade(False, note, _hints(text, note, answer))
    for check in goal.clean:
        if line := READINGS[check](text):
            note = note_of(check)
            return Grade(False, note, (Hint("Where?", "In no curve: it is in what is kept."), *line_hint(text, line)))
    return Grade(True, SOLVED)


def grade_check(goal: Goal, left: Collection[str]) -> Grade:
    """The grade of a check that a reader has written, by the names of the Functions that it has ``left``."""
    missed = [name for name in goal.catches if name in left]
    accused = [name for name in goal.spares if name not in left]
    caught = f"It catches {len(goal.catches) - len(missed)} of {len(goal.catches)} wrong backwards"
    if accused:
        return Grade(False, "right-accused", (Hint("Where?", f"{caught}, and rejects a right one."),))
    if missed:
        note = goal.catches[missed[0]]
        kind = f"One that it lets through is of the kind “{note}”."
        return Grade(False, f"misses-{note}", (Hint("Where?", f"{caught}."), Hint("What kind?", kind)))
    return Grade(True, SOLVED)


def same_forward(answer: Document, model: Document) -> bool:
    """Whether two documents agree in forward, and in a surrogate that is declared, wherever both have looked.

    Of a second derivative they say nothing: its forward is what backward returned.
    """
    if model["order"] != 1:
        return True
    one, other = answer["columns"], model["columns"]
    rows = {x: row for row, x in enumerate(one["x"])}
    pairs = [(rows[x], row) for row, x in enumerate(other["x"]) if x in rows]
    return len(pairs) >= model["count"] // 2 and all(
        _same_column(one[name], other[name], pairs) for name in ("forward", "surrogate")
    )


def _same_column(one: _Column | None, other: _Column | None, pairs: Sequence[tuple[int, int]]) -> bool:
    if one is None or other is None:
        return one is other
    numbers = [(_finite(one[mine]), _finite(other[theirs])) for mine, theirs in pairs]
    bound = _RTOL * max((abs(second) for _, second in numbers if second is not None), default=0.0)
    return all(
        first is second if first is None or second is None else abs(first - second) <= bound
        for first, second in numbers
    )


def _finite(value: float) -> float | None:
    return value if isfinite(value) else None


def _hints(text: str, note: str, answer: Document) -> tuple[Hint, ...]:
    """Where it is wrong, of what kind that is, and in which line."""
    verdict, failure = answer["verdict"], answer["failure"]
    story = failure or verdict["explanation"] or {"sentence": ""}
    pairs = (Hint("Where?", verdict["headline"]), Hint("What kind?", story["sentence"]))
    return tuple(hint for hint in pairs if hint.says) + line_hint(text, line_to_mend(text, note))


def line_hint(text: str, line: int | None) -> tuple[Hint, ...]:
    """Which line it is, as it stands there."""
    lines = text.splitlines()
    if not line or line > len(lines):
        return ()
    return (Hint("Which line?", f"Line {line}: `{lines[line - 1].strip()}`"),)
