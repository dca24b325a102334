"""Precision view: which dtypes and devices the Function supports, and their error against float64 in ulp."""

from __future__ import annotations

from ..numerics.studies.dtypes import dtypes_sentence, study_dtypes
from ..protocol.question import Question
from ..runtime.section import Section
from ..schema.section import AskedRecord
from .common import ColumnArrays, ViewAnswer, question_grid, view_answer


def precision_view(section: Section, question: Question, asked: AskedRecord) -> ViewAnswer:
    """The document: a header row for each dtype and device, and columns of errors in ulp (units in the last place).

    ``failure`` is that of the requested dtype; the others are measured all the same.
    """
    study = study_dtypes(section, question_grid(question), question.grad_output)
    requested = next(row for row in study.rows if (row.dtype, row.device) == (question.dtype, section.device))
    columns: ColumnArrays = {}
    for row in study.rows:
        name = row.dtype if row.device == "cpu" else f"{row.dtype}_{row.device}"
        errors = {f"forward_{name}": row.forward_ulp, f"gradient_{name}": row.gradient_ulp}
        columns |= {key: known.each for key, known in errors.items() if known}
    sentence = dtypes_sentence(study, str(question.wrt)) or "Every dtype works, without a measurable loss of precision."
    return view_answer(asked, study, study, columns, sentence=sentence, failure=requested.failure)
