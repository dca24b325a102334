"""Surface view: two elements swept at once, both partial derivatives against differences, and the curl test."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from ..numerics.sampling.grid import Grid
from ..numerics.status import Status
from ..numerics.surface.budget import plan_plane
from ..numerics.surface.circulation import potential_function
from ..numerics.surface.curl import field_components, run_curl_tests
from ..numerics.surface.surface import GradientComponent, Surface, surface
from ..numerics.surface.text import curl_test_sentence, gradient_owner, surface_sentence
from ..protocol.answer import empty_answer
from ..protocol.question import DEFAULT_COUNT, Question
from ..runtime.arrays import Array
from ..runtime.batching import batched_plane
from ..runtime.section import Section
from ..schema.section import AskedRecord
from .common import ColumnArrays, ViewAnswer, sent, view_answer

_DEFAULT_POINTS, _MAX_POINTS = 61, 101  # budget: points along each axis if one call takes all: usual ones, and most


def surface_view(section: Section, question: Question, asked: AskedRecord) -> ViewAnswer:
    """The document, its columns in row-major order (a row for each ``y``). Raises ``FunctionFailed``."""
    if question.wrt2 is None or question.start2 is None or question.stop2 is None:
        section.forward(np.array([question.start, question.stop]))  # a failure is reported first
        only = f"{question.wrt} is the only number that can be swept, and a surface takes two."
        return empty_answer(question, asked, only), {}
    across = replace(section, wrt=question.wrt2.name, wrt_index=question.wrt2.index)
    ends = (question.start, question.stop), (question.start2, question.stop2)

    def axes(count: int) -> tuple[Array, Array]:
        x, y = (np.unique(section.snap(Grid(*each, count).points())) for each in ends)
        return x, y

    points = _DEFAULT_POINTS if question.count == DEFAULT_COUNT else min(question.count, _MAX_POINTS)
    if min(each.size for each in axes(points)) < 2:
        narrow = f"{question.dtype} cannot tell the ends of the range of {question.wrt2} apart; widen it."
        return empty_answer(question, asked, narrow), {}
    plan = plan_plane(section, across, axes, points, question.grad_output)
    if plan.refusal:
        return empty_answer(question, asked, plan.refusal), {}
    asked_for = question.step, plan.cells, question.atol, question.rtol
    measured = surface(section, across, plan.x, plan.y, question.grad_output, *asked_for)
    wrt, wrt2, owner = str(question.wrt), str(question.wrt2), gradient_owner(measured)
    implied = None
    if owner in ("surrogate", "another"):
        plane = batched_plane(section, across, plan.x, plan.y, question.grad_output)
        field = partial(field_components, plane, question.grad_output)
        implied = potential_function(field, plan.x, plan.y, question.grad_output, measured.values)
    test = measured.potential
    return view_answer(
        asked,
        measured,
        also=_columns(measured, implied),
        wrt2=wrt2,
        start2=question.start2,
        stop2=question.stop2,
        notes=[*asked["notes"], *plan.notes],
        sentence=surface_sentence(measured, wrt, wrt2),
        places=[None if each.sweeps_parameter else each.place for each in (section, across)],
        shape=(plan.y.size, plan.x.size),
        differs=int((measured.status == Status.DIFFERS).sum()),
        potential=test and sent(test, word=owner, sentence=curl_test_sentence(measured, wrt, wrt2)),
        pairs=run_curl_tests(section, question.grad_output) if plan.pairs else (),
    )


def _columns(measured: Surface, implied: Any) -> ColumnArrays:
    columns: ColumnArrays = {"x": measured.x, "y": measured.y, "forward": measured.values}
    parts: tuple[tuple[str, GradientComponent], ...] = (("x", measured.first), ("y", measured.second))
    for name, part in parts:
        columns |= {} if part.returned is None else {f"analytical_{name}": part.returned}
        columns[f"numerical_{name}"] = np.where(np.isfinite(part.numerical), part.numerical, np.nan)
        columns[f"allowed_{name}"] = _rounded(part.allowed)
        columns[f"status_{name}"] = part.status.astype(np.uint8)
    return columns | ({} if implied is None else {"implied": implied})


def _rounded(bound: Array) -> Array:
    """Bounds rounded up to three digits, which is as precisely as they are known."""
    with np.errstate(all="ignore"):
        power = 10.0 ** (2 - np.floor(np.log10(bound)))
        return np.where(np.isfinite(power) & (power > 0), np.ceil(bound * power) / power, bound)
