"""What the views share: types of their documents, the grid, evaluating and judging, names for sentences."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, replace
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from ..numerics.curve.evaluate import evaluate
from ..numerics.curve.evaluation import Evaluation
from ..numerics.linearity.laws import Linearity, describe_violation
from ..numerics.sampling.grid import Grid
from ..numerics.sentences.places import Names
from ..numerics.status import Status
from ..numerics.verdict.verdict import Verdict, judge
from ..numerics.whole_range.check import tolerated_range
from ..protocol.question import Question
from ..protocol.views import AnswerRecord
from ..runtime.failure import Failure
from ..runtime.section import Section
from ..schema.section import AskedRecord, FailureRecord, FindingRecord

ColumnArrays = dict[str, NDArray[Any]]
ViewAnswer = tuple[AnswerRecord, ColumnArrays]
# Of the section that is asked for; what was asked, as the header begins, is not always the same question.
ViewFunction = Callable[[Section, Question, AskedRecord], ViewAnswer]
_Record = TypeVar("_Record")
STATUS_WORDS = [status.name.lower() for status in Status]


def finite_or_none(value: float) -> float | None:
    """The number, or None if it is not finite."""
    return float(value) if np.isfinite(value) else None


def record_of(thing: Any, shape: type[_Record]) -> _Record:
    """A measurement as plain data, of a type that has the same fields as its class."""
    return cast(_Record, asdict(thing))


def failure_record(failure: Failure | None) -> FailureRecord | None:
    """A failure as plain data."""
    return record_of(failure, FailureRecord) if failure else None


def linearity_findings(linearity: Linearity, wrt: str) -> list[FindingRecord]:
    """The violations of linearity as plain data: where, what was returned, and a sentence."""
    return [
        {
            "law": each.law,
            "x": finite_or_none(each.x),
            "grad_output": finite_or_none(each.grad_output),
            "returned": finite_or_none(each.returned),
            "expected": finite_or_none(each.expected),
            "sentence": describe_violation(each, wrt),
        }
        for each in linearity.findings
    ]


def evaluate_and_judge(section: Section, question: Question) -> tuple[Evaluation, Verdict]:
    """Evaluate the section on the grid of the question, and judge it. Raises ``FunctionFailed``."""
    evaluation = evaluate(section, question_grid(question), question.grad_output, question.step)
    verdict = judge(evaluation, question.atol, question.rtol)
    if evaluation.whole_range is not None and (question.atol, question.rtol) != (None, None):
        evaluation = replace(evaluation, whole_range=tolerated_range(evaluation.whole_range, verdict.tolerance))
    return evaluation, verdict


def question_grid(question: Question, most: int | None = None) -> Grid:
    """The grid of the question, with at most so many points."""
    return Grid(question.start, question.stop, min(question.count, most or question.count))


def sentence_names(section: Section, question: Question) -> Names:
    """The names of the swept element and the output element for sentences, and the claim."""
    claim = section.op.claim if section.order == 1 else "exact"  # the claim is about the first derivative
    return Names(str(question.wrt), str(question.of), claim, section.sweeps_parameter)
