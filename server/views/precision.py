"""Precision view: which dtypes and devices the Function supports, and their error against float64 in ulp."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

import numpy as np

from ..numerics.studies.dtypes import DtypeErrors, DtypeStudy, study_dtypes
from ..numerics.studies.dtypes_text import dtypes_sentence
from ..numerics.studies.ulps import UlpErrors
from ..protocol.question import Question
from ..runtime.section import Section
from .columns import ColumnArrays, finite_or_none
from .common import question_grid


def precision_view(section: Section, question: Question) -> tuple[dict[str, Any], ColumnArrays]:
    """The document: a header row for each dtype and device, and columns of errors in ulp (units in the last place).

    ``failure`` is that of the requested dtype; the others are measured all the same.
    """
    seen, wrt = study_dtypes(section, question_grid(question), question.grad_output), str(question.wrt)
    asked = next(row for row in seen.rows if (row.dtype, row.device) == (question.dtype, section.device))
    columns = {"x": seen.x}
    for row in seen.rows:
        name = row.dtype if row.device == "cpu" else f"{row.dtype}_{row.device}"
        errors = {f"forward_{name}": row.forward, f"gradient_{name}": row.gradient}
        columns |= {key: places.each for key, places in errors.items() if np.isfinite(places.each).any()}
    return {
        "sentence": dtypes_sentence(seen, wrt) or "Every dtype is taken, and nothing is lost that could be told.",
        "rows": [_row(each) for each in seen.rows],
        "complex": _complex(seen, wrt),
        "failure": asdict(asked.failure) if asked.failure else None,
    }, columns


def _row(row: DtypeErrors) -> dict[str, Any]:
    failure = row.failure
    return {
        "dtype": row.dtype,
        "device": row.device,
        "supported": row.supported,
        "message": failure.sentence if failure else "",
        "yardstick": row.yardstick,
        "forward_ulp": _places(row.forward),
        "gradient_ulp": _places(row.gradient),
        "overflow": list(row.overflow),
        "nan_gradients": row.nan_gradients,
        "infinite_gradients": row.infinite_gradients,
        "computes_in": row.computes_in,
    }


def _places(places: UlpErrors) -> dict[str, float] | None:
    if finite_or_none(places.largest) is None:
        return None
    return {"median": places.median, "max": places.largest, "x": places.x}


def _complex(seen: DtypeStudy, wrt: str) -> dict[str, str] | None:
    if seen.complex is None:
        return None
    return {"verdict": seen.complex.answer, "sentence": dtypes_sentence(replace(seen, rows=()), wrt)}
