"""Map view: ``grad_input / grad_output`` at every x for many values of grad_output, which shows nonlinearity."""

from __future__ import annotations

import numpy as np

from ..numerics.linearity.laws import check_linearity
from ..numerics.sampling.grid import POINTS_ONE_BY_ONE
from ..numerics.sentences.names import section_names
from ..numerics.studies.gradient_map import grad_output_axis, gradient_map
from ..protocol.answer import empty_answer
from ..protocol.question import Question
from ..runtime.batching import batched_section
from ..runtime.section import Section
from ..schema.section import AskedRecord, FindingRecord
from .common import ViewAnswer, linearity_findings, question_grid, view_answer

_MAX_POINTS = 201  # budget: points where one call takes them all


def grad_output_map_view(section: Section, question: Question, asked: AskedRecord) -> ViewAnswer:
    """The document: ``ratio`` row by row, a row for each ``grad_output``. Raises ``FunctionFailed``."""
    x, notes = np.unique(section.snap(question_grid(question, _MAX_POINTS).points())), []
    section = batched_section(section, x, question.grad_output)
    if not section.stacked and x.size > POINTS_ONE_BY_ONE:
        x = np.unique(section.snap(question_grid(question, POINTS_ONE_BY_ONE).points()))
        notes = [f"Every point needs calls of its own, so only {x.size} of them are on the map."]
    returned = section.backward(x, question.grad_output)
    if returned.grad_input is None:
        sentence = f"There is no map: backward returns no gradient for {question.wrt}."
        return empty_answer(question, asked, sentence), {}
    grad_outputs = grad_output_axis(question.grad_output)
    ratio = gradient_map(section, x, grad_outputs)
    findings = linearity_findings(check_linearity(section, x, question.grad_output, returned), section_names(section))
    said = {"sentence": _sentence(findings, section.op.follows_sign), "notes": asked["notes"] + notes, "failure": None}
    columns = {"x": x, "grad_output": grad_outputs, "ratio": ratio.ravel()}
    return view_answer(asked, None, also=columns, shape=ratio.shape, findings=findings, **said)


def _sentence(findings: list[FindingRecord], intended: bool) -> str:
    if not findings:
        return "backward is linear in grad_output, as it must be: every column has one colour from bottom to top."
    # Additivity fails along with any other law, so it is reported only by itself.
    reported = [each for each in findings if each["law"] != "adds"] or findings
    sentences = [each["sentence"] for each in reported]
    if intended and any(each["law"] == "odd" for each in findings):
        sentences.append("This is intended: each sign of grad_output has its own surrogate.")
    return " ".join(sentences)
