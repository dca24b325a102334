"""Surface view: two elements swept at once, both partial derivatives against differences, and the curl test."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from ..numerics.formatting.numbers import format_number
from ..numerics.sampling.grid import POINTS_ONE_BY_ONE, Grid
from ..numerics.status import Status
from ..numerics.surface.budget import PlaneBudget, plan_plane
from ..numerics.surface.circulation import potential_function
from ..numerics.surface.curl import field_components, pair_count, run_curl_tests
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
_MAX_FOR_LARGE, _LARGE = 9, 4096  # budget: at most so many if the tensors have more elements than this
_SLOWEST = (
    "A call takes about {} ms, and the smallest surface needs hundreds of them: that would take too long. "
    "The curves show one element at a time."
)
_UNTESTED = "Whether what backward returns is the gradient of a function is not tried: that would take too long."
_MAX_NUMBERS = 5_000_000  # budget: elements in all copies of the inputs, which take about a second


def surface_view(section: Section, question: Question, asked: AskedRecord) -> ViewAnswer:
    """The document, its columns in row-major order (a row for each ``y``). Raises ``FunctionFailed``."""
    if question.wrt2 is None or question.start2 is None or question.stop2 is None:
        section.forward(np.array([question.start, question.stop]))  # a failure is reported first
        only = f"{question.wrt} is the only number that can be swept, and a surface takes two."
        return empty_answer(question, asked, only), {}
    across = replace(section, wrt=question.wrt2.name, wrt_index=question.wrt2.index)
    x, y, plan, notes = _points(section, across, question)
    if min(x.size, y.size) < 2:
        narrow = f"{question.dtype} cannot tell the ends of the range of {question.wrt2} apart; widen it."
        return empty_answer(question, asked, narrow), {}
    if not plan.points:
        return empty_answer(question, asked, _SLOWEST.format(_milliseconds(plan))), {}
    asked_for = question.step, plan.cells, question.atol, question.rtol
    measured = surface(section, across, x, y, question.grad_output, *asked_for)
    wrt, wrt2, owner = str(question.wrt), str(question.wrt2), gradient_owner(measured)
    implied = None
    if owner in ("surrogate", "another"):
        plane = batched_plane(section, across, x, y, question.grad_output)
        field = partial(field_components, plane, question.grad_output)
        implied = potential_function(field, x, y, question.grad_output, measured.values)
    test = measured.potential
    return view_answer(
        asked,
        measured,
        also=_columns(measured, implied),
        wrt2=wrt2,
        start2=question.start2,
        stop2=question.stop2,
        notes=asked["notes"] + notes,
        sentence=surface_sentence(measured, wrt, wrt2),
        places=[None if each.sweeps_parameter else each.place for each in (section, across)],
        shape=(y.size, x.size),
        differs=int((measured.status == Status.DIFFERS).sum()),
        potential=test and sent(test, word=owner, sentence=curl_test_sentence(measured, wrt, wrt2)),
        pairs=run_curl_tests(section, question.grad_output) if plan.pairs else (),
    )


def _points(section: Section, across: Section, question: Question) -> tuple[Array, Array, PlaneBudget, list[str]]:
    """The numbers along both axes, within the sampling budget; the plan of what there is time for; notes."""
    points = _DEFAULT_POINTS if question.count == DEFAULT_COUNT else min(question.count, _MAX_POINTS)
    ends = (question.start, question.stop), (question.start2 or 0.0, question.stop2 or 0.0)

    def grid(count: int) -> list[Array]:
        return [np.unique(section.snap(Grid(*each, count).points())) for each in ends]

    x, y = grid(points)
    if min(x.size, y.size) < 2:
        return x, y, PlaneBudget(0, 0, False, 0.0), []
    size = max(math.prod(each.shape) for each in section.op.inputs)
    few, few2 = grid(min(points, POINTS_ONE_BY_ONE))
    plane = batched_plane(section, across, few, few2, question.grad_output)
    structure = plane.structure
    reason = "Every point needs a call of its own" if structure == "one by one" else "The tensors are large"
    limit = POINTS_ONE_BY_ONE
    if structure != "one by one":
        limit = max(limit, math.isqrt(_MAX_NUMBERS // size))
    limit = min(points, _MAX_FOR_LARGE if size > _LARGE else limit)
    plan = plan_plane(plane, structure, few, few2, limit, pair_count(section, question.grad_output))
    if 0 < plan.points < limit:
        reason = f"A call takes about {_milliseconds(plan)} ms"
    if plan.points in (0, points):
        return x, y, plan, _untested_note(plan)
    x, y = grid(plan.points)
    return x, y, plan, [f"{reason}, so only {y.size} × {x.size} of them are on the maps.", *_untested_note(plan)]


def _milliseconds(plan: PlaneBudget) -> str:
    """The time of a call in milliseconds, to one digit, so that the text does not change from run to run."""
    return format_number(float(f"{1000 * plan.seconds:.1g}"))


def _untested_note(plan: PlaneBudget) -> list[str]:
    return [_UNTESTED] if plan.points and plan.cells == 0 else []


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
