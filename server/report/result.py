"""What was found of one Function: its verdict and the findings of the X-ray, as plain data that a report is made of."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

LEVELS = ("error", "warning", "note", "fine")
# Of a verdict: what makes a check fail. "matches here", "undecided" and "no gradient" are said, and are no fault.
FAULTY = ("differs", "failed", "lost", "unsolved")
# Of the X-ray's errors: those that it excuses itself where an Op declares what backward follows instead of forward.
DIFFERING = frozenset(("GRADIENT", "SECOND-ORDER", "NONLINEAR", "SWAPPED", "GRAD-NONE", "OUTPUT-GRAD-IGNORED"))
VERDICT = "gradient"  # stands for the verdict where the X-ray has ids
# Of the X-ray's errors: those that say of a gradient that it is wrong, and words of the curves that these overrule.
WRONG = ("GRADIENT", "SWAPPED", "GRAD-NONE")
OVERRULED = ("matches", "matches here", "matches its surrogate", "undecided")


@dataclass(frozen=True)
class Worst:
    """Where backward and the differences of forward are farthest apart, and how sure the latter are."""

    x: float
    analytical: float | None
    numerical: float | None
    error: float | None


@dataclass(frozen=True)
class Swept:
    """The verdict on one section: the derivative of the element ``of`` by ``wrt`` between ``start`` and ``stop``.

    ``word`` is that of the page, or ``lost`` where the worker did not survive; ``line`` is one of the file, or None.
    ``fault`` says whether it makes a check fail; ``beyond`` what there is to say of the x out of sight.
    """

    wrt: str
    of: str
    start: float
    stop: float
    word: str
    sentence: str
    explanation: str = ""
    intervals: tuple[tuple[float, float], ...] = ()
    worst: Worst | None = None
    line: int | None = None
    fault: bool = False
    beyond: str = ""


@dataclass(frozen=True)
class Finding:
    """One row of the contract X-ray: an ``error`` is a fault, else it is a remark. ``line`` is one of the file.

    ``element`` is what of the inputs it was seen in, like ``weight[0,1]``, empty where that is no one element.
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
    def said(self) -> str:
        """What was seen, what torch makes of it and what to do, in a few sentences."""
        return " ".join(filter(None, (self.seen, self.torch, self.advice)))


@dataclass(frozen=True)
class Fault:
    """Something that makes a check fail: ``gradient`` or the id of a finding, a sentence, and the line of the file."""

    id: str
    sentence: str
    line: int | None


@dataclass(frozen=True)
class Checked:
    """Everything that was found of one Function. Nothing is raised where it could not even be called.

    ``word``, ``sentence``, ``worst`` and ``intervals`` are those of the gravest of ``sweeps``, of which the first is
    what its page shows; ``unsolved`` where no call of it was found. Where the sweeps match, and the X-ray finds a wrong
    gradient in what they did not come by, that is ``accused``, and word and sentence are of it. ``unswept`` are inputs
    that nothing but the X-ray looked at.

    ``recipe`` is how it was called, and ``assumed`` what was assumed for that, by argument. ``file`` and ``line`` are
    where it is written, empty and 0 if that is not known, and ``target`` is what it was found in. Where it is
    ``allowed`` to differ that is no fault, nor are the checks ``forgiven``, nor is what is declared to be broken, nor
    that a surrogate differs by another input than the one that it is looked at by.
    """

    name: str
    word: str
    sentence: str
    recipe: str = ""
    sweeps: tuple[Swept, ...] = ()
    findings: tuple[Finding, ...] = ()
    assumed: tuple[tuple[str, str], ...] = ()
    target: str = ""
    file: str = ""
    line: int = 0
    claim: str = "exact"
    declared: bool = False
    allowed: bool = False
    forgiven: tuple[str, ...] = ()
    unswept: tuple[str, ...] = ()

    @property
    def accused(self) -> Finding | None:
        """What of the X-ray has decided the word, None where the sweeps have."""
        return accusing(self.sweeps, self.findings, self.claim)

    @property
    def left_out(self) -> str:
        """What there is to say of the inputs that were not swept, empty if all were."""
        if not self.unswept:
            return ""
        looked = any(each.id == WRONG[0] for each in self.findings)
        return f"{', '.join(self.unswept)}{'; the X-ray looked at them.' if looked else '.'}"

    @property
    def swept(self) -> Swept | None:
        """The section that the verdict is about."""
        return gravest(self.sweeps)

    @property
    def worst(self) -> Worst | None:
        """Where it differs most, None where it does not, or could not be looked at."""
        return self.swept.worst if self.swept else None

    @property
    def intervals(self) -> tuple[tuple[float, float], ...]:
        """Where it differs."""
        return self.swept.intervals if self.swept else ()

    @property
    def beyond(self) -> tuple[str, ...]:
        """What there is to say of the x out of sight wherever only those in sight match."""
        return tuple(each.beyond for each in self.sweeps if each.word == "matches here" and each.beyond)

    @property
    def elsewhere(self) -> tuple[str, ...]:
        """The same, but for what the verdict's sentence says."""
        return tuple(each for each in self.beyond if each not in self.sentence)

    @property
    def faults(self) -> tuple[Fault, ...]:
        """What makes a check of it fail, the verdict first."""
        return tuple(self._faults())

    @property
    def ok(self) -> bool:
        """Whether nothing was found that makes a check fail."""
        return not self.faults

    def _faults(self) -> Iterator[Fault]:
        if self.claim == "broken":
            return
        if not self.sweeps:
            yield Fault(VERDICT, self.sentence, self.line or None)
        for each in self.sweeps:
            if each.fault and not (self.allowed and each.word == "differs"):
                yield Fault(VERDICT, " ".join(filter(None, (each.sentence, each.explanation))), each.line)
        if (accused := self.accused) and not (self.allowed or self.forgives(accused)):
            yield Fault(VERDICT, f"{self.sentence} {accused.advice}".rstrip(), accused.line)
        for finding in self.findings:
            if finding.level == "error" and not self.forgives(finding):
                yield Fault(finding.id, f"{finding.title}: {finding.said}", finding.line)

    def forgives(self, finding: Finding) -> bool:
        """Whether a finding is no fault because it is allowed."""
        return finding.id in self.forgiven

    def place(self, line: int | None) -> str:
        """The file, and a line of it; empty where it was not written in one."""
        return f"{self.file}:{line or self.line}" if self.file else ""

    def __repr__(self) -> str:
        from .result_text import lines

        return "\n".join(lines(self))

    def _repr_html_(self) -> str:
        from .result_html import card

        return card(self)


def gravest(sweeps: Sequence[Swept]) -> Swept | None:
    """The first section that makes a check fail, else the first one."""
    return next((each for each in sweeps if each.fault), sweeps[0] if sweeps else None)


def accusing(sweeps: Sequence[Swept], findings: Sequence[Finding], claim: str) -> Finding | None:
    """The finding that says that a gradient is wrong where no section shows it; None for a specimen, which is."""
    told = gravest(sweeps)
    if claim == "broken" or told is None or told.word not in OVERRULED:
        return None
    return next((each for id_ in WRONG for each in findings if (each.id, each.level) == (id_, "error")), None)


def counted(findings: Sequence[Finding]) -> str:
    """How many findings there are of each level that says something, like ``1 error, 2 notes``."""
    count = Counter(each.level for each in findings)
    told = [f"{count[level]} {level}{'s' * (count[level] > 1)}" for level in LEVELS[:-1] if count[level]]
    return ", ".join(told)
