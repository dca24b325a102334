"""Parsing of ``wrt``, ``of`` and ``wrt2``: which element an address sweeps, and the second range of a surface."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from typing import Any

from ..protocol.question import Element
from ..protocol.suggest import meant
from .address import beside, bounds, extents
from .numbers import LARGEST, BadQuery, read_float, shown

_ELEMENT = re.compile(r"([^\[\]]+)(?:\[(\d{1,9}(?:,\d{1,9})*)\])?", re.ASCII)

Shapes = dict[str, list[int]]
Second = tuple[Element | None, float | None, float | None]


def suggestion(word: str, words: Sequence[str]) -> str:
    """The end of an error message: the closest allowed word, if there is one, and all allowed words."""
    close = meant(word, words)
    return (f"; did you mean {close}? Allowed: " if close else "; allowed: ") + f"{', '.join(words)}."


def shapes(tensors: Iterable[dict[str, Any]]) -> Shapes:
    """The shapes of tensors by name; [] for a tensor of one element, which is addressed without an index."""
    return {each["name"]: each["shape"] if math.prod(each["shape"]) != 1 else [] for each in tensors}


def sweepable(op: dict[str, Any]) -> Shapes:
    """The shapes of what can be swept: inputs and float parameters."""
    return shapes(op["inputs"]) | {p["name"]: [] for p in op["parameters"] if p["kind"] == "float"}


def element(role: str, text: str, shapes: Shapes) -> Element:
    """The element that ``text`` names; raises ``BadQuery``. ``role`` is the query parameter, for the message."""
    culprit, found = f"{role}={shown(text)}", _ELEMENT.fullmatch(text)
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


def second(op: dict[str, Any], wrt: Element, given: dict[str, str]) -> Second:
    """The second axis of a surface: element, start and stop; None where there is no other number to sweep.

    Raises ``BadQuery``.
    """
    wrt2 = element("wrt2", given["wrt2"], sweepable(op)) if given.get("wrt2") else beside(op, wrt)
    if wrt2 is None:
        _check_ends(given)
        return None, None, None
    if wrt2 == wrt:
        other = beside(op, wrt)
        hint = f"choose another element, such as {other}" if other else "it is the only number that can be swept"
        raise BadQuery(f"wrt2={shown(given['wrt2'])} is what wrt sweeps already; {hint}.")
    start, stop = _check_ends(given)
    low, high = extents(op)[wrt2.name]
    start, stop = low if start is None else start, high if stop is None else stop
    least, most = next((bounds(p) for p in op["parameters"] if p["name"] == wrt2.name), (-LARGEST, LARGEST))
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
