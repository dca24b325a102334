"""One call of forward and backward, unchanged, with boxes of t in place of the swept number."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import torch
from flint import arb, ctx

from ..runtime.copies import place_of
from ..runtime.section import Section
from ..runtime.vjp import pull_back
from .arrays import ArraysToTensors, array_of
from .column import Axis, Column, Lanes, ProofSignal, Undecided, alike
from .directions import directions
from .enclosure import TERMS
from .interpreter import Interpreter
from .primitives import handler_of
from .ranging import Ranging
from .record import Held
from .stand_in import StandIn, columns_of, new_tensor, positions

Box = tuple[float, ...]  # from where to where the swept number goes in it, and one that is held in a range
setattr(StandIn, "numpy", array_of)  # noqa: B010 - of which its class knows nothing


@dataclass(frozen=True)
class Enclosed:
    """What is known in each lane of the curve whose derivative is meant, its slope, and backward over grad_output.

    The last two are proportional to the same powers. ``draws`` are the random numbers that were drawn.
    """

    curve: Column
    slope: Column
    gradient: Column
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


def lanes_of(boxes: list[Box], tight: bool = False, sizes: Box = (1.0, 1.0), end: int = 0) -> Lanes:
    """The boxes and their centres, for a grad_output of these sizes; of u at an ``end`` of the line."""
    size = _ball(sizes)
    if len(boxes[0]) == 2:
        return Lanes(Axis(list(map(_ball, boxes)), _middles(boxes), [arb(1)] * len(boxes)), size, tight, end)
    cosines, sines = zip(*directions(ctx.prec), strict=True)
    swept, held = _axis([each[:2] for each in boxes], cosines), _axis([each[2:] for each in boxes], sines)
    return Lanes(swept, size, held=held, lines=len(sines))


def _axis(sides: list[Box], directions: Sequence[arb]) -> Axis:
    """One side of each box, in lanes of all directions: it is as far as 1 along its own."""
    lanes = [
        (ball, middle) for ball, middle in zip(map(_ball, sides), _middles(sides), strict=True) for _ in directions
    ]
    halves = [(ball - middle).abs_upper() for ball, middle in lanes]
    steps = [
        (arb(1) if half.is_zero() else half) * each
        for half, each in zip(halves, list(directions) * len(sides), strict=True)
    ]
    return Axis([ball for ball, _ in lanes], [middle for _, middle in lanes], steps)


def _ball(side: Box) -> arb:
    start, stop = side
    return arb(start) if start == stop else arb(start).union(arb(stop))


def _middles(sides: list[Box]) -> list[arb]:
    return [arb(centre(each)) for each in sides]


def centre(box: Box) -> float:
    """The number in the middle, as a float."""
    return box[0] / 2 + box[1] / 2


def enclose(
    section: Section, surrogate: Callable[..., Any] | None, lanes: Lanes, sign: int = 1, held: Held | None = None
) -> Enclosed:
    """Call it on all boxes at once, with a grad_output of this sign. Raises ``Undecided``, ``Parted``.

    What is ``held`` in a range has that of each box.
    """
    run = Interpreter(lanes, section.dtype, handler_of)
    try:
        with run, ArraysToTensors():
            curve, gradient = _called(section, surrogate, lanes, sign, held)
    except (ProofSignal, Exception) as error:
        raise run.refused or Undecided(f"it raises {type(error).__name__} here") from error
    if run.refused:  # it was raised, and somebody has caught it
        raise Undecided("it catches what is raised in it")
    return Enclosed(curve, *alike(curve.derivative(), gradient), tuple(run.draws))


def _called(
    section: Section, surrogate: Callable[..., Any] | None, lanes: Lanes, sign: int, held: Held | None
) -> tuple[Column, Column]:
    zero, place = lanes.constant(0.0), place_of(section.wrt_index, section.shape(section.wrt))
    for others in (False, True):  # where None comes back, it is asked for beside those of the others
        arguments = _arguments(section, lanes, held)
        inputs = dict(zip((name for name, _ in section.inputs), arguments, strict=False))
        for name, each in inputs.items():
            each.requires_grad_(others or name == section.wrt)
        out = section.output(section.call(*arguments))
        if not out.requires_grad:
            raise Undecided("the output carries no gradient")
        shape = tuple(out.shape)
        columns = [replace(zero, degree=1)] * out.numel()
        size = replace(lanes.constant(sign), degree=1)
        columns[place_of(section.of_index, shape)] = size
        cotangent = new_tensor(lanes, columns, positions(shape), out.dtype)
        (found,) = pull_back((out,), (cotangent,), (inputs[section.wrt],))
        if found is not None or len(section.inputs) == 1:
            break
    gradient = zero if found is None else columns_of(found, lanes)[place].scaled(sign)
    if surrogate is not None:
        told = _told(surrogate, new_tensor(lanes, [size], positions(()), out.dtype))
        with torch.no_grad():
            out = section.output(told(*_arguments(section, lanes, held)))
    return _element(section, out, lanes), replace(gradient, degree=gradient.degree - 1)


def _told(surrogate: Callable[..., Any], grad_output: Any) -> Callable[..., Any]:
    """A surrogate that is told grad_output as one that asks may be: so is seen what it asks of it."""
    if isinstance(surrogate, partial) and "grad_output" in surrogate.keywords:
        return partial(surrogate, grad_output=grad_output)
    return surrogate


def _arguments(section: Section, lanes: Lanes, held: Held | None) -> list[Any]:
    """Inputs, of which one element is swept, and parameters; one of all is held in a range."""
    arguments: list[Any] = []
    for name, values in section.inputs:
        columns, shape = list(map(lanes.constant, values)), section.shape(name)
        if name == section.wrt:
            columns[place_of(section.wrt_index, shape)] = lanes.swept()
        if held is not None and name == held.name:
            columns[place_of(held.index, shape)] = lanes.ranging()
        arguments.append(new_tensor(lanes, columns, positions(shape), section.dtype))
    ranging = held and held.name
    return [*arguments, *(Ranging(lanes.ranging()) if each == ranging else v for each, v in section.parameters)]


def _element(section: Section, out: Any, lanes: Lanes) -> Column:
    if section.of_index and len(section.of_index) != out.dim():
        raise Undecided("an output of another shape")
    if not section.of_index and out.numel() != 1:
        raise Undecided("an output of several elements")
    return columns_of(out, lanes)[place_of(section.of_index, tuple(out.shape))]
