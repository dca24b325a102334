"""What a result rests on: the sections that were swept, the findings of the X-ray, and which of them decides."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from ..schema.verdict_words import FAILING_WORDS, VERDICTS
from ..schema.views import WRONG_GRADIENT_IDS

# Words of what could not be judged at all.
UNJUDGED_WORDS = tuple(word for word, each in VERDICTS.items() if not each.judged)
# Words of a verdict that --allow forgives.
FORGIVABLE_WORDS = tuple(word for word, each in VERDICTS.items() if each.forgivable)
VERDICT_ID = "GRADIENT"  # the id of the verdict, and of the check of the X-ray that asks the same
# Those of warnings that are of no check: a default that was left, a difference that is a remark, a likelier call in
# which backward raises, a section for which there was little time.
DEFAULT_ID, REMARK_ID, PASSED_OVER_ID, HURRIED_ID = WARNING_IDS = ("default", "remark", "backward", "few points")
LOST_ID = "NOT-LOOKED-AT"  # the id of what the X-ray could not look at
# Errors of the X-ray that it waives itself where an Op declares a surrogate.
DIFFERENCE_IDS = frozenset((VERDICT_ID, "SECOND-ORDER", "NONLINEAR", "SWAPPED", "GRAD-NONE", "OUTPUT-GRAD-IGNORED"))
# Those that say nothing of a step in which no number gets a wrong gradient.
UNTOUCHED_IDS = DIFFERENCE_IDS | {"OTHER-CALLS"}
# Words of a verdict that errors override by which a gradient is wrong.
OVERRULED_WORDS = (*(word for word, each in VERDICTS.items() if each.follows), "undecided")
GRAVE_LEVELS = ("error", "warning")


@dataclass(frozen=True)
class WorstPoint:
    """The point where analytical and numerical derivative differ most, and the error bound of the latter.

    ``off`` is how far apart they are, ``share`` that as a part of the slope there; None where that is 0 or unknown.
    """

    x: float
    analytical: float | None
    numerical: float | None
    error: float | None
    off: float | None = None
    share: float | None = None


@dataclass(frozen=True)
class SmallDifference:
    """The largest difference of a section that matches but for a remark; ``share`` as for the worst point."""

    x: float
    off: float
    share: float | None


@dataclass(frozen=True)
class ProvedShare:
    """What is proved of a section: a ``word``, the share of the range, and a sentence."""

    word: str
    share: float
    sentence: str

    @property
    def said(self) -> str:
        """The share in a cell; a hundred percent is all of it, and a hyphen nothing."""
        percent = "100 %" if self.word == "proved" else f"{math.floor(1e4 * self.share) / 100:g} %"
        return ", ".join([percent] * bool(self.share) + ["refuted"] * (self.word == "refuted")) or "—"


@dataclass(frozen=True)
class SweptSection:
    """The verdict on one section: the derivative of the element ``of`` by ``wrt`` between ``start`` and ``stop``.

    ``word`` is that of the page, or ``lost`` where the worker crashed; ``line`` is one of the file, or None.
    ``fault`` says whether it makes a check fail; ``beyond`` is a sentence on the x outside of the section.
    ``proved`` is None where nobody has looked. ``hurried`` says that there was time for few points only.
    With the data of a step, ``touched`` is the share of its numbers where backward differs, and ``seen`` says so.
    """

    wrt: str
    of: str
    start: float
    stop: float
    word: str
    sentence: str
    explanation: str = ""
    intervals: tuple[tuple[float, float], ...] = ()
    worst: WorstPoint | None = None
    line: int | None = None
    fault: bool = False
    beyond: str = ""
    remark: SmallDifference | None = None
    touched: float | None = None
    seen: str = ""
    proved: ProvedShare | None = None
    hurried: bool = False

    @property
    def input(self) -> str:
        """The input that is swept."""
        return input_of(self.wrt)


@dataclass(frozen=True)
class XrayFinding:
    """One row of the contract X-ray; an ``error`` is a failure, a ``warning`` one for who is strict.

    ``line`` is one of the file; ``element`` is the part of the inputs it was seen in, like ``weight[0,1]``, empty where
    that is no one element.
    """

    id: str
    family: str
    level: str
    title: str
    seen: str
    torch: str = ""
    advice: str = ""
    line: int | None = None
    element: str = ""

    @property
    def input(self) -> str:
        """The input that it is about; empty where that is no one input."""
        return input_of(self.element)

    @property
    def said(self) -> str:
        """What was seen, what torch does with it and what to do, in a few sentences."""
        return " ".join(filter(None, (self.seen, self.torch, self.advice)))


def input_of(element: str) -> str:
    """The input that an element is of, ``weight`` of ``weight[0,1]``."""
    return element.partition("[")[0]


def faulty_sweeps(sweeps: Sequence[SweptSection]) -> list[SweptSection]:
    """The sections that make a check fail: the gravest word first, and of one word the largest difference."""
    faulty = [each for each in sweeps if each.fault]
    return sorted(faulty, key=lambda each: (FAILING_WORDS.index(each.word), -_size(each)))


def _size(sweep: SweptSection) -> float:
    """The largest difference as a share of the slope there, infinite where that is 0."""
    if sweep.worst is None:
        return 0.0
    return math.inf if sweep.worst.share is None else sweep.worst.share


def gravest_sweep(sweeps: Sequence[SweptSection]) -> SweptSection | None:
    """The gravest section of those that make a check fail, else the first one."""
    return next(iter(faulty_sweeps(sweeps)), sweeps[0] if sweeps else None)


def deciding_finding(sweeps: Sequence[SweptSection], findings: Sequence[XrayFinding], claim: str) -> XrayFinding | None:
    """The finding of a wrong gradient where no section shows one; None for an op that declares itself broken."""
    sweep = gravest_sweep(sweeps)
    if claim == "broken" or sweep is None or sweep.word not in OVERRULED_WORDS:
        return None
    return next(
        (each for id_ in WRONG_GRADIENT_IDS for each in findings if (each.id, each.level) == (id_, "error")), None
    )


def count_findings(findings: Sequence[XrayFinding]) -> str:
    """The number of findings of each level but ``fine``, like ``1 error, 2 notes``."""
    count = Counter(each.level for each in findings)
    levels = [each for each in (*GRAVE_LEVELS, "note") if count[each]]
    counts = [f"{count[level]} {level}{'s' * (count[level] > 1)}" for level in levels]
    return ", ".join(counts)
