"""What several views begin with: the section evaluated and judged, and what a sentence calls it."""

from __future__ import annotations

from typing import Any

from ..numerics.curve.evaluate import evaluate
from ..numerics.curve.evaluation import Evaluation
from ..numerics.linearity.laws import Linearity, sentence
from ..numerics.sampling.grid import Grid
from ..numerics.sentences.places import Names
from ..numerics.verdict.verdict import Verdict, judge
from ..protocol.question import Question
from ..runtime.section import Section
from .columns import finite


def findings(linearity: Linearity, wrt: str) -> list[dict[str, Any]]:
    """Each law that is broken: where, by what was returned, and in words."""
    return [
        {
            "law": each.law,
            "x": finite(each.x),
            "grad_output": finite(each.grad_output),
            "returned": finite(each.returned),
            "expected": finite(each.expected),
            "sentence": sentence(each, wrt),
        }
        for each in linearity.findings
    ]


def looked(section: Section, question: Question) -> tuple[Evaluation, Verdict]:
    """The evaluation that was asked for, and its verdict; raises ``FunctionFailed``."""
    evaluation = evaluate(section, grid(question), question.grad_output, question.step)
    return evaluation, judge(evaluation, question.atol, question.rtol)


def grid(question: Question, most: int | None = None) -> Grid:
    """The grid that was asked for, with no more than so many points."""
    return Grid(question.start, question.stop, min(question.count, most or question.count))


def names(section: Section, question: Question) -> Names:
    """What a sentence calls the swept element, the output element and the claim."""
    claim = section.op.claim if section.order == 1 else "exact"  # what it claims, it claims of its first derivative
    return Names(str(question.wrt), str(question.of), claim, section.sweeps_parameter)
