"""The study of dtypes and devices, and of complex inputs, in words."""

from __future__ import annotations

import math

from ...protocol.listed import listed
from ..formatting.numbers import format_number
from .dtypes import DtypeErrors, DtypeStudy


def dtypes_sentence(study: DtypeStudy, wrt: str) -> str:
    """Which dtypes the Function bears, where each ends, what it loses there, and what complex numbers show."""
    several = len({row.device for row in study.rows}) > 1
    named = [(f"{row.dtype} on {row.device}" if several else row.dtype, row) for row in study.rows]
    parts = _narrow_inside(study.rows)
    parts += [
        f"{name} is not available: {row.message.splitlines()[0].rstrip('.')}."
        for name, row in named
        if not row.supported
    ]
    for side, words in ((0, "below"), (1, "above")):
        ends = [(row.overflow[side], name) for name, row in named]
        overflows = [f"{wrt} = {format_number(end)} in {name}" for end, name in ends if end is not None]
        if overflows:
            parts.append(f"forward overflows {words} {listed(overflows)}.")
    faults = [(what, name) for name, row in named for what in _nonfinite_phrases(row, wrt)]
    for what in dict.fromkeys(what for what, _ in faults):
        parts.append(f"{_in_dtypes([name for each, name in faults if each == what], named)} {what}.")
    parts += _accuracy([(name, row.gradient.max) for name, row in named])
    if study.complex is not None:
        parts.append(study.complex.sentence)
    return " ".join(parts)


def _narrow_inside(rows: tuple[DtypeErrors, ...]) -> list[str]:
    row = next((each for each in rows if each.forward_in or each.backward_in), None)
    if row is None:
        return []
    parts = [
        f"{part} computes in {narrow}"
        for part, narrow in (("forward", row.forward_in), ("backward", row.backward_in))
        if narrow
    ]
    return [f"Given {row.dtype}, {listed(parts)} inside, so its numbers have no more digits than that."]


def _in_dtypes(some: list[str], named: list[tuple[str, DtypeErrors]]) -> str:
    """The dtypes that have something in common."""
    every = len(some) > 1 and len(some) == sum(row.supported for _, row in named)
    return "In every dtype" if every else f"In {listed(some)}"


def _nonfinite_phrases(row: DtypeErrors, wrt: str) -> list[str]:
    phrases = []
    if row.nan_between:
        low, high = (format_number(each) for each in row.nan_between)
        where = f"at {wrt} = {low}" if low == high else f"for {row.nan_gradients} points from {wrt} = {low} to {high}"
        phrases.append(f"backward returns NaN {where}, where forward is finite")
    if row.infinite_gradients:
        many = "a point" if row.infinite_gradients == 1 else f"{row.infinite_gradients} points"
        phrases.append(f"the gradient is infinite at {many} where forward is finite")
    return phrases


def _accuracy(errors: list[tuple[str, float]]) -> list[str]:
    known = [(name, float(f"{error:.2g}")) for name, error in errors if not math.isnan(error)]
    exact = [name for name, error in known if not error]
    inexact = [f"{format_number(error)} in {name}" for name, error in known if error]
    if not known:
        return []
    if not inexact:
        return [f"The gradient is exact in {listed(exact)}: no rounding error."]
    first = f"exact in {listed(exact)}, and " if exact else ""
    return [f"The gradient is {first}off by at most {listed(inexact)}, in units in the last place."]
