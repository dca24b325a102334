"""What was found of one Function: its verdict and the findings of the X-ray, as plain data that a report is made of."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

LEVELS = ("error", "warning", "note", "fine")
# Of a verdict: what makes a check fail. "matches here", "undecided" and "no gradient" are said, and are no fault.
FAULTY = ("differs", "failed", "lost", "unsolved")
# Of the X-ray's errors: those that it excuses itself where an Op declares what backward follows instead of forward.
DIFFERING = frozenset(("GRADIENT", "SECOND-ORDER", "NONLINEAR", "SWAPPED", "GRAD-NONE", "OUTPUT-GRAD-IGNORED"))
VERDICT = "gradient"  # stands for the verdict where the X-ray has ids


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
    """One row of the contract X-ray: an ``error`` is a fault, else it is a remark. ``line`` is one of the file."""

    id: str
    family: str
    level: str
    title: str
    seen: str
    torch: str = ""
    advice: str = ""
    line: int | None = None

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
    what its page shows; ``unsolved`` where no call of it was found. ``recipe`` is how it was called, and ``assumed``
    what was assumed for that, by argument. ``file`` and ``line`` are where it is written, empty and 0 if that is not
    known, and ``target`` is what it was found in. Where it is ``allowed`` to differ that is no fault, nor are the
    checks ``forgiven``, nor is what is declared to be broken, nor that a surrogate differs by another input than the
    one that it is looked at by.
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
        from .report.lines import lines

        return "\n".join(lines(self))

    def _repr_html_(self) -> str:
        from .report.card import card

        return card(self)


def gravest(sweeps: Sequence[Swept]) -> Swept | None:
    """The first section that makes a check fail, else the first one."""
    return next((each for each in sweeps if each.fault), sweeps[0] if sweeps else None)


def counted(findings: Sequence[Finding]) -> str:
    """How many findings there are of each level that says something, like ``1 error, 2 notes``."""
    count = Counter(each.level for each in findings)
    told = [f"{count[level]} {level}{'s' * (count[level] > 1)}" for level in LEVELS[:-1] if count[level]]
    return ", ".join(told)


def checked(
    op: Mapping[str, Any],
    curves: Sequence[Mapping[str, Any]],
    contract: Mapping[str, Any] | None,
    allowed: Collection[str] = (),
) -> Checked:
    """What the headers of ``curves``, the usual one first, and of the ``contract`` say of an op that is described.

    ``allowed`` are the ids of what is no fault: ``gradient``, and checks of the X-ray.
    """
    sweeps = tuple(_swept(op, header, number) for number, header in enumerate(curves))
    told = gravest(sweeps)
    assert told is not None
    findings = tuple(_finding(op, each) for each in contract["checks"]) if contract else ()
    assumed = tuple((name, because) for name, because in op["assumed"])
    recipe = op["recipe"] or op["usual_recipe"]
    forgiven = tuple(sorted({*allowed} - {VERDICT}))
    place = (op["group"], op["file"], op["first_line"], op["claim"], op["declared"])
    said = (op["name"], told.word, told.sentence, recipe, sweeps, findings, assumed)
    return Checked(*said, *place, VERDICT in allowed, forgiven)


def uncalled(told: Mapping[str, Any], sentence: str, word: str = "unsolved") -> Checked:
    """What there is to say of a Function that could not be called; ``told`` is what is known without calling it."""
    known = {name: told.get(name, "") for name in ("name", "recipe", "group", "file")}
    line = int(told.get("line") or told.get("first_line") or 0)
    return Checked(known["name"], word, sentence, known["recipe"], (), (), (), known["group"], known["file"], line)


def _swept(op: Mapping[str, Any], header: Mapping[str, Any], number: int) -> Swept:
    verdict, failure = header["verdict"], header["failure"]
    word = "lost" if failure and failure["phase"] == "worker" else verdict["word"]
    explanation, worst, wide = verdict["explanation"], verdict["worst"], header.get("wide")
    return Swept(
        wrt=header["wrt"],
        of=header["of"],
        start=header["start"],
        stop=header["stop"],
        word=word,
        sentence=failure["sentence"] if failure else verdict["sentence"],
        explanation=explanation["sentence"] if explanation else "",
        intervals=tuple((low, high) for low, high in verdict["intervals"]),
        worst=Worst(**worst) if worst else None,
        line=_line(op, failure["line"] if failure else _backward(op["source"])),
        fault=word in FAULTY and not (number and word == "differs" and op["claim"] == "surrogate"),
        beyond=wide["sentence"] if wide else "",
    )


def _finding(op: Mapping[str, Any], row: Mapping[str, Any]) -> Finding:
    told = {name: row[name] for name in ("id", "family", "level", "title", "seen", "torch", "advice")}
    return Finding(**told, line=_line(op, row["line"]))


def _backward(source: str) -> int | None:
    """The line of the source at which backward begins."""
    lines = source.splitlines()
    return next((i for i, line in enumerate(lines, 1) if line.split("(")[0].strip() == "def backward"), None)


def _line(op: Mapping[str, Any], line: int | None) -> int | None:
    """A line of the source as one of the file."""
    return op["first_line"] + line - 1 if line and op["first_line"] else None
