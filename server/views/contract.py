"""Contract view: the rows of all checks, the badges, and the gradients before and after the engine."""

from __future__ import annotations

from collections import Counter

import torch

from ..contract.examination.contract_check import CHECK_LEVELS, CheckRow
from ..contract.xray import NO_FUNCTION, contract_xray
from ..numerics.tolerance import Allowance
from ..other_calls.check import other_calls_rows
from ..protocol.question import Question
from ..runtime.captured import only_device
from ..runtime.section import Section
from ..schema.answer_notes import SOLVED, note_of
from ..schema.section import AskedRecord
from .common import ViewAnswer, view_answer

_MAX_RATIO = 100  # pattern: a range that is wider than the domain by more than this factor is not used
_DTYPE_NOTE = "The contract is checked in float64 on the {}."


def contract_view(section: Section, question: Question, asked: AskedRecord) -> ViewAnswer:
    """The document: a header alone, with the most serious rows first, and no columns."""
    allowance = Allowance(torch.float64, question.atol, question.rtol)
    xray = contract_xray(section, _swept_range(section, question), question.compile, allowance)
    rows = (*xray.checks, *(other_calls_rows(section, xray.wrong, allowance) if xray.delivers else ()))
    checks = sorted(rows, key=lambda each: CHECK_LEVELS.index(each.level))
    double = question.dtype == "float64" and section.device == "cpu"
    notes = asked["notes"] + ([] if double else [_DTYPE_NOTE.format("GPU" if only_device(section.op) else "CPU")])
    gravest = next((each for each in checks if each.level in ("error", "warning")), None)
    note = note_of(gravest.id) if gravest else SOLVED
    return view_answer(asked, xray, notes=notes, note=note, sentence=_sentence(checks, gravest), checks=checks)


def _swept_range(section: Section, question: Question) -> tuple[float, float] | None:
    """The range of the page; None, for the domain, if it lies inside that or is very much wider."""
    if section.sweeps_parameter:
        return None
    low, high = section.op.input(section.wrt).domain
    inside = low <= question.start and question.stop <= high
    far = question.stop - question.start > _MAX_RATIO * (high - low)
    return None if inside or far else (question.start, question.stop)


def _sentence(checks: list[CheckRow], gravest: CheckRow | None) -> str:
    """How many rows there are of each level, and the gravest one."""
    if [each.id for each in checks] == [NO_FUNCTION]:
        return checks[0].seen
    count = Counter(each.level for each in checks)
    counts = [f"{count[level]} {level}{'s' * (count[level] > 1)}" for level in CHECK_LEVELS[:-1] if count[level]]
    passed = f"{count['fine']} check{'s' * (count['fine'] != 1)} passed"
    summary = f"{', '.join(counts)}; {passed}." if counts else f"{passed}."
    return f"{summary} {gravest.title}: {gravest.seen}" if gravest else summary
