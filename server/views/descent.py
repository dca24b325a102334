"""Descent view: gradient descent on a small loss, with the returned gradient and with the true derivative."""

from __future__ import annotations

from dataclasses import asdict
from itertools import product
from typing import Any

import numpy as np

from ..numerics.descent.descent import DescentPair, TooLarge, descend
from ..numerics.descent.landscape import Landscape
from ..numerics.descent.loss import moved_shape
from ..numerics.descent.optimizer import DescentRun
from ..numerics.descent.outcome import descent_outcome
from ..numerics.descent.plan import DescentRequest
from ..numerics.descent.text import MovingNames, descent_sentence
from ..protocol.question import Question
from ..runtime.arrays import Array
from ..runtime.section import Section
from .columns import ColumnArrays, finite_or_none


def descent_view(section: Section, question: Question) -> tuple[dict[str, Any], ColumnArrays]:
    """The document, one row a step: losses, positions and gradients of both runs, with a column for each element.

    All elements of the tensor ``wrt`` move, towards ``goal`` in all of the output ``of``; the element swept starts
    ``at``. Raises ``FunctionFailed``.
    """
    goal = None if question.goal is None else tuple(question.goal)
    asked = DescentRequest(question.start, question.stop, goal, question.lr, question.steps, question.at)
    shape = list(moved_shape(section, section.wrt))
    try:
        found = descend(section, asked)
    except TooLarge as error:
        return _header(str(error), shape, None, section, question), {}
    single = len(found.plan.start) == 1
    moving = MovingNames(section.wrt, section.of, section.sweeps_parameter)
    return _header(descent_sentence(found, moving), [] if single else shape, found, section, question), _columns(
        found, shape
    )


def _header(
    said: str, shape: list[int], found: DescentPair | None, section: Section, question: Question
) -> dict[str, Any]:
    plan = found.plan if found else None
    failure = (found.returned.failure or found.true.failure) if found else None
    return {
        "sentence": said,
        "shape": shape,
        "lr": plan.lr if plan else question.lr,
        "steps": plan.steps if plan else question.steps,
        "goal": list(plan.goal) if plan else [],
        "at": _at(plan.start, shape, section) if plan else question.at,
        "random": bool(found and found.random),
        "bent": bool(found and found.bent),
        "returned": _run(found.returned) if found else None,
        "true": _run(found.true) if found else None,
        "landscape": _landscape(found.landscape) if found and found.landscape else None,
        "failure": asdict(failure) if failure else None,
    }


def _at(start: tuple[float, ...], shape: list[int], section: Section) -> float:
    """The start of the swept element."""
    return start[int(np.ravel_multi_index(section.wrt_index, shape))] if len(start) > 1 else start[0]


def _run(run: DescentRun) -> dict[str, Any]:
    return {
        "ending": descent_outcome(run),
        "steps": run.steps,
        "first": finite_or_none(run.losses[0]),
        "last": finite_or_none(run.losses[-1]),
        "late": run.late,
    }


def _landscape(found: Landscape) -> dict[str, Any]:
    heights = {"y": found.y, "returned": found.returned, "true": found.true}
    return {"of": found.of, "x": found.x.tolist()} | {
        name: [finite_or_none(each) for each in column] for name, column in heights.items()
    }


def _columns(found: DescentPair, shape: list[int]) -> ColumnArrays:
    rows = max(found.returned.steps, found.true.steps) + 1
    columns: ColumnArrays = {
        "step": np.arange(rows, dtype=float),
        "loss": _filled(found.returned.losses, rows),
        "true_loss": _filled(found.true.losses, rows),
    }
    names = ["", *("_" + "_".join(map(str, index)) for index in product(*map(range, shape)))]
    names = names[:1] if len(found.plan.start) == 1 else names[1:]
    for prefix, run in (("", found.returned), ("true_", found.true)):
        for what, table in (("position", run.positions), ("gradient", run.gradients)):
            columns |= {f"{prefix}{what}{name}": _filled(table[:, place], rows) for place, name in enumerate(names)}
    return columns


def _filled(column: Array, rows: int) -> Array:
    """The column padded with NaN to the length of the longer run."""
    return np.concatenate((column, np.full(rows - len(column), np.nan)))
