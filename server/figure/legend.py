"""Axis titles and the wording of the legend."""

from collections.abc import Iterable
from dataclasses import dataclass

from ..documents.typography import nouns
from ..schema.section import Nouns, TermsRecord
from ..schema.verdict_words import FAILING_WORDS, VERDICTS
from .drawn_section import DrawnSection

_USUAL = frozenset({"forward", "analytical", "numerical"})


class ShownQuestion(TermsRecord):
    """A question, and the layout of its figure."""

    layout: str


@dataclass(frozen=True)
class Legend:
    """``upper`` and ``lower`` are the axis titles, ``curves`` the layers drawn; the others word two of them."""

    upper: str
    lower: str
    nouns: Nouns
    curves: frozenset[str] = _USUAL
    bends: str = "kink"
    differing: str = "they differ"


def legend(section: DrawnSection | None, question: ShownQuestion) -> Legend:
    """The legend of a section; the usual one while there is none yet."""
    said, wrt, overlaid = nouns(question), question["wrt"], question["layout"] == "overlaid"
    if section is None:
        return Legend(*axis_words(said, wrt, "", overlaid), said)
    upper, lower = axis_words(said, wrt, section.word, overlaid)
    bends = bend_words(mark.kind for mark in section.marks) or "kink"
    return Legend(upper, lower, said, legend_curves(section), bends, stripe_label(section.word))


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
    return VERDICTS["differs" if word in FAILING_WORDS else "matches its surrogate"].name


def legend_curves(section: DrawnSection) -> frozenset[str]:
    """The names of what is drawn of a section and explained in a legend."""
    there = {
        "forward": True,
        "implied": section.visible_implied is not None,
        "surrogate": "surrogate" in section.columns,
        "analytical": "analytical" in section.columns,
        "numerical": "numerical" in section.columns,
        "surrogate slope": "surrogate_numerical" in section.columns,
        "disagreement": bool(section.intervals),
        "kinks": any(mark.bent for mark in section.marks),
        "seen": bool(section.seen),
        "closed ends": any(mark.kind == "jump" for mark in section.marks),
    }
    return frozenset(name for name, drawn in there.items() if drawn)
