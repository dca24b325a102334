"""What several views begin with: the section evaluated and judged, and what a sentence calls it."""

from __future__ import annotations

from ..numerics.curve.evaluate import evaluate
from ..numerics.curve.evaluation import Evaluation
from ..numerics.sampling.grid import Grid
from ..numerics.sentences.places import Names
from ..numerics.verdict.verdict import Verdict, judge
from ..protocol.question import Question
from ..runtime.section import Section


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
