"""The words of a verdict: how people read each, what it says of backward, what it does to a check, and its mark."""

from dataclasses import dataclass
from typing import Literal

Strokes = tuple[tuple[str, str], ...]  # of each line its role, and its path in a square of 16
DESIGNED = "by design"  # said of a difference that is declared, and of no other
_UPPER, _LOWER = "M2.5 5.5H13.5", "M2.5 10.5H13.5"
_CROSS: Strokes = (("disagreement", "M3 3 13 13M13 3 3 13"),)
_QUERY: Strokes = (("muted", "M5 5.6C5 1.8 11 1.8 11 5.2 11 7.6 8 7.4 8 10M8 13.2V13.3"),)
_ABSENT: Strokes = (("rule", _UPPER), ("numerical", _LOWER))


@dataclass(frozen=True)
class VerdictMeaning:
    """``name`` stands where people read, and ``follows`` is what backward is the derivative of, as far as is drawn.

    ``fails`` says that it fails a check, ``forgivable`` that --allow forgives that, and ``judged`` that anything was.
    """

    name: str
    mark: Strokes
    follows: Literal["forward", "surrogate", ""] = ""
    tone: Literal["good", "bad", "doubtful", "plain"] = "plain"
    fails: bool = False
    forgivable: bool = False
    judged: bool = True


# The gravest first. The blue line of a mark is what backward says, the orange one what differences of forward say, and
# the green one what the surrogate would.
VERDICTS: dict[str, VerdictMeaning] = {
    "differs": VerdictMeaning(
        "differs",
        (("analytical", _UPPER), ("numerical", _LOWER), ("disagreement", "M4.5 15 11.5 1")),
        tone="bad",
        fails=True,
        forgivable=True,
    ),
    "failed": VerdictMeaning("failed", _CROSS, tone="bad", fails=True),
    "lost": VerdictMeaning("lost", _CROSS, tone="bad", fails=True, judged=False),
    "unsolved": VerdictMeaning("unsolved", _QUERY, tone="bad", fails=True, judged=False),
    "undecided": VerdictMeaning("undecided", _QUERY, tone="doubtful", fails=True, forgivable=True),
    "no gradient": VerdictMeaning("no gradient", _ABSENT),
    "unsupported": VerdictMeaning("unsupported", _ABSENT),
    "matches here": VerdictMeaning(
        "matches here",
        (
            *(("analytical", "M2.5 5.5H8"), ("numerical", "M2.5 10.5H8")),
            *(("analytical", "M11 5.5h.01M14.5 5.5h.01"), ("numerical", "M11 10.5h.01M14.5 10.5h.01")),
        ),
        follows="forward",
    ),
    "matches its surrogate": VerdictMeaning(
        f"differs {DESIGNED}",
        (("analytical", _UPPER), ("surrogate", "M2.5 10.5h.01M6.1 10.5h.01M9.7 10.5h.01M13.3 10.5h.01")),
        follows="surrogate",
        tone="good",
    ),
    "matches": VerdictMeaning("matches", (("analytical", _UPPER), ("numerical", _LOWER)), "forward", tone="good"),
}
FORWARD_WORDS = tuple(word for word, each in VERDICTS.items() if each.follows == "forward")
FAILING_WORDS = tuple(word for word, each in VERDICTS.items() if each.fails)  # the gravest first
_MATCHES, _BROKEN = "matches", "broken"  # a word, and a claim


def verdict_name(word: str, claim: str = "") -> str:
    """What people read for the ``word`` of an op that claims this: a bug that no curve shows is no match."""
    if (word, claim) == (_MATCHES, _BROKEN):
        return "curves match"
    return VERDICTS[word].name if word in VERDICTS else word


def verdict_mark(word: str, claim: str = "") -> str:
    """The name of its mark."""
    return _BROKEN if claim == _BROKEN and word.startswith(_MATCHES) else word.replace(" ", "-")


# By name, also that of a bug that no curve shows, and those of what is to come.
MARKS: dict[str, Strokes] = {verdict_mark(word): meaning.mark for word, meaning in VERDICTS.items()} | {
    _BROKEN: (
        *(("analytical", "M2 5.5H9.5"), ("numerical", "M2 10.5H9.5")),
        ("disagreement", "M13.3 2.5V9.5M13.3 13.4V13.5"),
    ),
    "not-called-yet": (("rule", f"{_UPPER}{_LOWER}"),),
    "measuring": (("muted", "M3 8V8.1M8 8V8.1M13 8V8.1"),),
}
