"""The sliders of an exported file: the values of each, and the addresses of all their combinations."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

from ..protocol.question import ParameterValue, Question
from ..schema.op import OpDescription
from ..url.address import GRAD_OUTPUT_RANGE, Address, curves_only, default_ranges, without_display_options
from ..url.numbers import BadQuery

_FINEST = 500  # the resolution to which values of a slider are rounded, as parts of the extent
_MOST = 400  # sections in one file
_EACH = 6


@dataclass(frozen=True)
class SliderAxis:
    """A control and its values in the order of the slider; ``at`` is the index of the present one."""

    name: str
    kind: str
    values: tuple[ParameterValue, ...]
    at: int


def slider_axes(op: OpDescription, address: Address) -> tuple[SliderAxis, ...]:
    """The axis of each slider of ``address``; raises ``BadQuery`` where it is swept, or sections are too many."""
    found = tuple(_axis(op, address.question, name, count) for name, count in address.sliders)
    if section_count(found) > _MOST:
        factors = " × ".join(f"{len(axis.values)} of {axis.name}" for axis in found)
        culprit = f"sliders: {factors} make {section_count(found)} sections"
        raise BadQuery(f"{culprit}; at most {_MOST} are allowed, so give fewer.", "sliders")
    return found


def section_count(axes: tuple[SliderAxis, ...]) -> int:
    """The number of sections on the grid of these axes."""
    return math.prod(len(axis.values) for axis in axes)


def section_addresses(address: Address, axes: tuple[SliderAxis, ...]) -> Iterator[Address]:
    """The address of every section, without display options; the last axis varies fastest."""
    for values in product(*(axis.values for axis in axes)):
        yield address_at(address, {axis.name: value for axis, value in zip(axes, values, strict=True)})


def sample_addresses(address: Address, axes: tuple[SliderAxis, ...], most: int) -> dict[tuple[int, ...], Address]:
    """About ``most`` sections at most, on a coarser grid of two to six evenly spaced positions on every axis."""
    each = min(_EACH, max(2, int(most ** (1 / max(1, len(axes))) + 1e-9)))
    chosen = [sorted({round(i / (each - 1) * (len(axis.values) - 1)) for i in range(each)}) for axis in axes]
    return {
        places: address_at(address, {axis.name: axis.values[place] for axis, place in zip(axes, places, strict=True)})
        for places in product(*chosen)
    }


def address_at(address: Address, values: dict[str, ParameterValue]) -> Address:
    """The address of the curves with the sliders at ``values``, without display options."""
    moved: dict[str, Any] = {"parameters": address.question.parameters | _but_grad_output(values)}
    if "grad_output" in values:
        moved["grad_output"] = values["grad_output"]
    return without_display_options(curves_only(replace(address, question=replace(address.question, **moved))))


def _but_grad_output(values: dict[str, ParameterValue]) -> dict[str, ParameterValue]:
    return {name: value for name, value in values.items() if name != "grad_output"}


def _axis(op: OpDescription, asked: Question, name: str, count: int) -> SliderAxis:
    if name == asked.wrt.name:
        culprit = f"sliders: the curves are drawn along {name}, so it cannot be a slider too"
        raise BadQuery(f"{culprit}; leave it out.", "sliders")
    if name == "grad_output":
        return _signed(_numeric(name, "float", GRAD_OUTPUT_RANGE, asked.grad_output, count), count)
    parameter = next(each for each in op["parameters"] if each["name"] == name)
    present, kind = asked.parameters[name], parameter["kind"]
    if kind in ("float", "int"):
        return _numeric(name, kind, default_ranges(op)[name], float(present), count)
    values = (False, True) if kind == "switch" else tuple(parameter["choices"])
    return SliderAxis(name, kind, values, values.index(present))


def _numeric(name: str, kind: str, extent: tuple[float, float], present: float, count: int) -> SliderAxis:
    """``count`` evenly spaced values, fewer if there are not so many; the present one replaces its neighbour."""
    low, high = extent
    inner = [low + i / (count - 1) * (high - low) for i in range(1, count - 1)] if low < high else []
    even = [low, *(_tidy(value, high - low) for value in inner), high]
    if kind == "int":
        whole = _including(sorted({*map(round, even)}), round(present))
        return SliderAxis(name, kind, tuple(whole), whole.index(round(present)))
    values = _including(sorted({*even}), present + 0.0)
    return SliderAxis(name, kind, tuple(values), values.index(present))


def _signed(axis: SliderAxis, count: int) -> SliderAxis:
    """The axis with the negative of the present value included, to show whether backward is odd in grad_output."""
    present = float(axis.values[axis.at])
    others = [float(value) for value in axis.values if value != present]
    if present and -present not in others:
        others = sorted(others, key=lambda value: abs(value + present))[1 if len(others) == count - 1 else 2 :]
        others.append(-present)
    values = tuple(sorted([*others, present]))
    return SliderAxis(axis.name, axis.kind, values, values.index(present))


def _including(values: list[Any], present: float) -> list[Any]:
    if present in values:
        return values
    ends = [0] if present < values[0] else [-1] if present > values[-1] else []
    places = ends or range(1, len(values) - 1)  # the ends stay, unless the value lies beyond them
    if not places:
        return sorted([*values, present])
    nearest = min(places, key=lambda place: abs(values[place] - present))
    return sorted([each for each in values if each != values[nearest]] + [present])


def _tidy(value: float, span: float) -> float:
    """``value`` rounded to ``_FINEST`` of ``span``."""
    return round(value, -math.floor(math.log10(span / _FINEST))) + 0.0
