"""What stands around the panels: the words of the axes, and the samples of what is drawn. As in static/legend.js."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

USUAL = frozenset({"forward", "analytical", "numerical"})
UNSEEN, NOTHING = 1e-3, 1e-9
RIGHT = ("matches", "matches here")


@dataclass(frozen=True)
class Legend:
    """``upper`` and ``lower`` measure the panels, ``curves`` are in the picture; the others word two of them."""

    upper: str
    lower: str
    curves: frozenset[str] = USUAL
    bends: str = "kink"
    differing: str = "they differ"


def legend(answer: dict[str, Any] | None, question: dict[str, Any]) -> Legend:
    """For a document of curves; as one expects it to be while there is None."""
    of, wrt = question["of"], question["wrt"]
    word = "" if answer is None else answer["verdict"]["word"]
    swept = f"{'sensitivity to' if word == 'no gradient' else 'grad of'} {wrt}"
    upper = f"{of} and {swept}" if question["layout"] == "overlaid" else of
    if answer is None:
        return Legend(upper, swept)
    marks = [mark["kind"] for mark in answer["marks"]]
    bends = ", ".join(kind for kind in ("kink", "cusp") if kind in marks)
    differing = "differ" if word == "differs" else "differ by design"
    return Legend(upper, swept, _curves(answer, marks), bends or "kink", differing)


def _curves(answer: dict[str, Any], marks: list[str]) -> frozenset[str]:
    columns = answer["columns"]
    there = {
        "forward": True,
        "implied": _implied(answer),
        "surrogate": columns["surrogate"] is not None,
        "analytical": columns["analytical"] is not None,
        "numerical": columns["numerical"] is not None,
        "surrogate slope": columns["surrogate_numerical"] is not None,
        "disagreement": bool(answer["verdict"]["intervals"]),
        "kinks": "kink" in marks or "cusp" in marks,
        "closed ends": "jump" in marks,
    }
    return frozenset(name for name, drawn in there.items() if drawn)


def _implied(answer: dict[str, Any]) -> bool:
    """Whether there is a column that forward would be if backward were its derivative, and an eye can tell the two."""
    forward, suggested = answer["columns"]["forward"], answer["columns"]["implied"]
    values = [value for value in forward if value is not None]
    if answer["verdict"]["word"] in RIGHT or not suggested or not values:
        return False
    low, high = min(values), max(values)
    seen = max(UNSEEN * (high - low), NOTHING * max(abs(low), abs(high)))
    pairs = zip(suggested, forward, strict=True)
    return any(value is not None and not abs(value - (real or 0.0)) <= seen for value, real in pairs)
