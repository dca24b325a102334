"""One call of forward and backward, unchanged, with boxes of t in place of the swept number."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from flint import arb, arb_series, ctx

from ..runtime.section import Section
from ..runtime.vjp import pull_back
from .arrays import ArraysToTensors, array_of
from .decisions import Column, Lanes, ProofSignal, Undecided
from .enclosure import TERMS, constant
from .interpreter import Interpreter
from .stand_in import StandIn, as_numbers, columns_of, new_tensor, positions
from .structure import HANDLERS

Box = tuple[float, float]
setattr(StandIn, "numpy", array_of)  # noqa: B010 - of which its class knows nothing


@dataclass(frozen=True)
class Enclosed:
    """What is known of each lane: the curve whose derivative is meant, and what backward returns.

    ``signed`` and ``mixed`` are those of ``Interpreter``; ``draws`` the random numbers that were drawn.
    """

    curve: Column
    gradient: Column
    signed: bool
    mixed: bool
    draws: tuple[tuple[float, ...], ...]


@contextmanager
def precision(bits: int) -> Iterator[None]:
    """Series of so many terms, numbers of so many bits."""
    before = ctx.prec, ctx.cap
    ctx.prec, ctx.cap = bits, TERMS
    try:
        yield
    finally:
        ctx.prec, ctx.cap = before


def lanes_of(boxes: list[Box], tight: bool = False) -> Lanes:
    """The boxes and their centres."""
    balls = [arb(start).union(arb(stop)) for start, stop in boxes]
    return Lanes(balls, [arb(centre(each)) for each in boxes], tight)


def centre(box: Box) -> float:
    """The number in the middle, as a float."""
    return box[0] / 2 + box[1] / 2


def enclose(section: Section, surrogate: Callable[..., Any] | None, lanes: Lanes, grad_output: float) -> Enclosed:
    """Call it on all boxes at once. Raises ``Undecided``, ``Parted``."""
    run = Interpreter(lanes, section.dtype, HANDLERS)
    try:
        with run, ArraysToTensors():
            curve, gradient = _called(run, section, surrogate, grad_output)
    except (ProofSignal, Exception) as error:
        raise run.refused or Undecided(f"it raises {type(error).__name__} here") from error
    if run.refused:  # it was raised, and somebody has caught it
        raise Undecided("it catches what is raised in it")
    return Enclosed(curve, gradient, run.signed, run.mixed, tuple(run.draws))


def _called(
    run: Interpreter, section: Section, surrogate: Callable[..., Any] | None, grad_output: float
) -> tuple[Column, Column]:
    for others in (False, True):  # where None comes back, it is asked for beside those of the others
        leaf, out = _tracked(run, section, others)
        if not out.requires_grad:
            raise Undecided("the output carries no gradient")
        cotangent = _cotangent(run, section, out, grad_output)
        (gradient,) = pull_back((out,), (cotangent,), (leaf,))
        if gradient is not None or len(section.inputs) == 1:
            break
    curve = _element(run, section, out)
    if surrogate is not None:
        with torch.no_grad():
            curve = _element(run, section, section.output(surrogate(*_arguments(run, section)[0])))
    zeros: Column = [constant(0.0)] * run.lanes.count
    if gradient is None:
        return curve, zeros
    run.mixed |= (gradient.store.degree if isinstance(gradient, StandIn) else 0) not in (1, None)
    return curve, as_numbers(columns_of(gradient, run.lanes)[_place(section.shape(section.wrt), section.wrt_index)])


def _tracked(run: Interpreter, section: Section, others: bool) -> tuple[Any, Any]:
    arguments, leaf = _arguments(run, section)
    for each in arguments[: len(section.inputs)]:
        each.requires_grad_(others or each is leaf)
    return leaf, section.output(section.call(*arguments))


def _arguments(run: Interpreter, section: Section) -> tuple[list[Any], StandIn]:
    """Inputs and parameters, and the input that is swept."""
    arguments: list[Any] = []
    for name, values in section.inputs:
        columns: list[Any] = [[constant(each)] * run.lanes.count for each in values]
        if name == section.wrt:
            columns[_place(section.shape(name), section.wrt_index)] = _swept(run.lanes)
        arguments.append(new_tensor(run.lanes, columns, positions(section.shape(name)), 0, section.dtype))
    swept = next(each for each, (name, _) in zip(arguments, section.inputs, strict=True) if name == section.wrt)
    return [*arguments, *(value for _, value in section.parameters)], swept


def _swept(lanes: Lanes) -> Column:
    return [arb_series([each, 1], TERMS) for each in (*lanes.balls, *lanes.centres)]


def _place(shape: tuple[int, ...], index: tuple[int, ...]) -> int:
    place = 0
    for size, each in zip(shape, index, strict=False):
        place = place * size + each
    return place


def _element(run: Interpreter, section: Section, out: Any) -> Column:
    if section.of_index and len(section.of_index) != out.dim():
        raise Undecided("an output of another shape")
    if not section.of_index and out.numel() != 1:
        raise Undecided("an output of several elements")
    return as_numbers(columns_of(out, run.lanes)[_place(tuple(out.shape), section.of_index)])


def _cotangent(run: Interpreter, section: Section, out: Any, grad_output: float) -> StandIn:
    columns: list[Any] = [[constant(0.0)] * run.lanes.count for _ in range(out.numel())]
    columns[_place(tuple(out.shape), section.of_index)] = [constant(grad_output)] * run.lanes.count
    return new_tensor(run.lanes, columns, positions(tuple(out.shape)), 1 if grad_output else None, out.dtype)
