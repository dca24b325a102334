"""What stays live in a file of its own: the values of each of its sliders, and the questions that they make."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

from ..protocol.question import Question, Value
from ..url.address import Address, curves_only, extents, plain
from ..url.numbers import BadQuery

_GRAD_OUTPUTS = (-3.0, 3.0)
_FINEST = 500  # of the extent: what is finer cannot be seen on a slider
_MOST = 400  # sections in one file
EACH = 6


@dataclass(frozen=True)
class Axis:
    """A control and its values in the order of the slider; ``at`` is the place of the present one."""

    name: str
    kind: str
    values: tuple[Value, ...]
    at: int


def axes(op: dict[str, Any], address: Address) -> tuple[Axis, ...]:
    """The axis of each slider of ``address``; raises ``BadQuery`` for what is swept, and for too many sections."""
    found = tuple(_axis(op, address.question, name, count) for name, count in address.sliders)
    if number(found) > _MOST:
        factors = " × ".join(f"{len(axis.values)} of {axis.name}" for axis in found)
        raise BadQuery(f"sliders: {factors} make {number(found)} sections; at most {_MOST} are allowed, so give fewer.")
    return found


def number(axes: tuple[Axis, ...]) -> int:
    """How many sections there are to these axes."""
    return math.prod(len(axis.values) for axis in axes)


def sections(address: Address, axes: tuple[Axis, ...]) -> Iterator[Address]:
    """The plain address of every section: that of the last axis changes fastest."""
    for values in product(*(axis.values for axis in axes)):
        yield at(address, {axis.name: value for axis, value in zip(axes, values, strict=True)})


def sample(address: Address, axes: tuple[Axis, ...], most: int) -> dict[tuple[int, ...], Address]:
    """At most about ``most`` sections, at from two to ``EACH`` evenly chosen places of every axis."""
    each = min(EACH, max(2, int(most ** (1 / max(1, len(axes))) + 1e-9)))
    chosen = [sorted({round(i / (each - 1) * (len(axis.values) - 1)) for i in range(each)}) for axis in axes]
    return {
        places: at(address, {axis.name: axis.values[place] for axis, place in zip(axes, places, strict=True)})
        for places in product(*chosen)
    }


def at(address: Address, values: dict[str, Value]) -> Address:
    """The plain address of the curves with the sliders at ``values``."""
    moved: dict[str, Any] = {"parameters": address.question.parameters | _but_grad_output(values)}
    if "grad_output" in values:
        moved["grad_output"] = values["grad_output"]
    return plain(curves_only(replace(address, question=replace(address.question, **moved))))


def _but_grad_output(values: dict[str, Value]) -> dict[str, Value]:
    return {name: value for name, value in values.items() if name != "grad_output"}


def _axis(op: dict[str, Any], asked: Question, name: str, count: int) -> Axis:
    if name == asked.wrt.name:
        raise BadQuery(f"sliders: the curves are drawn along {name}, so it cannot be a slider too; leave it out.")
    if name == "grad_output":
        return _signed(_numeric(name, "float", _GRAD_OUTPUTS, asked.grad_output, count), count)
    parameter = next(each for each in op["parameters"] if each["name"] == name)
    present, kind = asked.parameters[name], parameter["kind"]
    if kind in ("float", "int"):
        return _numeric(name, kind, extents(op)[name], float(present), count)
    values = (False, True) if kind == "switch" else tuple(parameter["choices"])
    return Axis(name, kind, values, values.index(present))


def _numeric(name: str, kind: str, extent: tuple[float, float], present: float, count: int) -> Axis:
    """``count`` values over the extent, as far as it has so many; the present one takes the place of its neighbour."""
    low, high = extent
    inner = [low + i / (count - 1) * (high - low) for i in range(1, count - 1)] if low < high else []
    even = [low, *(_tidy(value, high - low) for value in inner), high]
    if kind == "int":
        whole = _including(sorted({*map(round, even)}), round(present))
        return Axis(name, kind, tuple(whole), whole.index(round(present)))
    values = _including(sorted({*even}), present + 0.0)
    return Axis(name, kind, tuple(values), values.index(present))


def _signed(axis: Axis, count: int) -> Axis:
    """The same with the opposite of the present value among them, which is what one wants to see."""
    present = float(axis.values[axis.at])
    others = [float(value) for value in axis.values if value != present]
    if present and -present not in others:
        others = sorted(others, key=lambda value: abs(value + present))[1 if len(others) == count - 1 else 2 :]
        others.append(-present)
    values = tuple(sorted([*others, present]))
    return Axis(axis.name, axis.kind, values, values.index(present))


def _including(values: list[Any], present: float) -> list[Any]:
    if present in values:
        return values
    ends = [0] if present < values[0] else [-1] if present > values[-1] else []
    places = ends or range(1, len(values) - 1)  # the ends stay what they are, unless it lies beyond them
    if not places:
        return sorted([*values, present])
    nearest = min(places, key=lambda place: abs(values[place] - present))
    return sorted([each for each in values if each != values[nearest]] + [present])


def _tidy(value: float, span: float) -> float:
    """``value`` rounded where it can no longer be seen."""
    return round(value, -math.floor(math.log10(span / _FINEST))) + 0.0
