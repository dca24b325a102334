"""Which outputs depend on which inputs, and at which inputs a gradient arrives for a loss on one output or on all."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import torch

from ...runtime.arrays import Array, largest_magnitude
from ...runtime.failure import FunctionFailed, failure_of
from ...runtime.section import Index, Section
from ...runtime.vjp import CotangentRoot, leaf_gradients
from ..differentiation.finite_differences import EVIDENCE_BOUNDS, PointKind
from .cells import BasePoint, jacobian_slopes
from .every_input import InputOutputMap, tensor_elements

_Link = Literal["arrives", "dropped", "unfounded", "nothing", "unknown"]
_Links = tuple[tuple[_Link, ...], ...]

_UNKNOWN: _Link = "unknown"
# Slopes along one line are compared to this share of the largest.
_ALIKE = 1e-6
# The most output elements, the time budget in seconds, and the estimated calls for each input.
_LARGEST, _BUDGET, _CALLS = 1 << 18, 1.5, 26


@dataclass(frozen=True)
class LossLinks:
    """A loss on some ``outputs``: how each of them is linked to each input, and whether the gradients are right.

    ``links`` and ``returned`` (what arrived: "gradient", "0" or "None") go by the inputs' order, links row by row of
    one output. ``right`` compares what arrived with differences along one random line through the input, None where
    that cannot be told. ``failure`` is what backward raised.
    """

    outputs: tuple[str, ...]
    links: _Links
    returned: tuple[str, ...]
    right: tuple[bool | None, ...]
    failure: str = ""


@dataclass(frozen=True)
class Dependence:
    """All inputs and outputs by name, which outputs carry a gradient at all, and the losses that were tried.

    ``surrogate`` says that backward is meant to be the derivative of another function.
    """

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    shapes: tuple[Index, ...]
    carries: tuple[bool, ...]
    losses: tuple[LossLinks, ...]
    surrogate: bool


@dataclass(frozen=True)
class _Moved:
    """How the outputs depend on one input: whether at all, and the slope and error bound of each one's weighted sum."""

    moves: tuple[bool | None, ...]
    slope: Array
    error: Array


@np.errstate(all="ignore")
def measure_dependence(section: Section, span: Callable[[str], float], grad_output: float = 1.0) -> Dependence | None:
    """The dependence of every output on every input, by differences along a random line and by backward of every loss.

    ``span`` gives the range of an input. None where that would take too long. Raises ``FunctionFailed`` where forward
    fails.
    """
    every = InputOutputMap(section)
    if every.size > _LARGEST or _CALLS * len(section.inputs) * every.seconds > _BUDGET:
        return None
    inputs, outputs = tuple(name for name, _ in section.inputs), section.op.outputs
    moved = [_moved(every, name, span(name)) for name in inputs]
    alone = [_loss(every, (name,), moved, grad_output) for name in outputs]
    together = [_loss(every, outputs, moved, grad_output)] if len(outputs) > 1 else []
    losses = (*alone, *(_as_alone(each, alone) for each in together))
    _, found = every.tracked()
    shapes, carries = tuple(tuple(each.shape) for each in found), tuple(each.requires_grad for each in found)
    return Dependence(inputs, outputs, shapes, carries, losses, section.op.surrogate is not None)


def _moved(every: InputOutputMap, name: str, span: float) -> _Moved:
    line = every.line(name)
    try:
        ground = BasePoint.plain(line, span, every.precision)
        y = ground.y
        found = jacobian_slopes(ground, np.arange(y.size), np.zeros(1, np.intp))
    except FunctionFailed:
        unknown = len(every.weights)
        return _Moved((None,) * unknown, np.full(unknown, np.nan), np.full(unknown, np.nan))
    least = _ALIKE * _ALIKE * (largest_magnitude(found.value) + largest_magnitude(y) / span)
    seen = np.abs(found.value) > EVIDENCE_BOUNDS * found.error + least
    kink, sides = found.kind == PointKind.KINK, (np.abs(np.stack((found.left, found.right))) > least).sum(axis=0)
    there = np.where(kink, sides == 2, seen | (found.kind == PointKind.JUMP))
    open_ = np.isin(found.kind, (PointKind.UNRESOLVED, PointKind.NONFINITE)) | kink & (sides == 1)
    known = np.isin(found.kind, (PointKind.SMOOTH, PointKind.EDGE))
    moves, slope, error = [], [], []
    for at, weights in zip(every.places, every.weights, strict=True):
        moves.append(True if there[at].any() else None if open_[at].any() else False)
        slope.append(float(weights @ found.value[at]) if known[at].all() else np.nan)
        error.append(float(np.abs(weights) @ found.error[at]))
    return _Moved(tuple(moves), np.array(slope), np.array(error))


