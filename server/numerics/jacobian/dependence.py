"""Which outputs depend on which inputs, and at which inputs a gradient arrives for a loss on one output or on all."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import torch

from ...runtime.arrays import EPSILON, Array, largest_magnitude
from ...runtime.batching import seconds_per_copy
from ...runtime.copies import Index
from ...runtime.failure import Failure, FunctionFailed, failure_of
from ...runtime.graph import CallGraph
from ...runtime.section import Section
from ...runtime.vjp import float64_array, pull_back
from ..differentiation.finite_differences import EVIDENCE_BOUNDS, PointKind
from ..differentiation.map_slopes import BasePoint, random_direction, slopes_along
from ..tolerance import ALIKE_SHARE, REMARK_SHARE, Allowance, relative_tolerance

_Link = Literal["arrives", "dropped", "unfounded", "nothing", "unknown"]
_Links = tuple[tuple[_Link, ...], ...]
_UNKNOWN: _Link = "unknown"
_SUM_RTOL = 100  # bound: the tolerance of a sum of gradients, in those of one
# budget: the most output elements, the seconds for everything, and the estimated calls for each pair.
_MAX_ELEMENTS, _SECONDS, _CALLS_PER_PAIR = 1 << 18, 1.5, 26


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
class _Effect:
    """How the outputs depend on one input: whether at all, and the slope and error bound of each one's weighted sum."""

    moves: tuple[bool | None, ...]
    slope: Array
    error: Array


@np.errstate(all="ignore")
def measure_dependence(
    section: Section,
    spans: Mapping[str, float],
    grad_output: float = 1.0,
    atol: float | None = None,
    rtol: float | None = None,
) -> Dependence | None:
    """The dependence of every output on every input, by differences along a random line and by backward of every loss.

    ``spans`` are the ranges of the inputs. None where that would take too long. Raises ``FunctionFailed`` where forward
    fails.
    """
    outputs, precision = _tracked(section)[1], max(EPSILON, torch.finfo(section.dtype).eps / 2)
    weights = tuple(random_direction(out.numel(), place) for place, out in enumerate(outputs))
    calls = _CALLS_PER_PAIR * len(section.inputs) * len(outputs)
    if sum(map(np.size, weights)) > _MAX_ELEMENTS or calls * seconds_per_copy(section) > _SECONDS:
        return None
    asked = _Asked(section, Allowance(section.dtype, atol, rtol), grad_output, weights)
    inputs, names = tuple(name for name, _ in section.inputs), section.op.outputs
    effects = [_effect(asked, name, spans[name], precision) for name in inputs]
    losses = [_loss(asked, (name,), effects) for name in names]
    if len(names) > 1:
        losses.append(_with_single_losses(_loss(asked, names, effects), losses))
    shapes, carries = tuple(tuple(each.shape) for each in outputs), tuple(each.requires_grad for each in outputs)
    return Dependence(inputs, names, shapes, carries, tuple(losses), section.op.surrogate is not None)


@dataclass(frozen=True)
class _Asked:
    """The losses of a section: sums of its outputs, each with its ``weights``, times ``grad_output``.

    ``allowance`` is how far a gradient may be off.
    """

    section: Section
    allowance: Allowance
    grad_output: float
    weights: tuple[Array, ...]

    def direction(self, name: str) -> Array:
        """A random line through all elements of an input."""
        return random_direction(len(dict(self.section.inputs)[name]), len(name))


def _tracked(section: Section) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
    """Leaves for all inputs, and the outputs that go back to them. Raises ``FunctionFailed``."""
    try:
        graph = CallGraph.of(section, section.held)
    except Exception as error:
        raise failure_of(error, section.op, "forward") from error
    outputs = [each for name in section.op.outputs if isinstance(each := graph.outputs.get(name), torch.Tensor)]
    if len(outputs) < len(section.op.outputs):
        raise FunctionFailed(Failure("forward", "WrongShape", "forward returned no tensor where one was declared."))
    return graph.leaves, outputs


