"""Parsing of ``wrt``, ``of`` and ``wrt2``: which element an address sweeps, and the second range of a surface."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from typing import Any

from ..protocol.question import Element
from ..protocol.suggest import closest_match
from .address import default_ranges, default_wrt2, value_bounds
from .numbers import LARGEST, BadQuery, printable_excerpt, read_float

_ELEMENT = re.compile(r"([^\[\]]+)(?:\[(\d{1,9}(?:,\d{1,9})*)\])?", re.ASCII)

_Shapes = dict[str, list[int]]
_SecondAxis = tuple[Element | None, float | None, float | None]


def suggestion(word: str, words: Sequence[str]) -> str:
    """The end of an error message: the closest allowed word, if there is one, and all allowed words."""
    close = closest_match(word, words)
    return (f"; did you mean {close}? Allowed: " if close else "; allowed: ") + f"{', '.join(words)}."


def shapes_by_name(tensors: Iterable[dict[str, Any]]) -> _Shapes:
    """The shapes of tensors by name; [] for a tensor of one element, which is addressed without an index."""
    return {each["name"]: each["shape"] if math.prod(each["shape"]) != 1 else [] for each in tensors}


def sweepable_shapes(op: dict[str, Any]) -> _Shapes:
    """The shapes of what can be swept: inputs and float parameters."""
    return shapes_by_name(op["inputs"]) | {p["name"]: [] for p in op["parameters"] if p["kind"] == "float"}


def read_element(role: str, text: str, shapes: _Shapes) -> Element:
    """The element that ``text`` names; raises ``BadQuery``. ``role`` is the query parameter, for the message."""
    culprit, found = f"{role}={printable_excerpt(text)}", _ELEMENT.fullmatch(text)
    name = found[1] if found else text
    if found is None or name not in shapes:
        raise BadQuery(f"{culprit} names no element{suggestion(name, list(shapes))}")
    shape = shapes[name]
    index = tuple(map(int, found[2].split(","))) if found[2] else ()
    if len(index) != len(shape) or any(i >= size for i, size in zip(index, shape, strict=True)):
        if not shape:
            raise BadQuery(f"{culprit} names no element; {name} is a single number, so write {role}={name}.")
        first, last = ",".join("0" for _ in shape), ",".join(str(size - 1) for size in shape)
        raise BadQuery(f"{culprit} names no element; allowed are {name}[{first}] to {name}[{last}].")
    return Element(name, index)


def read_second_axis(op: dict[str, Any], wrt: Element, given: dict[str, str]) -> _SecondAxis:
    """The second axis of a surface: element, start and stop; None where there is no other number to sweep.

    Raises ``BadQuery``.
    """
    wrt2 = read_element("wrt2", given["wrt2"], sweepable_shapes(op)) if given.get("wrt2") else default_wrt2(op, wrt)
    if wrt2 is None:
        _check_ends(given)
        return None, None, None
    if wrt2 == wrt:
        other = default_wrt2(op, wrt)
        hint = f"choose another element, such as {other}" if other else "it is the only number that can be swept"
        raise BadQuery(f"wrt2={printable_excerpt(given['wrt2'])} is what wrt sweeps already; {hint}.")
    start, stop = _check_ends(given)
    low, high = default_ranges(op)[wrt2.name]
    start, stop = low if start is None else start, high if stop is None else stop
    least, most = next((value_bounds(p) for p in op["parameters"] if p["name"] == wrt2.name), (-LARGEST, LARGEST))
    for name, value in (("start2", start), ("stop2", stop)):
        if not least <= value <= most:
            read_float(name, repr(value), least, most)
    culprit = f"The range from start2={start:g} to stop2={stop:g}"
    if start >= stop:
        raise BadQuery(f"{culprit} is {'empty' if start == stop else 'reversed'}; start2 must be below stop2.")
    if stop - start < 512 * math.ulp(max(abs(start), abs(stop))):
        raise BadQuery(f"{culprit} is too narrow for different points; widen it.")
    return wrt2, start, stop


def _check_ends(given: dict[str, str]) -> tuple[float | None, float | None]:
    """``start2`` and ``stop2`` as given; raises ``BadQuery`` for what is not a number."""
    start, stop = (read_float(name, given[name]) if given.get(name) else None for name in ("start2", "stop2"))
    return start, stop
