"""Pages with the editor, free and of an exercise: the text they start with, and what stands there at first."""

import ast
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..exercises.exercise import Exercise
from ..figure.legend import legend
from ..paths import ROOT, working_directory
from ..schema.op import OpStub
from ..url.parse import parse_query
from .course import Course
from .social_tags import plain_tags

SKELETON = '''\
import torch


class MyFunction(torch.autograd.Function):
    """What it computes, in a sentence."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * 3 * x**2
'''
_CLAIMS = ("broken", "check")
_OF_THE_GALLERY = re.compile(r"^from \.op import ", re.M)


def source_text(op: OpStub) -> str:
    """The text of the file that defines an op, such that it runs anywhere; of none that can be read its class alone."""
    file = Path(working_directory() if op["own"] else ROOT, op["file"])
    try:
        text = file.read_text(encoding="utf-8") if file.suffix == ".py" else ""
    except (OSError, ValueError):
        text = ""
    if not text:
        return f"import torch\n\n\n{op['source'].strip()}\n"
    return text if op["own"] else _OF_THE_GALLERY.sub("from gradloupe.ops import ", _without_claims(text))


def _without_claims(text: str) -> str:
    """The text of an op of the gallery without what it says of its bug: that is not so any more once it is edited."""
    lines = text.splitlines(keepends=True)
    keywords = [word for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call) for word in node.keywords]
    for keyword in sorted(keywords, key=lambda keyword: -keyword.lineno):
        if keyword.arg in _CLAIMS:
            del lines[keyword.lineno - 1 : keyword.value.end_lineno]
    return "".join(lines)


def name_in_text(op: OpStub) -> str:
    """What an op of the visitor's own is called in its text; "" for the first Function."""
    return op["name"].rpartition(".")[2] if op["own"] else ""


def unanswered() -> dict[str, Any]:
    """The context of a page for a Function of which nothing is known yet."""
    question: Any = {"order": 1, "wrt": "x", "of": "y", "grad_output": 1.0, "start": -1, "stop": 1, "layout": "stacked"}
    return {
        "op": {"name": "edit", "title": "A Function of your own", "claim": "exact", "own": False},
        "question": question,
        "values": {"layout": "stacked", "height": ""},
        "around": legend(None, question),
        **{"hide": (), "theme": "auto", "answer": None, "elsewhere": None, "packed": "", "still": "", "figure": ""},
    }


@dataclass(frozen=True)
class FrameDress:
    """What a frame leaves out of an exercise, its theme, and its height in pixels where it is given one."""

    hide: tuple[str, ...] = ()
    theme: str = "auto"
    height: int | None = None


def exercise_context(
    exercise: Exercise, course: Course, base: str, indexed: bool, dress: FrameDress | None
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
