"""Which outputs depend on which inputs, and at which inputs a gradient arrives for a loss on one output or on all."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, Literal, cast

import numpy as np
import torch

from ...runtime.arrays import EPSILON, Array, largest_magnitude
from ...runtime.call_cost import estimated_seconds
from ...runtime.failure import Failure, FunctionFailed, describe_result, failure_of
from ...runtime.section import Section
from ...runtime.vjp import Index, pull_back
from ..differentiation.finite_differences import EVIDENCE_BOUNDS, PointKind
from ..differentiation.map_slopes import BasePoint, Line, jacobian_slopes, random_direction
from ..tolerance import REMARK_SHARE, Allowance, tolerance_for

_Link = Literal["arrives", "dropped", "unfounded", "nothing", "unknown"]
_Links = tuple[tuple[_Link, ...], ...]
_UNKNOWN: _Link = "unknown"
# bound: a slope along a line counts as 0 below this share of the largest one plus the height over the range.
_SLOPE_RTOL = 1e-6
_SUM_RTOL = 100  # bound: the tolerance of a sum of gradients, in those of one
# budget: the most output elements, the seconds for everything, and the estimated calls for each input.
_MAX_ELEMENTS, _SECONDS, _CALLS_PER_INPUT = 1 << 18, 1.5, 26


@dataclass(frozen=True)
class InputOutputMap:
    """A Function as a map from all of its inputs to all of its outputs, one after another in one row of numbers.

    ``allowance`` is how far a gradient may be off.
    """

    section: Section
    allowance: Allowance

    @property
    def precision(self) -> float:
        """Half a unit in the last place of the dtype."""
        return max(EPSILON, torch.finfo(self.section.dtype).eps / 2)

    @property
    def size(self) -> int:
        """How many elements all outputs have."""
        return self.places[-1].stop

    @cached_property
    def seconds(self) -> float:
        """The estimated duration of one call."""
        return estimated_seconds(self.outputs)

    @cached_property
    def weights(self) -> tuple[Array, ...]:
        """The weights of the loss for the elements of each output: reproducible random numbers."""
        with torch.no_grad():
            sizes = [out.numel() for out in self.outputs()]
        return tuple(random_direction(size, place) for place, size in enumerate(sizes))

    @cached_property
    def places(self) -> tuple[slice, ...]:
        """Where each output lies in the row of all."""
        ends = np.cumsum([0, *(each.size for each in self.weights)])
        return tuple(slice(int(first), int(last)) for first, last in pairwise(ends))

    def direction(self, name: str) -> Array:
        """A random line through all elements of an input."""
        return random_direction(len(dict(self.section.inputs)[name]), len(name))

    def line(self, name: str) -> Line:
        """All outputs along that line."""
        direction = self.direction(name)

        def willing(points: Array) -> Array:
            rows = np.full((len(points), self.size), np.nan)
            for row, point in zip(rows, points, strict=True):
                with suppress(FunctionFailed):
                    row[:] = self.outputs_moved(name, point[0] * direction)
            return rows

        return Line(lambda points: np.stack([self.outputs_moved(name, t * direction) for (t,) in points]), willing)

    def weight(self, place: int, out: torch.Tensor) -> torch.Tensor:
        """The weights of one output, as its grad_output."""
        return torch.from_numpy(self.weights[place]).to(out.device, out.dtype).reshape(out.shape)

    def tracked(self) -> tuple[list[torch.Tensor], tuple[torch.Tensor, ...]]:
        """Leaves for all inputs, and the outputs that go back to them."""
        leaves = [self._tensor(name).requires_grad_() for name, _ in self.section.inputs]
        return leaves, self.outputs(*(leaf.clone() for leaf in leaves))

    def outputs(self, *tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """The outputs, for these inputs or those held. Raises ``FunctionFailed``."""
        section = self.section
        arguments = tensors or [self._tensor(name) for name, _ in section.inputs]
        try:
            y = section.op(*arguments, *(value for _, value in section.parameters))
        except Exception as error:
            raise failure_of(error, section.op, "forward") from error
        outputs = y if isinstance(y, tuple) else (y,)
        count = len(section.op.outputs)
        if len(outputs) < count or not all(isinstance(each, torch.Tensor) for each in outputs[:count]):
            declared = "a tensor was" if count == 1 else f"{count} tensors were"
            message = f"forward returned {describe_result(y, len(outputs))} where {declared} declared."
            raise FunctionFailed(Failure("forward", "WrongShape", message))
        return outputs[:count]

    def outputs_moved(self, name: str, by: Array) -> Array:
        """All outputs with one input moved. Raises ``FunctionFailed``."""
        arguments = [self._tensor(each, by if each == name else None) for each, _ in self.section.inputs]
        with torch.no_grad():
            outputs = self.outputs(*arguments)
        return np.concatenate([tensor_elements(out) for out in outputs])

    def _tensor(self, name: str, by: Array | None = None) -> torch.Tensor:
        section = self.section
        values: Any = np.array(dict(section.inputs)[name])
        flat = torch.from_numpy(values if by is None else values + by)
        return flat.to(section.device, section.dtype).reshape(section.shape(name))


def tensor_elements(tensor: torch.Tensor) -> Array:
    """All elements of a tensor, in row-major order."""
    return cast(Array, tensor.detach().reshape(-1).to("cpu", torch.float64).numpy(force=True))


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
    span: Callable[[str], float],
    grad_output: float = 1.0,
    atol: float | None = None,
    rtol: float | None = None,
) -> Dependence | None:
    """The dependence of every output on every input, by differences along a random line and by backward of every loss.

    ``span`` gives the range of an input. None where that would take too long. Raises ``FunctionFailed`` where forward
    fails.
    """
    whole = InputOutputMap(section, Allowance(section.dtype, atol, rtol))
    if whole.size > _MAX_ELEMENTS or _CALLS_PER_INPUT * len(section.inputs) * whole.seconds > _SECONDS:
        return None
    inputs, outputs = tuple(name for name, _ in section.inputs), section.op.outputs
    effects = [_effect(whole, name, span(name)) for name in inputs]
    singles = [_loss(whole, (name,), effects, grad_output) for name in outputs]
    joint = [_loss(whole, outputs, effects, grad_output)] if len(outputs) > 1 else []
    losses = (*singles, *(_with_single_losses(each, singles) for each in joint))
    _, tensors = whole.tracked()
    shapes, carries = tuple(tuple(each.shape) for each in tensors), tuple(each.requires_grad for each in tensors)
    return Dependence(inputs, outputs, shapes, carries, losses, section.op.surrogate is not None)


def _effect(every: InputOutputMap, name: str, span: float) -> _Effect:
    line = every.line(name)
    try:
        ground = BasePoint.plain(line, span, every.precision)
        y = ground.y
        slopes = jacobian_slopes(ground, np.arange(y.size), np.zeros(1, np.intp))
    except FunctionFailed:
        unknown = len(every.weights)
        return _Effect((None,) * unknown, np.full(unknown, np.nan), np.full(unknown, np.nan))
    least = _SLOPE_RTOL * (largest_magnitude(slopes.value) + largest_magnitude(y) / span)
    nonzero = np.abs(slopes.value) > EVIDENCE_BOUNDS * slopes.error + least
    kink, sides = slopes.kind == PointKind.KINK, (np.abs(np.stack((slopes.left, slopes.right))) > least).sum(axis=0)
    moving = np.where(kink, sides == 2, nonzero | (slopes.kind == PointKind.JUMP))
    undecided = np.isin(slopes.kind, (PointKind.UNRESOLVED, PointKind.NONFINITE)) | kink & (sides == 1)
    reliable = np.isin(slopes.kind, (PointKind.SMOOTH, PointKind.EDGE))
    moves, slope, error = [], [], []
    for at, weights in zip(every.places, every.weights, strict=True):
        moves.append(True if moving[at].any() else None if undecided[at].any() else False)
        slope.append(float(weights @ slopes.value[at]) if reliable[at].all() else np.nan)
        error.append(float(np.abs(weights) @ slopes.error[at]))
    return _Effect(tuple(moves), np.array(slope), np.array(error))


def _loss(every: InputOutputMap, outputs: tuple[str, ...], effects: list[_Effect], grad_output: float) -> LossLinks:
    """The loss on ``outputs``, the weighted sum of their elements."""
    positions = [every.section.op.outputs.index(name) for name in outputs]
    try:
        gradients = _gradients(every, positions, grad_output)
    except FunctionFailed as error:
        failure = f"{error.failure.kind}: {error.failure.message.splitlines()[0]}"
        return LossLinks(outputs, (tuple(_UNKNOWN for _ in effects),) * len(positions), (), (), failure)
    returned = tuple("None" if each is None else "gradient" if bool(each.any()) else "0" for each in gradients)
    links: _Links = tuple(
        tuple(_link(each.moves[output], what == "gradient") for each, what in zip(effects, returned, strict=True))
        for output in positions
    )
    right = tuple(
        _is_right(every, name, each, gradient, positions, grad_output)
        for (name, _), each, gradient in zip(every.section.inputs, effects, gradients, strict=True)
    )
    return LossLinks(outputs, links, returned, right)


def _link(moves: bool | None, arrives: bool) -> _Link:
    if moves is None:
        return "arrives" if arrives else "unknown"
    if moves:
        return "arrives" if arrives else "dropped"
    return "unfounded" if arrives else "nothing"


def _is_right(
    every: InputOutputMap,
    name: str,
    effect: _Effect,
    gradient: torch.Tensor | None,
    positions: list[int],
    grad_output: float,
) -> bool | None:
    """Whether what arrived is the slope of the loss along the random line."""
    expected, error = grad_output * effect.slope[positions].sum(), abs(grad_output) * effect.error[positions].sum()
    if not np.isfinite(expected + error):
        return None
    direction = every.direction(name)
    arrived = np.zeros(direction.size) if gradient is None else tensor_elements(gradient)
    scale = abs(expected) + float(np.abs(direction) @ np.abs(arrived)) + largest_magnitude(grad_output * effect.slope)
    # Each slope in the sum may be off by what is asked for; the sum itself loses last places.
    weights = sum(float(np.abs(every.weights[place]).sum()) for place in positions)
    parts = abs(grad_output) * weights * float(np.abs(direction).sum())
    asked = REMARK_SHARE if every.allowance.remarks else every.allowance.rtol or 0.0
    share = max(_SUM_RTOL * tolerance_for(1.0, every.section.dtype).rtol, asked)
    allowed = share * scale + parts * (every.allowance.atol or 0.0) + EVIDENCE_BOUNDS * error
    return bool(abs(float(direction @ arrived) - expected) <= allowed)


def _gradients(every: InputOutputMap, positions: list[int], grad_output: float) -> list[torch.Tensor | None]:
    leaves, outputs = every.tracked()
    moved = [place for place in positions if outputs[place].requires_grad]
    if not moved:
        return [None] * len(leaves)
    weights = [every.weight(place, outputs[place]) * grad_output for place in moved]
    try:
        return pull_back([outputs[place] for place in moved], weights, leaves)
    except Exception as error:
        raise failure_of(error, every.section.op, "backward") from error


def _with_single_losses(together: LossLinks, singles: list[LossLinks]) -> LossLinks:
    """The loss on all outputs, with links marked as dropped that are dropped by the loss on a single output."""
    if together.failure:
        return together
    links: _Links = tuple(
        tuple(
            lone if not single.failure and now == "arrives" and lone in ("dropped", "nothing") else now
            for now, lone in zip(joint, single.links[0], strict=True)
        )
        for joint, single in zip(together.links, singles, strict=True)
    )
    founded = [any(row[place] == "arrives" for row in links) for place in range(len(together.returned))]
    links = tuple(
        tuple("nothing" if link == "unfounded" and founded[place] else link for place, link in enumerate(row))
        for row in links
    )
    return replace(together, links=links)
