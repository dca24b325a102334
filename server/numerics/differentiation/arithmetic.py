"""The precision that a forward computes in, whatever it is given, as kernels compute in float32 or half."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping

import numpy as np
import torch

from ...runtime.arguments import tensors_of
from ...runtime.arrays import EPSILON, FLOAT32_BITS, Array, Forward, has_float32_digits, mantissa_bits
from ...runtime.graph import input_tensor
from ...runtime.remembered import remembered
from ...runtime.rng import irregular_tensor
from ...runtime.section import Section
from ...runtime.vjp import float64_array
from .noise import irrational, looks_rounded, relative_precision

TensorsByName = Mapping[str, torch.Tensor]
# sample: by this share numbers are moved, so that none has few bits, and none leaves a domain; and forward is asked for
# values of several sizes by numbers of these.
_UNROUND, _SEED, _APART, _SIZES = 1e-9, 7, 1009, tuple(3.0**-power for power in range(-1, 7))
_SHORT_BITS = 8, 11  # unit: the significant bits of bfloat16 and float16
_ENOUGH, _MOST_DRAWS = 256, 8  # budget: so many values tell, and of few outputs as many as so many random inputs give
_MIN_VALUES = 8  # pattern: fewer values than this say nothing against a staircase


def precision_of(section: Section, forward: Forward, x: Array, y: Array) -> float:
    """Half a unit in the last place of what a section's forward computes in: by its values ``y`` at ``x``, or asked.

    ``forward`` gives them for other ``x``. Values with more digits than float32 leaves need no further call, nor such
    values where ``x`` has more. Raises ``FunctionFailed`` where ``forward`` does.
    """
    if mantissa_bits(y) > FLOAT32_BITS or mantissa_bits(shifted := forward(irrational(x))) > FLOAT32_BITS:
        return EPSILON
    return max(relative_precision(y, shifted), function_precision(section))


@remembered()
def function_precision(section: Section) -> float:
    """Half a unit in the last place of what a section's forward computes in, where all its inputs are irregular."""
    tensors = {name: input_tensor(section, name, values) for name, values in section.inputs}
    parameters = [value for _, value in section.parameters]

    def outputs(moved: TensorsByName) -> Iterable[torch.Tensor]:
        return tensors_of(section.called_with((*(each.clone() for each in moved.values()), *parameters)))

    return arithmetic_precision(outputs, tensors)


def arithmetic_precision(ask: Callable[[TensorsByName], Iterable[torch.Tensor]], tensors: TensorsByName) -> float:
    """Half a unit in the last place of what the least precise of the outputs that ``ask`` gives was computed in.

    ``tensors`` are some that it takes; it is at least that of any dtype there. Where these give short values 17 calls,
    or up to 73 of few outputs, else one. What it raises tells nothing.
    """
    outputs = _outputs(ask, tensors)
    dtypes = {each.dtype for each in (*tensors.values(), *outputs)}
    least = max((EPSILON, *(torch.finfo(each).eps / 2 for each in dtypes)))
    if all(mantissa_bits(_flat(each)) > FLOAT32_BITS for each in outputs):
        return least
    draws = math.ceil(_ENOUGH / max(1, len(_SIZES) * min(map(torch.numel, outputs), default=1)))
    random = ((size, _random(tensors, draw)) for draw, size in enumerate(_SIZES * min(draws, _MOST_DRAWS)))
    given = (*((size, tensors) for size in _SIZES), *random)
    sizes = ({name: size * one for name, one in some.items()} for size, some in given)
    several = filter(None, (outputs, *(_outputs(ask, each) for each in sizes)))
    told = (precision_of_values(np.concatenate([*map(_flat, each)])) for each in zip(*several, strict=True))
    return max((least, *told))


def _random(tensors: TensorsByName, draw: int) -> TensorsByName:
    """Irregular numbers, others in each input and each draw: of equal ones a ratio, too, has one value alone."""
    seeds = range(_SEED + draw, _SEED + draw + _APART * len(tensors), _APART)
    return {name: irregular_tensor(one, seed) for seed, (name, one) in zip(seeds, tensors.items(), strict=True)}


def _outputs(ask: Callable[[TensorsByName], Iterable[torch.Tensor]], tensors: TensorsByName) -> list[torch.Tensor]:
    """Every floating output for tensors without round numbers; none where that fails."""
    moved = {name: one - _UNROUND * one.abs() * irregular_tensor(one, _SEED) for name, one in tensors.items()}
    try:
        with torch.no_grad():
            return [each for each in ask(moved) if each.is_floating_point()]
    except Exception:  # noqa: BLE001 it may take round numbers alone
        return []


def _flat(output: torch.Tensor) -> Array:
    return float64_array(output.detach()).ravel()


def precision_of_values(y: Array) -> float:
    """Half a unit in the last place of what any values, of several sizes, were rounded to.

    As few bits as those of half precision are those of a staircase where small values have fewer, or where there are
    few values.
    """
    y = np.unique(y)
    bits = mantissa_bits(y)
    rounded = bits in _SHORT_BITS and y.size >= _MIN_VALUES and looks_rounded(y)
    return math.ldexp(1.0, -bits) if rounded or has_float32_digits(y) else EPSILON
