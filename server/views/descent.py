"""Descent view: gradient descent on a small loss, with the returned gradient and with the true derivative."""

from __future__ import annotations

from itertools import product

import numpy as np

from ..numerics.descent.descent import DescentPair, TooLarge, descend
from ..numerics.descent.text import descent_sentence
from ..protocol.answer import empty_answer
from ..protocol.question import Question
from ..runtime.arrays import Array
from ..runtime.section import Section
from ..schema.section import AskedRecord
from .common import ColumnArrays, ViewAnswer, view_answer


def descent_view(section: Section, question: Question, asked: AskedRecord) -> ViewAnswer:
    """The document, one row a step: losses, positions and gradients of both runs, with a column for each element.

    All elements of the tensor ``wrt`` move, towards ``goal`` in all of the output ``of``; the element swept starts
    ``at``. Raises ``FunctionFailed``.
    """
    shape = section.shape(section.wrt)
    try:
        pair = descend(section, question)
    except TooLarge as error:
        asked_for = {"shape": list(shape), "lr": question.lr, "steps": question.steps, "at": question.at}
        return empty_answer(question, asked, str(error)) | asked_for, {}  # type: ignore[return-value]
    plan, single = pair.plan, len(pair.plan.start) == 1
    return view_answer(
        asked,
        pair,
        also=_columns(pair, () if single else shape),
        sentence=descent_sentence(pair),
        shape=() if single else shape,
        lr=plan.lr,
        steps=plan.steps,
        goal=plan.goal,
        at=plan.start[0 if single else section.place],
        failure=pair.returned.failure or pair.true.failure,
    )


def _columns(pair: DescentPair, shape: tuple[int, ...]) -> ColumnArrays:
    rows = max(pair.returned.steps, pair.true.steps) + 1
    columns: ColumnArrays = {
        "step": np.arange(rows, dtype=float),
        "loss": _padded(pair.returned.losses, rows),
        "true_loss": _padded(pair.true.losses, rows),
    }
    names = ["_".join(("", *map(str, index))) for index in product(*map(range, shape))]
    for prefix, run in (("", pair.returned), ("true_", pair.true)):
        for what, table in (("position", run.positions), ("gradient", run.gradients)):
            columns |= {f"{prefix}{what}{name}": _padded(table[:, place], rows) for place, name in enumerate(names)}
    return columns


def _padded(column: Array, rows: int) -> Array:
    """The column padded with NaN to the length of the longer run."""
    return np.concatenate((column, np.full(rows - len(column), np.nan)))