def _loss(every: InputOutputMap, outputs: tuple[str, ...], moved: list[_Moved], grad_output: float) -> LossLinks:
    """The loss on ``outputs``, the weighted sum of their elements."""
    which = [every.section.op.outputs.index(name) for name in outputs]
    try:
        found = _gradients(every, which, grad_output)
    except FunctionFailed as error:
        said = f"{error.failure.kind}: {error.failure.message.splitlines()[0]}"
        return LossLinks(outputs, (tuple(_UNKNOWN for _ in moved),) * len(which), (), (), said)
    returned = tuple("None" if each is None else "gradient" if bool(each.any()) else "0" for each in found)
    links: _Links = tuple(
        tuple(_link(each.moves[output], what == "gradient") for each, what in zip(moved, returned, strict=True))
        for output in which
    )
    right = tuple(
        _right(every, name, each, gradient, which, grad_output)
        for (name, _), each, gradient in zip(every.section.inputs, moved, found, strict=True)
    )
    return LossLinks(outputs, links, returned, right)


def _link(moves: bool | None, arrives: bool) -> _Link:
    if moves is None:
        return "arrives" if arrives else "unknown"
    if moves:
        return "arrives" if arrives else "dropped"
    return "unfounded" if arrives else "nothing"


def _right(
    every: InputOutputMap, name: str, moved: _Moved, gradient: torch.Tensor | None, which: list[int], grad_output: float
) -> bool | None:
    """Whether what arrived is the slope of the loss along the random line."""
    wanted, error = grad_output * moved.slope[which].sum(), abs(grad_output) * moved.error[which].sum()
    if not np.isfinite(wanted + error):
        return None
    along = every.direction(name)
    came = np.zeros(along.size) if gradient is None else tensor_elements(gradient)
    scale = abs(wanted) + float(np.abs(along) @ np.abs(came)) + largest_magnitude(grad_output * moved.slope)
    return bool(abs(float(along @ came) - wanted) <= every.share * scale + EVIDENCE_BOUNDS * error)


def _gradients(every: InputOutputMap, which: list[int], grad_output: float) -> list[torch.Tensor | None]:
    leaves, outputs = every.tracked()
    roots = [
        CotangentRoot.apply(outputs[place], every.weight(place, outputs[place]) * grad_output)  # type: ignore[no-untyped-call]
        for place in which
        if outputs[place].requires_grad
    ]
    if not roots:
        return [None] * len(leaves)
    try:
        return leaf_gradients(sum(roots[1:], roots[0]), leaves)
    except Exception as error:
        raise failure_of(error, every.section.op, "backward") from error


def _as_alone(together: LossLinks, alone: list[LossLinks]) -> LossLinks:
    """The loss on all outputs, with links marked as dropped that are dropped by the loss on a single output."""
    if together.failure:
        return together
    links: _Links = tuple(
        tuple(
            lone if not single.failure and now == "arrives" and lone in ("dropped", "nothing") else now
            for now, lone in zip(joint, single.links[0], strict=True)
        )
        for joint, single in zip(together.links, alone, strict=True)
    )
    founded = [any(row[place] == "arrives" for row in links) for place in range(len(together.returned))]
    links = tuple(
        tuple("nothing" if link == "unfounded" and founded[place] else link for place, link in enumerate(row))
        for row in links
    )
    return replace(together, links=links)
