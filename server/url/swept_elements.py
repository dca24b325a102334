"""Elements of tensors in an address, ``wrt``, ``of`` and ``wrt2``, and the ranges in which they are swept."""

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from ..protocol.errors import Refusal
from ..protocol.listed import did_you_mean
from ..protocol.parameter_kinds import LARGEST
from ..protocol.question import Element, Question
from ..schema.op import OpDescription, OutputDescription
from .address import PARAMETERS, default_wrt2, second_range, value_bounds
from .numbers import BadQuery, printable_excerpt, read_float

_ELEMENT = re.compile(r"([^\[\]]+)(?:\[(\d{1,9}(?:,\d{1,9})*)\])?", re.ASCII)

_Shapes = dict[str, list[int]]


def suggestion(word: str, words: Sequence[str]) -> str:
    """The end of an error message: the closest allowed word, if there is one, and all allowed words."""
    return "; " + did_you_mean(word, words, f"allowed: {', '.join(words)}.")


def shapes_by_name(tensors: Iterable[OutputDescription]) -> _Shapes:
    """The shapes of tensors by name; [] for a tensor of one element, which is addressed without an index."""
    return {each["name"]: each["shape"] if math.prod(each["shape"]) != 1 else [] for each in tensors}


def sweepable_shapes(op: OpDescription) -> _Shapes:
    """The shapes of what can be swept: inputs and float parameters."""
    return shapes_by_name(op["inputs"]) | {p["name"]: [] for p in op["parameters"] if p["kind"] == "float"}


def read_element(role: str, text: str, shapes: _Shapes) -> Element:
    """The element that ``text`` names; raises ``BadQuery``. ``role`` is the query parameter."""
    culprit, found = f"{role}={printable_excerpt(text)} names no element", _ELEMENT.fullmatch(text)
    name = found[1] if found else text
    if found is None or name not in shapes:
        raise BadQuery(f"{culprit}{suggestion(name, list(shapes))}", role)
    shape = shapes[name]
    index = tuple(map(int, found[2].split(","))) if found[2] else ()
    if len(index) != len(shape) or any(i >= size for i, size in zip(index, shape, strict=True)):
        if not shape:
            raise BadQuery(f"{culprit}; {name} is a single number, so write {role}={name}.", role)
        first, last = ",".join("0" for _ in shape), ",".join(str(size - 1) for size in shape)
        raise BadQuery(f"{culprit}; allowed are {name}[{first}] to {name}[{last}].", role)
    return Element(name, index)


def outside(op: OpDescription, swept: Element, values: dict[str, float]) -> list[Refusal]:
    """The refusals of those ``values`` that lie outside the bounds of what is swept."""
    low, high = swept_bounds(op, swept)
    refusals: list[Refusal] = []
    for name, value in values.items():
        if not low <= value <= high:
            try:
                read_float(name, repr(value), low, high)
            except BadQuery as problem:
                refusals += problem.refusals
    return refusals


def swept_bounds(op: OpDescription, swept: Element) -> tuple[float, float]:
    """The least and the greatest value of what is swept: those of a parameter, or of all numbers."""
    bounds = (value_bounds(each) for each in op["parameters"] if each["name"] == swept.name)
    low, high = next(bounds, (-LARGEST, LARGEST))
    return max(low, -LARGEST), min(high, LARGEST)


def with_second_axis(op: OpDescription, asked: Question) -> Question:
    """The question with all of the second axis of a surface, or of the range of a proof; raises ``BadQuery``.

    It has none in another view, or where there is no other number to sweep, or none of a proof is named.
    """
    if asked.view != "surface" and (asked.wrt2, asked.start2, asked.stop2) == (None, None, None):
        return asked
    if asked.view == "proof" and asked.wrt2 is None:
        given = "start2" if asked.start2 is not None else "stop2"
        raise BadQuery(f"{given} is of what wrt2 names; name it, or leave {given} out.", given)
    wrt2 = asked.wrt2 or default_wrt2(op, asked.wrt)
    if wrt2 is None:
        return replace(asked, start2=None, stop2=None)
    if wrt2 == asked.wrt:
        other = default_wrt2(op, asked.wrt)
        hint = f"choose another element, such as {other}" if other else "it is the only number that can be swept"
        raise BadQuery(f"wrt2={wrt2} is what wrt sweeps already; {hint}.", "wrt2")
    low, high = second_range(op, asked, wrt2)
    start = low if asked.start2 is None else asked.start2
    stop = high if asked.stop2 is None else asked.stop2
    beyond = outside(op, wrt2, {"start2": start, "stop2": stop})
    if beyond:
        raise BadQuery.of(beyond)
    culprit = f"The range from start2={start:g} to stop2={stop:g}"
    if start >= stop:
        reason = "empty" if start == stop else "reversed"
        raise BadQuery(f"{culprit} is {reason}; start2 must be below stop2.", "start2")
    if stop - start < 512 * math.ulp(max(abs(start), abs(stop))):
        raise BadQuery(f"{culprit} is too narrow for different points; widen it.", "start2")
    if asked.view not in PARAMETERS["wrt2"].views:
        return replace(asked, wrt2=None, start2=None, stop2=None)
    return replace(asked, wrt2=wrt2, start2=start, stop2=stop)
