"""Axis titles and the wording of the legend. As in js/figure/legend.js."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from ..documents.nouns import Nouns, nouns
from .drawn_section import visible_implied

_USUAL = frozenset({"forward", "analytical", "numerical"})


@dataclass(frozen=True)
class Legend:
    """``upper`` and ``lower`` are the axis titles, ``curves`` the layers drawn; the others word two of them."""

    upper: str
    lower: str
    nouns: Nouns
    curves: frozenset[str] = _USUAL
    bends: str = "kink"
    differing: str = "they differ"


def legend(answer: dict[str, Any] | None, question: dict[str, Any]) -> Legend:
    """The legend of a document of curves; the usual one while there is no answer yet."""
    said, wrt = nouns(question), question["wrt"]
    word = "" if answer is None else answer["verdict"]["word"]
    upper, lower = axis_words(said, wrt, word, question["layout"] == "overlaid")
    if answer is None:
        return Legend(upper, lower, said)
    marks = [mark["kind"] for mark in answer["marks"]]
    return Legend(upper, lower, said, _curves(answer, marks), bend_words(marks) or "kink", stripe_label(word))


def axis_words(said: Nouns, wrt: str, word: str, overlaid: bool) -> tuple[str, str]:
    """The titles of the upper and the lower axis; ``word`` is that of the verdict."""
    first = said.forward == "forward"
    swept = f"sensitivity to {wrt}" if first and word == "no gradient" else said.slope
    return f"{said.of} and {swept}" if overlaid else said.of, swept


def bend_words(marks: Iterable[str]) -> str:
    """The kinds of ``marks`` at which the slope jumps, as words; empty where there is none."""
    there = set(marks)
    return ", ".join(kind for kind in ("kink", "cusp") if kind in there)


def stripe_label(word: str) -> str:
    """The label of the stripes, where the slopes differ, by the ``word`` of the verdict."""
    return "differ" if word == "differs" else "differ by design"


def _curves(answer: dict[str, Any], marks: list[str]) -> frozenset[str]:
    columns = answer["columns"]
    there = {
        "forward": True,
        "implied": visible_implied(answer["verdict"]["word"], columns) is not None,
        "surrogate": columns["surrogate"] is not None,
        "analytical": columns["analytical"] is not None,
        "numerical": columns["numerical"] is not None,
        "surrogate slope": columns["surrogate_numerical"] is not None,
        "disagreement": bool(answer["verdict"]["intervals"]),
        "kinks": "kink" in marks or "cusp" in marks,
        "closed ends": "jump" in marks,
    }
    return frozenset(name for name, drawn in there.items() if drawn)
