"""The members that the header of every answer has, and the empty answer of each view for one that failed."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from .question import Question

# Fields of a question of which each view reports the values that were used in the end.
_OF_VIEWS = ("step", "atol", "rtol", "at", "compile", "lr", "steps", "goal", "wrt2", "start2", "stop2")
_VERDICT: dict[str, Any] = {
    "word": "failed",
    "explanation": None,
    "intervals": [],
    "worst": None,
    "remark": None,
    "judged": 0,
    "undecided": 0,
}
_LINEARITY: dict[str, Any] = {"holds": None, "findings": []}
_DESCENT = ("lr", "steps", "at", "returned", "true", "landscape")
_BLANK: dict[str, dict[str, Any]] = {
    "curves": {
        "numerical": None,
        "tolerance": None,
        "structure": None,
        "linearity": _LINEARITY,
        "wide": None,
        "area": None,
        "statuses": [],
        "gaps": {},
        "marks": [],
        "gradgradcheck": None,
    },
    "area": {"statuses": [], "intervals": []},
    "map": {"shape": [0, 0], "findings": []},
    "precision": {"rows": [], "complex": None},
    "wide": {"statuses": [], "reach": None, "finite": None, "intervals": []},
    "step": {
        **dict.fromkeys(("kind", "best", "analytical", "left", "right", "central_order", "rounding", "least")),
        "taylor_order": None,
        "chosen": [],
    },
    "jacobian": {
        **dict.fromkeys(("at", "rows", "across", "tensors", "worst", "elsewhere", "influence")),
        **{"pattern": "", "together": False, "statuses": [], "differs": 0, "designed": False},
    },
    "surface": {
        **dict.fromkeys(("structure", "potential")),
        **{"shape": [0, 0], "places": [None, None], "statuses": [], "differs": 0, "pairs": []},
        **{"ridges": {"x": [], "y": [], "jump": []}},
    },
    "contract": {"checks": [], "badges": [], "raw": [], "tried": ""},
    "node": {"vertices": [], "edges": [], "more": False, "functions": []},
    "descent": dict.fromkeys(_DESCENT) | {"shape": [], "goal": [], "random": False, "bent": False},
}


def empty_answer(sentence: str, failure: dict[str, Any] | None, view: str = "curves") -> dict[str, Any]:
    """The members of a view without any results: the sentence why, the failure; curves get the verdict ``failed``."""
    summary = {"verdict": _VERDICT | {"sentence": sentence}} if view == "curves" else {"sentence": sentence}
    return _BLANK[view] | summary | {"failure": failure}


def common_header(
    question: Question, title: str, claim: str, device: dict[str, Any], notes: list[str] | None = None
) -> dict[str, Any]:
    """The question as plain data, with title and claim of the op; ``device`` has kind and name of the one used."""
    header = asdict(question)
    for name in _OF_VIEWS:
        del header[name]
    if question.view in ("step", "node"):
        header["at"] = question.place
    if question.view == "surface":
        wrt2 = None if question.wrt2 is None else str(question.wrt2)
        header |= {"wrt2": wrt2, "start2": question.start2, "stop2": question.stop2}
    return header | {
        "title": title,
        "claim": claim,
        "wrt": str(question.wrt),
        "of": str(question.of),
        "device": device,
        "notes": notes or [],
    }
