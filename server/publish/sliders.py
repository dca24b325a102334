"""The sliders of a figure that needs no server: the positions of each, and the addresses of all their combinations."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product

from ..protocol.listed import listed
from ..schema.op import DeviceSummary, OpDescription
from ..url.address import (
    GRAD_OUTPUT_RANGE,
    MOST_SECTIONS,
    Address,
    SliderCount,
    curves_only,
    default_query_values,
    default_ranges,
    query_values,
    value_text,
    without_display_options,
)
from ..url.numbers import BadQuery
from ..url.parse import read_address

_FINEST = 500  # unit: the resolution to which values of a slider are rounded, as parts of the extent
USUAL_VALUES = {"grad_output": 3, "": 9}  # sample: positions of a slider where nobody says how many


@dataclass(frozen=True)
class SliderAxis:
    """A control and its values as an address has them, in the order of the slider.

    ``at`` is the index of the present one, ``usual`` the text that an address leaves out.
    """

    name: str
    kind: str
    values: tuple[str, ...]
    at: int
    usual: str


def usual_sliders(op: OpDescription, address: Address) -> Address:
    """The address with sliders for the first parameter that is not swept and for ``grad_output``."""
    first = [each for each in op["parameters"] if each["name"] != address.question.wrt.name][:1]
    counts = [SliderCount(each["name"], USUAL_VALUES[""] if each["kind"] in ("float", "int") else 0) for each in first]
    return replace(address, sliders=(*counts, SliderCount("grad_output", USUAL_VALUES["grad_output"])))


def slider_axes(op: OpDescription, address: Address) -> tuple[SliderAxis, ...]:
    """The axis of each slider of ``address``; raises ``BadQuery`` where it is swept, or sections are too many."""
    found = tuple(slider_axis(op, address, name, count) for name, count in address.sliders)
    if section_count(found) > MOST_SECTIONS:
        factors = " × ".join(f"{len(axis.values)} of {axis.name}" for axis in found)
        culprit = f"sliders: {factors} make {section_count(found)} sections, and at most {MOST_SECTIONS} are allowed"
        raise BadQuery(f"{culprit}; {_fitting(found)}.", "sliders")
    return found


def worded_axis(op: OpDescription, address: Address, name: str, texts: tuple[str, ...]) -> SliderAxis:
    """The axis of any parameter of the address, at these ``texts`` and at the present one."""
    present = query_values(address)[name]
    values = texts if present in texts else (present, *texts)
    return SliderAxis(name, "choice", values, values.index(present), _usual(op, address, name))


def section_count(axes: tuple[SliderAxis, ...]) -> int:
    """The number of sections on the grid of these axes."""
    return math.prod(len(axis.values) for axis in axes)


def section_addresses(
    op: OpDescription, device: DeviceSummary, address: Address, axes: tuple[SliderAxis, ...]
) -> Iterator[Address]:
    """The address of every section, without display options; the last axis varies fastest. Raises ``BadQuery``."""
    plain = curves_only(without_display_options(address))
    usual = default_query_values(op, plain.question.wrt)
    said = {name: text for name, text in query_values(plain).items() if text != usual[name]}
    for texts in product(*(axis.values for axis in axes)):
        moved = {axis.name: text for axis, text in zip(axes, texts, strict=True)}
        yield read_address(op, device, said | moved)


def _fitting(axes: tuple[SliderAxis, ...]) -> str:
    """The numbers that would fit, those of the longest sliders lowered, as an address has them."""
    counts = [len(axis.values) for axis in axes]
    numeric = [i for i, axis in enumerate(axes) if axis.kind in ("float", "int")]
    while math.prod(counts) > MOST_SECTIONS:
        longest = max(numeric, key=lambda i: counts[i], default=None)
        if longest is None or counts[longest] <= 2:
            return f"leave out one of {listed([axis.name for axis in axes])}"
        counts[longest] -= 1
    said = [
        str(SliderCount(axis.name, n if i in numeric else 0))
        for i, (axis, n) in enumerate(zip(axes, counts, strict=True))
    ]
    return f"{','.join(said)} would fit, which are {math.prod(counts)}"


def slider_axis(op: OpDescription, address: Address, name: str, count: int) -> SliderAxis:
    """The axis of ``grad_output``, of a parameter or of a number that is held; ``count`` is for numbers alone."""
    if name == address.question.wrt.name:
        culprit = f"sliders: the curves are drawn along {name}, so it cannot be a slider too"
        raise BadQuery(f"{culprit}; leave it out.", "sliders")
    declared = next((each for each in op["parameters"] if each["name"] == name), None)
    kind, text = declared["kind"] if declared else "float", query_values(address)[name]
    if declared and kind not in ("float", "int"):
        texts = ("false", "true") if kind == "switch" else tuple(declared["choices"])
        return SliderAxis(name, kind, texts, texts.index(text), _usual(op, address, name))
    present = round(float(text)) if kind == "int" else float(text)
    extent = GRAD_OUTPUT_RANGE if name == "grad_output" else default_ranges(op)[name]
    signs = (present, -present) if name == "grad_output" else (present,)  # of both, to see whether backward is odd
    values = _positions(*extent, count, [float(each) for each in signs])
    if kind == "int":
        values = sorted({*map(round, values)})
    return SliderAxis(name, kind, tuple(map(value_text, values)), values.index(present), _usual(op, address, name))


def _usual(op: OpDescription, address: Address, name: str) -> str:
    return default_query_values(op, address.question.wrt)[name]


def _positions(low: float, high: float, count: int, wanted: list[float]) -> list[float]:
    """``count`` evenly spaced values, one for each that is ``wanted`` in the place of its neighbour.

    The ends stay, unless what is wanted lies beyond them, or both of two are wanted and there is nothing else.
    """
    inner = [_tidy(low + i / (count - 1) * (high - low), high - low) for i in range(1, count - 1)] if low < high else []
    values = sorted({low, *inner, high})
    for each in wanted:
        if each in values:
            continue
        ends = values[:1] if each < values[0] else values[-1:] if each > values[-1] else values[1:-1]
        free = [value for value in ends if value not in wanted]
        if len(wanted) > 1:
            free = free or [value for value in values if value not in wanted]
        nearest = min(free, key=lambda value: abs(value - each), default=None)
        values = sorted([*(value for value in values if value != nearest), each])
    return values


def _tidy(value: float, span: float) -> float:
    """``value`` rounded to ``_FINEST`` of ``span``."""
    return round(value, -math.floor(math.log10(span / _FINEST))) + 0.0
