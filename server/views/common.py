"""What the views share: types of their documents, the grid, evaluating and judging, names for sentences."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..numerics.curve.evaluate import evaluate
from ..numerics.curve.evaluation import Evaluation
from ..numerics.linearity.laws import Linearity, describe_violation
from ..numerics.sampling.grid import Grid
from ..numerics.sentences.places import Names
from ..numerics.status import Status
from ..numerics.verdict.verdict import Verdict, judge
from ..protocol.question import Question
from ..runtime.failure import Failure
from ..runtime.section import Section

ColumnArrays = dict[str, NDArray[Any]]
ViewDocument = tuple[dict[str, Any], ColumnArrays]
View = Callable[[Section, Question], ViewDocument]
STATUS_WORDS = [status.name.lower() for status in Status]


def finite_or_none(value: float) -> float | None:
    """The number, or None if it is not finite."""
    return float(value) if np.isfinite(value) else None


def failure_document(failure: Failure | None) -> dict[str, Any] | None:
    """A failure as plain data."""
    return asdict(failure) if failure else None


def linearity_findings(linearity: Linearity, wrt: str) -> list[dict[str, Any]]:
    """The violations of linearity as plain data: where, what was returned, and a sentence."""
    return [
        {
            "law": each.law,
            **{name: finite_or_none(getattr(each, name)) for name in ("x", "grad_output", "returned", "expected")},
            "sentence": describe_violation(each, wrt),
        }
        for each in linearity.findings
    ]


def evaluate_and_judge(section: Section, question: Question) -> tuple[Evaluation, Verdict]:
    """Evaluate the section on the grid of the question, and judge it. Raises ``FunctionFailed``."""
    evaluation = evaluate(section, question_grid(question), question.grad_output, question.step)
    return evaluation, judge(evaluation, question.atol, question.rtol)


def question_grid(question: Question, most: int | None = None) -> Grid:
    """The grid of the question, with at most so many points."""
    return Grid(question.start, question.stop, min(question.count, most or question.count))


def sentence_names(section: Section, question: Question) -> Names:
    """The names of the swept element and the output element for sentences, and the claim."""
    claim = section.op.claim if section.order == 1 else "exact"  # the claim is about the first derivative
    return Names(str(question.wrt), str(question.of), claim, section.sweeps_parameter)
