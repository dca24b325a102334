"""The part of a header that every view has: what was asked, of which op, on which device."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from .question import Question


def header(
    question: Question, title: str, claim: str, device: dict[str, Any], notes: list[str] | None = None
) -> dict[str, Any]:
    """What was asked, as plain data; ``device`` is the kind and the name of the one that was used."""
    asked = asdict(question)
    for chosen in (
        "step",
        "atol",
        "rtol",
        "at",
        "compile",
        "lr",
        "steps",
        "goal",
        "wrt2",
        "start2",
        "stop2",
    ):  # what the numerics made of them stands in the views
        del asked[chosen]
    if question.view in ("step", "node"):
        asked["at"] = question.place
    if question.view == "surface":
        wrt2 = None if question.wrt2 is None else str(question.wrt2)
        asked |= {"wrt2": wrt2, "start2": question.start2, "stop2": question.stop2}
    return asked | {
        "title": title,
        "claim": claim,
        "wrt": str(question.wrt),
        "of": str(question.of),
        "device": device,
        "notes": notes or [],
    }
