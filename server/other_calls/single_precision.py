"""Compares the gradient of a call in float32 with the one in float64."""

from __future__ import annotations

import torch

from ..contract.examination.call import Call, TensorsByName
from ..numerics.formatting.numbers import format_distinct, format_number
from .directional_check import DirectionalResult

# A gradient may lose half of the digits that forward keeps; it is wrong where it is off by this share of the largest,
# although forward is right to this share of its own.
_GRADIENT, _FORWARD = 0.05, 1e-4


def compare_in_float32(call: Call) -> DirectionalResult:
    """Whether the gradients in float32 are those of float64, where forward is the same.

    Raises whatever the Function raises.
    """
    double, single = call.run(), call.run(dtype=torch.float32)
    if _share_off(double.outputs, single.outputs) > _FORWARD or not double.moved:
        return DirectionalResult(unknown="forward is another one in float32")
    given = call.grad_outputs(double)
    right = {name: one for name, one in double.gradients(given).items() if one is not None}
    found = single.gradients({name: one.to(single.outputs[name].dtype) for name, one in given.items()})
    for name, one in right.items():
        other = found[name]
        if other is not None and _share_off({name: one}, {name: other}) > _GRADIENT:
            return _wrong_at(call, name, one.detach(), other.detach().to(one.dtype))
    return DirectionalResult()


def _wrong_at(call: Call, name: str, right: torch.Tensor, found: torch.Tensor) -> DirectionalResult:
    place = int(torch.nan_to_num((found - right).abs(), nan=torch.inf).argmax())
    at = ",".join(str(int(each)) for each in torch.unravel_index(torch.tensor(place), right.shape))
    element = f"{name}[{at}]" if right.numel() > 1 else name
    x, one, other = (float(each.reshape(-1)[place]) for each in (call.tensors[name], right, found))
    seen = (
        f"{element} = {format_number(x)} backward returned {format_distinct(other, one)}, and in float64 it returns "
        f"{format_distinct(one, other)}."
    )
    return DirectionalResult(seen, element)


def _share_off(right: TensorsByName, found: TensorsByName) -> float:
    """The largest difference of two sets of tensors, as a share of the largest number in each; infinite for NaN."""
    worst = 0.0
    for name, one in right.items():
        if not one.numel() or not (one.is_floating_point() or one.is_complex()):
            continue
        apart, largest = (found[name].detach().to(one.dtype) - one.detach()).abs().max(), one.detach().abs().max()
        share = float(torch.nan_to_num(apart, nan=torch.inf)) / float(largest or 1.0)
        worst = max(worst, share)
    return worst
