"""Shared first steps of the views: the grid, evaluating and judging the section, names for sentences."""

from __future__ import annotations

from typing import Any

from ..numerics.curve.evaluate import evaluate
from ..numerics.curve.evaluation import Evaluation
from ..numerics.linearity.laws import Linearity, describe_violation
from ..numerics.sampling.grid import Grid
from ..numerics.sentences.places import Names
from ..numerics.verdict.verdict import Verdict, judge
from ..protocol.question import Question
from ..runtime.section import Section
from .columns import finite_or_none


def linearity_findings(linearity: Linearity, wrt: str) -> list[dict[str, Any]]:
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
    return evaluation, judge(evaluation, question.atol, question.rtol)


def question_grid(question: Question, most: int | None = None) -> Grid:
    """The grid of the question, with at most so many points."""
    return Grid(question.start, question.stop, min(question.count, most or question.count))


def sentence_names(section: Section, question: Question) -> Names:
    """The names of the swept element and the output element for sentences, and the claim."""
    claim = section.op.claim if section.order == 1 else "exact"  # the claim is about the first derivative
    return Names(str(question.wrt), str(question.of), claim, section.sweeps_parameter)
