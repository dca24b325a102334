"""Contract view: the rows of all checks, the badges, and the gradients before and after the engine."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from typing import Any

from ..contract.examination.probe import CHECK_LEVELS, CheckRow
from ..contract.xray import NO_FUNCTION, contract_xray
from ..protocol.question import Question
from ..runtime.section import Section
from .columns import ColumnArrays

# A range that is wider than the domain by more than this factor is not used.
_MUCH = 100
_DOUBLE = "The contract is looked at in float64 on the CPU."


def contract_view(section: Section, question: Question) -> tuple[dict[str, Any], ColumnArrays]:
    """The document: a header alone, with the most serious rows first, and no columns."""
    found = contract_xray(section, _reach(section, question), question.compile)
    checks = sorted(found.checks, key=lambda each: CHECK_LEVELS.index(each.level))
    double = question.dtype == "float64" and section.device == "cpu"
    return {
        "notes": [] if double else [_DOUBLE],
        "sentence": _sentence(checks),
        "checks": [asdict(each) for each in checks],
        "badges": [asdict(each) for each in found.badges],
        "raw": [asdict(each) for each in found.raw],
        "tried": found.tried,
        "failure": asdict(found.failure) if found.failure else None,
    }, {}


def _reach(section: Section, question: Question) -> tuple[float, float] | None:
    """The range of the page; None, for the domain, if it lies inside that or is very much wider."""
    if section.sweeps_parameter:
        return None
    low, high = next(each.domain for each in section.op.inputs if each.name == section.wrt)
    inside = low <= question.start and question.stop <= high
    far = question.stop - question.start > _MUCH * (high - low)
    return None if inside or far else (question.start, question.stop)


def _sentence(checks: list[CheckRow]) -> str:
    """How many rows there are of each level, and the most serious one."""
    if [each.id for each in checks] == [NO_FUNCTION]:
        return checks[0].seen
    count = Counter(each.level for each in checks)
    told = [f"{count[level]} {level}{'s' * (count[level] > 1)}" for level in CHECK_LEVELS[:-1] if count[level]]
    right = f"{count['fine']} check{'s' * (count['fine'] != 1)} found right"
    grave = next((each for each in checks if each.level in ("error", "warning")), None)
    said = f"{', '.join(told)}; {right}." if told else f"{right}."
    return f"{said} {grave.title}: {grave.seen}" if grave else said
