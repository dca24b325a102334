"""Hypothesis: a constant factor is a power of a held input or parameter, and follows when that is changed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np

from ...runtime.failure import FunctionFailed
from ...runtime.section import Section
from ..differentiation.finite_differences import PointKind, differentiate
from ..differentiation.reference import reference_of
from .evidence import Evidence

_POWERS = (1, -1, 2, -2)
# Two factors are one if they differ by less than this share.
_ALIKE = 1e-6
# A value is moved by a share that no other is likely to be: up, or down where that is out of bounds.
_MOVES = (1.1875, 0.8125)
_ROWS = 5
# In a tensor larger than this no element is looked for.
_FEW = 64


@dataclass(frozen=True)
class _Held:
    """A held value and what it is called, and the section in which it has ``moved``."""

    name: str
    value: float
    moved: float
    section: Section


def held_value_behind(seen: Evidence, size: float) -> tuple[str, int] | None:
    """The name of a held value, and the power of it that a factor of this ``size`` is whatever the value; or None."""
    alike = max(_ALIKE, seen.precision) * size
    for each in _all_held(seen.section):
        powers = [power for power in _POWERS if abs(abs(each.value) ** power - size) <= alike]
        factor = _factor(seen, each.section) if powers else None
        for power in powers:
            if factor is not None and abs(abs(each.moved) ** power - factor) <= max(_ALIKE, seen.precision) * factor:
                return each.name, power
    return None


def _factor(seen: Evidence, moved: Section) -> float | None:
    """The factor between what backward returns and the slope, in another section."""
    rows = np.flatnonzero(seen.moving)
    x = seen.x[rows[np.linspace(0, rows.size - 1, _ROWS).astype(np.intp)]]
    grad_output = seen.evaluation.grad_output
    try:
        returned = moved.backward(x, grad_output).grad_input
        reference = reference_of(moved, x, grad_output)
        slopes = differentiate(reference.forward, x, reference.forward(x), seen.evaluation.grid.span)
    except FunctionFailed:
        return None
    if returned is None:
        return None
    factors = np.abs(returned / grad_output / slopes.value)[slopes.kind == PointKind.SMOOTH]
    factors = factors[np.isfinite(factors)]
    alike = factors.size and np.ptp(factors) <= max(_ALIKE, seen.precision) * factors.max()
    return float(np.median(factors)) if alike else None


def _all_held(section: Section) -> Iterator[_Held]:
    for name, values in section.inputs:
        shape = next(each.shape for each in section.op.inputs if each.name == name)
        indices = list(product(*map(range, shape))) if len(values) <= _FEW else []
        for place, index in enumerate(indices):
            value = values[place]
            if abs(value) in (0, 1) or (name, index) == (section.wrt, section.wrt_index):
                continue
            moved = (*values[:place], value * _MOVES[0], *values[place + 1 :])
            called = name + (f"[{','.join(map(str, index))}]" if len(values) > 1 else "")
            yield _Held(called, value, value * _MOVES[0], replace(section, inputs=_with(section.inputs, name, moved)))
    for each in section.op.parameters:
        held = dict(section.parameters)[each.name]
        if each.kind != "float" or abs(float(held)) in (0, 1):
            continue
        for bigger in [float(held) * m for m in _MOVES if each.minimum <= float(held) * m <= each.maximum][:1]:
            parameters = _with(section.parameters, each.name, bigger)
            yield _Held(each.name, float(held), bigger, replace(section, parameters=parameters))


def _with(pairs: tuple[tuple[str, Any], ...], name: str, value: Any) -> tuple[tuple[str, Any], ...]:
    return tuple((each, value if each == name else old) for each, old in pairs)
