"""Surface view: two elements swept at once, both partial derivatives against differences, and the curl test."""

from __future__ import annotations

import math
from dataclasses import asdict, replace
from functools import partial
from typing import Any

import numpy as np

from ..numerics.formatting.numbers import format_number
from ..numerics.sampling.grid import Grid
from ..numerics.status import Status
from ..numerics.surface.all_pairs import pair_count, run_curl_tests
from ..numerics.surface.budget import PlaneBudget, plan_plane
from ..numerics.surface.curl_test import CurlTest
from ..numerics.surface.potential_function import potential_function
from ..numerics.surface.surface import GradientComponent, Surface, field_components, surface
from ..numerics.surface.text import curl_test_sentence, gradient_owner, surface_sentence
from ..protocol.answer_header import empty_answer
from ..protocol.question import DEFAULT_COUNT, Element, Question
from ..runtime.arrays import Array
from ..runtime.batching import batched_plane, plane_structure
from ..runtime.section import Section
from .columns import ColumnArrays

# How many points along each axis if one call takes them all: by default, and at most.
_POINTS, _MOST = 61, 101
# At most so many if each point needs calls of its own, and if the tensors have more elements than ``_LARGE``.
_MOST_ALONE, _MOST_LARGE, _LARGE = 17, 9, 4096
_SLOWEST = (
    "A call takes about {} ms, and the smallest surface needs hundreds of them: that would take too long. "
    "The curves show one element at a time."
)
_UNTESTED = "Whether what backward returns is the gradient of a function is not tried: that would take too long."
# Total number of elements in all copies of the inputs that takes about a second.
_NUMBERS = 5_000_000


def surface_view(section: Section, question: Question) -> tuple[dict[str, Any], ColumnArrays]:
    """The document, its columns in row-major order (a row for each ``y``). Raises ``FunctionFailed``."""
    if question.wrt2 is None or question.start2 is None or question.stop2 is None:
        section.forward(np.array([question.start, question.stop]))  # a failure is reported first
        return _nothing(f"{question.wrt} is the only number that can be swept, and a surface takes two."), {}
    across = replace(section, wrt=question.wrt2.name, wrt_index=question.wrt2.index)
    x, y, plan, notes = _points(section, across, question)
    if min(x.size, y.size) < 2:
        return _nothing(f"{question.dtype} cannot tell the ends of the range of {question.wrt2} apart; widen it."), {}
    if not plan.points:
        return _nothing(_SLOWEST.format(_milliseconds(plan))), {}
    seen = surface(section, across, x, y, question.grad_output, question.step, plan.cells)
    wrt, wrt2, who = str(question.wrt), str(question.wrt2), gradient_owner(seen)
    followed = None
    if who in ("surrogate", "another"):
        field = partial(
            field_components, batched_plane(section, across, x, y, question.grad_output), question.grad_output
        )
        followed = potential_function(field, x, y, question.grad_output, seen.values)
    return {
        "notes": notes,
        "sentence": surface_sentence(seen, wrt, wrt2),
        "structure": seen.structure,
        "places": [_place(each) for each in (section, across)],
        "shape": [y.size, x.size],
        "statuses": [each.name.lower() for each in Status],
        "differs": int((seen.status == Status.DIFFERS).sum()),
        "potential": _potential(seen.potential, who, curl_test_sentence(seen, wrt, wrt2)) if seen.potential else None,
        "pairs": [
            {
                "wrt": str(Element(*each.first)),
                "wrt2": str(Element(*each.second)),
                "holds": each.potential.holds,
                "worst": asdict(each.potential.worst) if each.potential.worst else None,
            }
            for each in (run_curl_tests(section, question.grad_output) if plan.pairs else ())
        ],
        "ridges": {
            "x": seen.ridges.x.tolist(),
            "y": seen.ridges.y.tolist(),
            "jump": seen.ridges.jump.tolist(),
        },
        "failure": asdict(seen.failure) if seen.failure else None,
    }, _columns(seen, followed)


def _points(section: Section, across: Section, question: Question) -> tuple[Array, Array, PlaneBudget, list[str]]:
    """The numbers along both axes, within the sampling budget; the plan of what there is time for; notes."""
    asked = _POINTS if question.count == DEFAULT_COUNT else min(question.count, _MOST)
    ends = (question.start, question.stop), (question.start2 or 0.0, question.stop2 or 0.0)

    def grid(count: int) -> list[Array]:
        return [np.unique(section.snap(Grid(*each, count).points())) for each in ends]

    x, y = grid(asked)
    if min(x.size, y.size) < 2:
        return x, y, PlaneBudget(0, 0, False, 0.0), []
    size = max(math.prod(each.shape) for each in section.op.inputs)
    few, few2 = grid(min(asked, _MOST_ALONE))
    plane = batched_plane(section, across, few, few2, question.grad_output)
    how = plane_structure(plane)
    why = "Every point needs a call of its own" if how == "one by one" else "The tensors are large"
    if size > _LARGE:
        most = _MOST_LARGE
    else:
        most = _MOST_ALONE if how == "one by one" else max(_MOST_ALONE, math.isqrt(_NUMBERS // size))
    most = min(asked, most)
    plan = plan_plane(plane, how, few, few2, most, pair_count(section, question.grad_output))
    if 0 < plan.points < most:
        why = f"A call takes about {_milliseconds(plan)} ms"
    if plan.points in (0, asked):
        return x, y, plan, _untested(plan)
    x, y = grid(plan.points)
    return x, y, plan, [f"{why}, so only {y.size} × {x.size} of them are on the maps.", *_untested(plan)]


def _milliseconds(plan: PlaneBudget) -> str:
    """The time of a call in milliseconds, to one digit, so that the text does not change from run to run."""
    return format_number(float(f"{1000 * plan.seconds:.1g}"))


def _untested(plan: PlaneBudget) -> list[str]:
    """The note that the curl test was left out for lack of time."""
    return [_UNTESTED] if plan.points and not plan.cells else []


def _potential(found: CurlTest, who: str, sentence: str) -> dict[str, Any]:
    return {"word": who, "sentence": sentence} | asdict(found)


def _columns(seen: Surface, followed: Any) -> ColumnArrays:
    columns: ColumnArrays = {"x": seen.x, "y": seen.y, "forward": seen.values}
    parts: tuple[tuple[str, GradientComponent], ...] = (("x", seen.first), ("y", seen.second))
    for name, part in parts:
        columns |= {} if part.returned is None else {f"analytical_{name}": part.returned}
        columns[f"numerical_{name}"] = np.where(np.isfinite(part.numerical), part.numerical, np.nan)
        columns[f"allowed_{name}"] = _rounded(part.allowed)
        columns[f"status_{name}"] = part.status.astype(np.uint8)
    return columns | ({} if followed is None else {"implied": followed})


def _place(section: Section) -> int | None:
    """The flat index of the swept element in its tensor; None for a parameter."""
    if section.sweeps_parameter:
        return None
    shape = next(each.shape for each in section.op.inputs if each.name == section.wrt)
    return int(np.ravel_multi_index(section.wrt_index, shape)) if section.wrt_index else 0


def _rounded(bound: Array) -> Array:
    """Bounds rounded up to three digits, which is as precisely as they are known."""
    with np.errstate(all="ignore"):
        power = 10.0 ** (2 - np.floor(np.log10(bound)))
        return np.where(np.isfinite(power) & (power > 0), np.ceil(bound * power) / power, bound)


def _nothing(sentence: str) -> dict[str, Any]:
    return empty_answer(sentence, None, "surface")
