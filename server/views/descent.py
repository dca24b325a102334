"""Descent view: gradient descent on a small loss, with the returned gradient and with the true derivative."""

from __future__ import annotations

from itertools import product

import numpy as np

from ..numerics.descent.descent import DescentPair, Landscape, TooLarge, descend
from ..numerics.descent.optimizer import DescentRun, descent_outcome
from ..numerics.descent.plan import DescentRequest
from ..numerics.descent.text import MovingNames, descent_sentence
from ..protocol.question import Question
from ..runtime.arrays import Array
from ..runtime.section import Section
from ..schema.section import AskedRecord
from ..schema.views import CourseRecord, DescentRecord, LandscapeRecord
from .common import ColumnArrays, ViewAnswer, failure_record, finite_or_none


def descent_view(section: Section, question: Question, asked: AskedRecord) -> ViewAnswer:
    """The document, one row a step: losses, positions and gradients of both runs, with a column for each element.

    All elements of the tensor ``wrt`` move, towards ``goal`` in all of the output ``of``; the element swept starts
    ``at``. Raises ``FunctionFailed``.
    """
    goal = None if question.goal is None else tuple(question.goal)
    request = DescentRequest(question.start, question.stop, goal, question.lr, question.steps, question.at)
    shape = list(section.shape(section.wrt))
    try:
        pair = descend(section, request)
    except TooLarge as error:
        return _header(str(error), shape, None, section, question, asked), {}
    single = len(pair.plan.start) == 1
    moving = MovingNames(section.wrt, section.of, section.sweeps_parameter)
    header = _header(descent_sentence(pair, moving), [] if single else shape, pair, section, question, asked)
    return header, _columns(pair, shape)


def _header(
    sentence: str, shape: list[int], pair: DescentPair | None, section: Section, question: Question, asked: AskedRecord
) -> DescentRecord:
    plan = pair.plan if pair else None
    return {
        **asked,
        "view": "descent",
        "sentence": sentence,
        "shape": shape,
        "lr": plan.lr if plan else question.lr,
        "steps": plan.steps if plan else question.steps,
        "goal": list(plan.goal) if plan else [],
        "at": _start_of_swept(plan.start, shape, section) if plan else question.at,
        "random": bool(pair and pair.random),
        "bent": bool(pair and pair.bent),
        "returned": _run(pair.returned) if pair else None,
        "true": _run(pair.true) if pair else None,
        "landscape": _landscape(pair.landscape) if pair and pair.landscape else None,
        "failure": failure_record((pair.returned.failure or pair.true.failure) if pair else None),
    }


def _start_of_swept(start: tuple[float, ...], shape: list[int], section: Section) -> float:
    """The start of the swept element."""
    return start[int(np.ravel_multi_index(section.wrt_index, shape))] if len(start) > 1 else start[0]


def _run(run: DescentRun) -> CourseRecord:
    return {
        "ending": descent_outcome(run),
        "steps": run.steps,
        "first": finite_or_none(run.losses[0]),
        "last": finite_or_none(run.losses[-1]),
        "late": run.late,
    }


def _landscape(landscape: Landscape) -> LandscapeRecord:
    return {
        "of": landscape.of,
        "x": landscape.x.tolist(),
        "y": [finite_or_none(each) for each in landscape.y],
        "returned": [finite_or_none(each) for each in landscape.returned],
        "true": [finite_or_none(each) for each in landscape.true],
    }


def _columns(pair: DescentPair, shape: list[int]) -> ColumnArrays:
    rows = max(pair.returned.steps, pair.true.steps) + 1
    columns: ColumnArrays = {
        "step": np.arange(rows, dtype=float),
        "loss": _padded(pair.returned.losses, rows),
        "true_loss": _padded(pair.true.losses, rows),
    }
    names = ["", *("_" + "_".join(map(str, index)) for index in product(*map(range, shape)))]
    names = names[:1] if len(pair.plan.start) == 1 else names[1:]
    for prefix, run in (("", pair.returned), ("true_", pair.true)):
        for what, table in (("position", run.positions), ("gradient", run.gradients)):
            columns |= {f"{prefix}{what}{name}": _padded(table[:, place], rows) for place, name in enumerate(names)}
    return columns


def _padded(column: Array, rows: int) -> Array:
    """The column padded with NaN to the length of the longer run."""
    return np.concatenate((column, np.full(rows - len(column), np.nan)))
