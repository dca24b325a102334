"""What is said of a question whose worker did not survive it: a result like any other, without curves."""

from __future__ import annotations

from typing import Any

from .blank import blank
from .frames import Frame
from .header import header
from .question import Question


class Lost(Exception):
    """The worker has ended before it answered; ``late`` says that we ended it, because the deadline had passed."""

    def __init__(self, ended: str, late: bool = False) -> None:
        super().__init__(ended)
        self.late = late


def explained(lost: Lost, question: Question, op: dict[str, Any], device: dict[str, Any]) -> Frame:
    """The header of an answer that says how the worker ended; no columns."""
    if lost.late:
        kind, said = "Timeout", f"{lost} from {question.op}, so its worker process was ended; a new one is starting."
    else:
        kind = str(lost).rpartition(", ")[2]
        said = f"The worker process ended ({lost}) while it computed {question.op}; a new one is starting."
    sentence = said[0].upper() + said[1:]
    kinds = {each["kind"]: each["name"] for each in device["devices"]}
    place = device["auto"] if question.device == "auto" else question.device
    shared = header(question, op["title"], op["claim"], {"kind": place, "name": kinds[place]})
    failure = {"phase": "worker", "kind": kind, "message": sentence, "line": None, "sentence": sentence}
    return Frame(shared | blank(sentence, failure, question.view))
