"""Compares the gradient of a call in a shorter dtype with the one in float64."""

import math
from collections.abc import Callable

import torch

from ..contract.examination.call import Call, ForwardRun, TensorsByName
from ..numerics.formatting.numbers import format_distinct, format_number
from ..runtime.arrays import dtype_name
from .directional_check import DirectionalResult, element_name

# A gradient is wrong where it is off by this share of the largest, although forward is right to this share of its own:
# a gradient may lose half of the digits that forward keeps.
_GRADIENT = {torch.float32: 0.05, torch.float16: 0.25}
_FORWARD = {torch.float32: 1e-4, torch.float16: 0.02}
# What float16 loses is foretold by what float32 loses, in units of rounding: it is wrong beyond so many times that, and
# where it is off by half of the largest, whatever is foretold.
_FORETOLD, _HALF = 30.0, 0.5
# A gradient is too small to be known where, along the whole input, it moves forward by so few of its roundings.
_ROUNDINGS = 8.0


def comparison_in(dtype: torch.dtype) -> Callable[[Call], DirectionalResult]:
    """A comparison of the gradients in ``dtype`` with those of float64, of one call, where forward is the same.

    It is made at inputs that the dtype can hold. It raises whatever the Function raises.
    """
    return lambda call: _compare(call, dtype)


def _compare(call: Call, dtype: torch.dtype) -> DirectionalResult:
    call = call.holding({name: one.to(dtype).double() for name, one in call.tensors.items()})
    double, short = call.run(), call.run(dtype=dtype)
    if not double.moved or not short.moved or _share_off(double.outputs, short.outputs) > _FORWARD[dtype]:
        return DirectionalResult(unknown=f"forward is different in {dtype_name(dtype)}")
    given = call.grad_outputs(double)
    right = {name: one for name, one in double.gradients(given).items() if one is not None}
    if not all(bool((one.abs() <= torch.finfo(dtype).max).all()) for one in right.values()):
        return DirectionalResult(unknown=f"{dtype_name(dtype)} cannot hold its gradient")
    found = short.gradients({name: one.to(short.outputs[name].dtype) for name, one in given.items()})
    allowed = None
    for name, one in right.items():
        other = found[name]
        if other is None or (off := _share_off({name: one}, {name: other})) <= _GRADIENT[dtype]:
            continue
        if allowed is None:
            allowed = 0.0 if dtype == torch.float32 else _foretold(call, right, given)
        if off > allowed and not _is_beneath_rounding(call.tensors[name], one, other, _total(double, given), dtype):
            return _wrong_at(call, name, one.detach(), other.detach().to(one.dtype))
    return DirectionalResult()


def _foretold(call: Call, right: TensorsByName, given: TensorsByName) -> float:
    """How far gradients in float16 may be off, as a share, by what float32 loses."""
    single = call.run(dtype=torch.float32)
    found = single.gradients({name: one.to(single.outputs[name].dtype) for name, one in given.items()})
    known = {name: one for name in right if (one := found[name]) is not None}
    lost = _share_off({name: right[name] for name in known}, known)
    return min(_HALF, _FORETOLD * lost * torch.finfo(torch.float16).eps / torch.finfo(torch.float32).eps)


def _total(ran: ForwardRun, given: TensorsByName) -> float:
    """The size of what gradients are of: all outputs times their grad_output."""
    return math.hypot(*(float((given[name] * out.detach()).norm()) for name, out in ran.moved.items()))


def _is_beneath_rounding(
    given: torch.Tensor, right: torch.Tensor, found: torch.Tensor, total: float, dtype: torch.dtype
) -> bool:
    """Whether what a gradient is off by, times the input, is less than the ``total`` is rounded by: softmax far out."""
    moved = float((found.to(right.dtype) - right).abs().max()) * float(given.abs().max())
    return moved <= _ROUNDINGS * torch.finfo(dtype).eps * total


def _wrong_at(call: Call, name: str, right: torch.Tensor, found: torch.Tensor) -> DirectionalResult:
    place = int(torch.nan_to_num((found - right).abs(), nan=torch.inf).argmax())
    element = element_name(name, right, place)
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