def _effect(asked: _Asked, name: str, span: float, precision: float) -> _Effect:
    parts: list[tuple[bool | None, float, float]] = []
    for output, weights in zip(asked.section.op.outputs, asked.weights, strict=True):
        copies = asked.section.alone(wrt=name, wrt_index=(), of=output, of_index=())
        try:
            ground = BasePoint.plain(copies, span, precision)
            slopes = slopes_along(ground, asked.direction(name), np.arange(weights.size))
        except FunctionFailed:
            parts.append((None, np.nan, np.nan))
            continue
        least = ALIKE_SHARE * (largest_magnitude(slopes.value) + largest_magnitude(ground.y) / span)
        nonzero = np.abs(slopes.value) > EVIDENCE_BOUNDS * slopes.error + least
        kink, sides = slopes.kind == PointKind.KINK, np.abs(np.stack((slopes.left, slopes.right))) > least
        moving = np.where(kink, sides.all(axis=0), nonzero | (slopes.kind == PointKind.JUMP))
        undecided = np.isin(slopes.kind, (PointKind.UNRESOLVED, PointKind.NONFINITE)) | kink & (sides.sum(axis=0) == 1)
        reliable = np.isin(slopes.kind, (PointKind.SMOOTH, PointKind.EDGE)).all()
        moves = True if moving.any() else None if undecided.any() else False
        slope, error = float(weights @ slopes.value), float(np.abs(weights) @ slopes.error)
        parts.append((moves, slope if reliable else np.nan, error))
    moves_of, slope_of, error_of = zip(*parts, strict=True)
    return _Effect(moves_of, np.array(slope_of), np.array(error_of))


def _loss(asked: _Asked, outputs: tuple[str, ...], effects: list[_Effect]) -> LossLinks:
    """The loss on ``outputs``, the weighted sum of their elements."""
    positions = [asked.section.op.outputs.index(name) for name in outputs]
    try:
        gradients = _gradients(asked, positions)
    except FunctionFailed as error:
        return LossLinks(outputs, ((_UNKNOWN,) * len(effects),) * len(positions), (), (), error.failure.raised)
    returned = tuple("None" if each is None else "gradient" if bool(each.any()) else "0" for each in gradients)
    links: _Links = tuple(
        tuple(_link(each, output, positions, what) for each, what in zip(effects, returned, strict=True))
        for output in positions
    )
    right = tuple(
        _is_right(asked, name, each, gradient, positions)
        for (name, _), each, gradient in zip(asked.section.inputs, effects, gradients, strict=True)
    )
    return LossLinks(outputs, links, returned, right)


def _link(effect: _Effect, output: int, positions: list[int], returned: str) -> _Link:
    """How an ``output`` of a loss on some ``positions`` is linked to an input, for which that was ``returned``."""
    moves, founded = effect.moves[output], any(effect.moves[each] is not False for each in positions)
    if returned == "gradient":
        return "arrives" if moves is not False else "nothing" if founded else "unfounded"
    return "unknown" if moves is None else "dropped" if moves else "nothing"


def _is_right(
    asked: _Asked, name: str, effect: _Effect, gradient: torch.Tensor | None, positions: list[int]
) -> bool | None:
    """Whether what arrived is the slope of the loss along the random line."""
    grad_output, allowance, direction = asked.grad_output, asked.allowance, asked.direction(name)
    expected, error = grad_output * effect.slope[positions].sum(), abs(grad_output) * effect.error[positions].sum()
    if not np.isfinite(expected + error):
        return None
    arrived = np.zeros(direction.size) if gradient is None else float64_array(gradient.reshape(-1))
    scale = abs(expected) + float(np.abs(direction) @ np.abs(arrived)) + largest_magnitude(grad_output * effect.slope)
    # Each slope in the sum may be off by what is asked for; the sum itself loses last places.
    weights = sum(float(np.abs(asked.weights[place]).sum()) for place in positions)
    parts = weights * float(np.abs(direction).sum())
    share = REMARK_SHARE if allowance.remarks else allowance.rtol or 0.0
    share = max(_SUM_RTOL * relative_tolerance(asked.section.dtype), share)
    allowed = share * scale + parts * (allowance.atol or 0.0) + EVIDENCE_BOUNDS * error
    return bool(abs(float(direction @ arrived) - expected) <= allowed)


def _gradients(asked: _Asked, positions: list[int]) -> list[torch.Tensor | None]:
    leaves, outputs = _tracked(asked.section)
    moved = [(outputs[place], asked.weights[place]) for place in positions if outputs[place].requires_grad]
    if not moved:
        return [None] * len(leaves)
    given = [
        torch.from_numpy(asked.grad_output * each).to(out.device, out.dtype).reshape(out.shape) for out, each in moved
    ]
    try:
        return pull_back([out for out, _ in moved], given, leaves)
    except Exception as error:
        raise failure_of(error, asked.section.op, "backward") from error


def _with_single_losses(together: LossLinks, singles: list[LossLinks]) -> LossLinks:
    """The loss on all outputs, with links marked as dropped that are dropped by the loss on a single output."""
    if together.failure:
        return together
    links = (
        tuple(
            lone if now == "arrives" and lone in ("dropped", "nothing") else now
            for now, lone in zip(joint, single.links[0], strict=True)
        )
        for joint, single in zip(together.links, singles, strict=True)
    )
    return replace(together, links=tuple(links))
