"""Questions about ops of the gallery, answered in this process."""

from __future__ import annotations

from typing import Any

from gradloupe.ops import OPS
from gradloupe.server.protocol.answer import asked_record
from gradloupe.server.protocol.question import Question
from gradloupe.server.views.common import ColumnArrays
from gradloupe.server.worker import answer as door


def asked(question: Question) -> Any:
    """What the header of an answer repeats of a question."""
    return asked_record(question, "", "exact", {"kind": "cpu", "name": ""})


def answer(question: Question) -> tuple[Any, ColumnArrays]:
    """What the worker of the gallery answers."""
    return door.answer_question(question, OPS[question.op])
