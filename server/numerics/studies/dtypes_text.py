"""The study of dtypes and devices, and of complex inputs, in words."""

from __future__ import annotations

import math

from ..formatting.numbers import format_number
from ..sentences.places import join_words
from .complex import ComplexStudy
from .dtypes import DtypeErrors, DtypeStudy

_COMPLEX = {
    "matches": "With complex numbers backward returns the gradient torch defines.",
    "conjugate missing": "With complex numbers a conjugate is missing: torch calls for grad_output · conj(f′), and "
    "backward returns grad_output · f′. Write .conj() on what grad_output is multiplied by.",
    "conjugated": "With complex numbers backward returns the conjugate of the gradient torch defines, as JAX would.",
    "differs": "With complex numbers backward does not return the gradient torch defines.",
    "undecided": "With complex numbers the differences of forward are too uncertain to judge backward by.",
}


def dtypes_sentence(lens: DtypeStudy, wrt: str) -> str:
    """Which dtypes the Function bears, where each ends, what it loses there, and what complex numbers show."""
    several = len({row.device for row in lens.rows}) > 1
    named = [(f"{row.dtype} on {row.device}" if several else row.dtype, row) for row in lens.rows]
    parts = _inside(lens.rows)
    parts += [f"{name} cannot be: {row.message.rstrip('.')}." for name, row in named if not row.supported]
    for side, words in ((0, "below"), (1, "above")):
        ends = [(row.overflow[side], name) for name, row in named]
        said = [f"{wrt} = {format_number(end)} in {name}" for end, name in ends if end is not None]
        if said:
            parts.append(f"forward overflows {words} {join_words(said)}.")
    missing = [(what, name) for name, row in named for what in _missing(row, wrt)]
    for what in dict.fromkeys(what for what, _ in missing):
        parts.append(f"{_in([name for each, name in missing if each == what], named)} {what}.")
    parts += _off([(name, row.gradient.largest) for name, row in named])
    if lens.complex is not None:
        parts.append(complex_sentence(lens.complex))
    return " ".join(parts)


def complex_sentence(seen: ComplexStudy) -> str:
    """What backward does with complex numbers."""
    if seen.failure:
        return f"Complex numbers are refused: {seen.failure.message.splitlines()[0].rstrip('.')}."
    return _COMPLEX[seen.answer]


def _inside(rows: tuple[DtypeErrors, ...]) -> list[str]:
    row = next((each for each in rows if each.forward_in or each.backward_in), None)
    if row is None:
        return []
    said = [
        f"{part} computes in {narrow}"
        for part, narrow in (("forward", row.forward_in), ("backward", row.backward_in))
        if narrow
    ]
    return [f"Given {row.dtype}, {join_words(said)} inside: its numbers are no better than that."]


def _in(some: list[str], named: list[tuple[str, DtypeErrors]]) -> str:
    """The dtypes that have something in common."""
    every = len(some) > 1 and len(some) == sum(row.supported for _, row in named)
    return "In every dtype" if every else f"In {join_words(some)}"


def _missing(row: DtypeErrors, wrt: str) -> list[str]:
    said = []
    if row.nan_between:
        low, high = (format_number(each) for each in row.nan_between)
        where = f"at {wrt} = {low}" if low == high else f"for {row.nan_gradients} points from {wrt} = {low} to {high}"
        said.append(f"backward returns NaN {where}, where forward is finite")
    if row.infinite_gradients:
        many = "a point" if row.infinite_gradients == 1 else f"{row.infinite_gradients} points"
        said.append(f"the gradient is infinite at {many} where forward is finite")
    return said


def _off(errors: list[tuple[str, float]]) -> list[str]:
    known = [(name, float(f"{error:.2g}")) for name, error in errors if not math.isnan(error)]
    exact = [name for name, error in known if not error]
    said = [f"{format_number(error)} in {name}" for name, error in known if error]
    if not known:
        return []
    if not said:
        return [f"The gradient is exact in {join_words(exact)}: rounding takes nothing from it."]
    first = f"exact in {join_words(exact)}, and " if exact else ""
    return [f"The gradient is {first}off by at most {join_words(said)}, in units in the last place."]
