"""Precision view: which dtypes and devices the Function supports, and their error against float64 in ulp."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..numerics.studies.dtypes import DtypeErrors, DtypeStudy, UlpErrors, study_dtypes
from ..numerics.studies.dtypes_text import dtypes_sentence
from ..protocol.question import Question
from ..runtime.section import Section
from ..schema.section import AskedRecord
from ..schema.views import ComplexRecord, LossRecord, PrecisionRecord, SupportRecord
from .common import ViewAnswer, failure_record, finite_or_none, question_grid


def precision_view(section: Section, question: Question, asked: AskedRecord) -> ViewAnswer:
    """The document: a header row for each dtype and device, and columns of errors in ulp (units in the last place).

    ``failure`` is that of the requested dtype; the others are measured all the same.
    """
    study, wrt = study_dtypes(section, question_grid(question), question.grad_output), str(question.wrt)
    requested = next(row for row in study.rows if (row.dtype, row.device) == (question.dtype, section.device))
    columns = {"x": study.x}
    for row in study.rows:
        name = row.dtype if row.device == "cpu" else f"{row.dtype}_{row.device}"
        errors = {f"forward_{name}": row.forward, f"gradient_{name}": row.gradient}
        columns |= {key: errors_at.each for key, errors_at in errors.items() if np.isfinite(errors_at.each).any()}
    header: PrecisionRecord = {
        **asked,
        "view": "precision",
        "sentence": dtypes_sentence(study, wrt) or "Every dtype works, without a measurable loss of precision.",
        "rows": [_row(each) for each in study.rows],
        "complex": _complex(study, wrt),
        "failure": failure_record(requested.failure),
    }
    return header, columns


def _row(row: DtypeErrors) -> SupportRecord:
    failure = row.failure
    return {
        "dtype": row.dtype,
        "device": row.device,
        "supported": row.supported,
        "message": failure.sentence if failure else "",
        "yardstick": row.yardstick,
        "forward_ulp": _ulp_summary(row.forward),
        "gradient_ulp": _ulp_summary(row.gradient),
        "overflow": row.overflow,
        "nan_gradients": row.nan_gradients,
        "infinite_gradients": row.infinite_gradients,
        "computes_in": row.computes_in,
    }


def _ulp_summary(errors: UlpErrors) -> LossRecord | None:
    if finite_or_none(errors.largest) is None:
        return None
    return {"median": errors.median, "max": errors.largest, "x": errors.x}


def _complex(study: DtypeStudy, wrt: str) -> ComplexRecord | None:
    if study.complex is None:
        return None
    return {"verdict": study.complex.answer, "sentence": dtypes_sentence(replace(study, rows=()), wrt)}
