"""Questions about ops of the gallery, answered in this process."""

from __future__ import annotations

from typing import Any

from gradloupe.ops import OPS
from gradloupe.server.protocol.question import Question
from gradloupe.server.views.common import ColumnArrays
from gradloupe.server.worker import answer as door


def answer(question: Question) -> tuple[dict[str, Any], ColumnArrays]:
    """What the worker of the gallery answers."""
    return door.answer_question(question, OPS[question.op])
