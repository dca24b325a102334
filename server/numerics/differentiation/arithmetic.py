"""The precision that a forward computes in, whatever it is given, as kernels compute in float32 or half."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping

import numpy as np
import torch

from ...runtime.arguments import input_shape, tensors_of
from ...runtime.arrays import EPSILON, FLOAT32_BITS, STAIRCASE_BITS, Array, mantissa_bits
from ...runtime.remembered import remembered
from ...runtime.section import Section
from ...runtime.vjp import float64_array
from .noise import looks_rounded

TensorsByName = Mapping[str, torch.Tensor]
# sample: by this share numbers are moved, so that none has few bits, and none leaves a domain; and forward is asked for
# values of several sizes by numbers of these.
_UNROUND, _SIZES = 1e-9, tuple(3.0**-power for power in range(-1, 7))
_SHORT_BITS = 8, 11  # unit: the significant bits of bfloat16 and float16
_MIN_VALUES = 8  # pattern: fewer values than this say nothing against a staircase


@remembered()
def function_precision(section: Section) -> float:
    """Half a unit in the last place of what a section's forward computes in, where all its inputs are irregular."""
    tensors = {
        name: torch.tensor(values, dtype=section.dtype, device=section.device).reshape(input_shape(section.op, name))
        for name, values in section.inputs
    }
    parameters = [value for _, value in section.parameters]
    return arithmetic_precision(
        lambda moved: tensors_of(section.called_with((*(each.clone() for each in moved.values()), *parameters))),
        tensors,
    )


def arithmetic_precision(ask: Callable[[TensorsByName], Iterable[torch.Tensor]], tensors: TensorsByName) -> float:
    """Half a unit in the last place of what the least precise of the outputs that ``ask`` gives was computed in.

    ``tensors`` are some that it takes. Twenty calls where these give short values, else one. What it raises tells
    nothing.
    """
    values = _values(ask, tensors)
    if all(mantissa_bits(each) > FLOAT32_BITS for each in values):
        return EPSILON
    random = {name: _irregular(one) for name, one in tensors.items()}
    sizes = ({name: size * one for name, one in some.items()} for some in (tensors, random) for size in _SIZES)
    several = filter(None, (values, *(_values(ask, each) for each in sizes)))
    return max(precision_of_values(np.concatenate(each)) for each in zip(*several, strict=True))


def _values(ask: Callable[[TensorsByName], Iterable[torch.Tensor]], tensors: TensorsByName) -> list[Array]:
    """The values of every floating output, flat, for tensors without round numbers; none where that fails."""
    moved = {name: one - _UNROUND * one.abs() * _irregular(one) for name, one in tensors.items()}
    try:
        with torch.no_grad():
            outputs = list(ask(moved))
    except Exception:  # noqa: BLE001 it may take round numbers alone
        return []
    return [float64_array(each.detach()).ravel() for each in outputs if each.is_floating_point()]


def _irregular(like: torch.Tensor) -> torch.Tensor:
    """Fixed pseudo-random numbers of either sign, with a magnitude between 0.5 and 2."""
    draw = np.random.default_rng(7)
    size = draw.uniform(0.5, 2.0, tuple(like.shape)) * draw.choice((-1.0, 1.0), tuple(like.shape))
    return torch.as_tensor(size).to(like.device, like.dtype)


def precision_of_values(y: Array) -> float:
    """Half a unit in the last place of what any values, of several sizes, were rounded to.

    As few bits as those of half precision are those of a staircase where small values have fewer, or where there are
    few values.
    """
    y = np.unique(y)
    bits = mantissa_bits(y)
    rounded = bits in _SHORT_BITS and y.size >= _MIN_VALUES and looks_rounded(y)
    return math.ldexp(1.0, -bits) if rounded or STAIRCASE_BITS < bits <= FLOAT32_BITS else EPSILON
