"""Compares the gradient of a call whose tensors have short or different dtypes with the one in float64.

The yardstick is the error that plain autograd makes in the same dtypes.
"""

from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

import torch

from ..contract.examination.call import Call, GradientsByName, TensorsByName
from ..numerics.formatting.numbers import format_distinct, two_digits
from ..protocol.listed import listed
from ..runtime.arrays import dtype_name
from ..runtime.failure import describe_exception
from .directional_check import DirectionalResult, element_name

# bound: a gradient is wrong where it is off by so many times what plain autograd is, and by so many roundings.
_WORSE, _ROUNDINGS = 16.0, 16.0
_FORWARD = 32.0  # bound: gradients are compared where forward is off by at most so many roundings


def comparison_as(dtypes: Mapping[str, torch.dtype], plainly: Call | None) -> Callable[[Call], DirectionalResult]:
    """A comparison with float64 of a call whose inputs have these ``dtypes``; ``plainly`` it is autograd's own.

    It raises whatever forward raises.
    """
    return lambda call: _compare(call, dtypes, plainly)


def _compare(call: Call, dtypes: Mapping[str, torch.dtype], plainly: Call | None) -> DirectionalResult:
    rounded = {name: one.to(dtypes[name]).double() for name, one in call.tensors.items()}
    eps = max(torch.finfo(each).eps for each in dtypes.values())
    double = call.holding(rounded).run()
    short = _cast(call.holding(rounded), dtypes).run()
    if not double.moved or not short.moved:
        return DirectionalResult(unknown="no output requires a gradient")
    if any(_off(one, short.outputs[name]) > _FORWARD * eps for name, one in double.outputs.items()):
        return DirectionalResult(unknown="forward gives something else in float64")
    given = {name: one.to(short.outputs[name].dtype).double() for name, one in call.grad_outputs(double).items()}
    right = double.gradients(given)
    try:
        found = short.gradients({name: one.to(short.outputs[name].dtype) for name, one in given.items()})
    except Exception as error:  # noqa: BLE001 a result
        said = describe_exception(error)
        return DirectionalResult(unknown=f"backward raises {said}", raised=said)
    usual = _usual_errors(plainly, rounded, dtypes, given, right)
    worst = 0.0
    for name, one in right.items():
        other = found.get(name)
        if one is None or other is None:
            continue
        off, yardstick = _off(one, other), max(usual.get(name, 0.0), eps / 4)
        worst = max(worst, off / yardstick)
        if off > max(_WORSE * yardstick, _ROUNDINGS * eps):
            return _wrong_at(name, one, other, off / yardstick, dtype_names(dtypes))
    return DirectionalResult(
        said=f"{two_digits(worst)} times the error of plain {dtype_names(dtypes)}" if usual else ""
    )


def dtype_names(dtypes: Mapping[str, torch.dtype]) -> str:
    """The dtypes in words, each once."""
    return listed(list(dict.fromkeys(map(dtype_name, dtypes.values()))))


def _cast(call: Call, dtypes: Mapping[str, torch.dtype]) -> Call:
    """The call with each tensor in its own dtype."""
    own = [dtypes[name] for name in call.tensors]
    return call.through(lambda *given: call.callee(*(each.to(dtype) for each, dtype in zip(given, own, strict=False))))


def _usual_errors(
    plainly: Call | None,
    rounded: TensorsByName,
    dtypes: Mapping[str, torch.dtype],
    given: TensorsByName,
    right: GradientsByName,
) -> dict[str, float]:
    """The error of autograd's own gradients of the same forward in these dtypes; none where it has none."""
    if plainly is None:
        return {}
    try:
        ran = _cast(plainly.holding(rounded), dtypes).run()
        found = ran.gradients({name: one.to(ran.outputs[name].dtype) for name, one in given.items()})
    except Exception:  # noqa: BLE001 autograd cannot differentiate what forward does
        return {}
    pairs = {name: (one, other) for name, one in right.items() if (other := found.get(name)) is not None}
    return {name: _off(one, other) for name, (one, other) in pairs.items() if one is not None}


def _off(right: torch.Tensor, found: torch.Tensor) -> float:
    """The root mean square difference, as a share of that of the right one; infinite for a NaN that is not right."""
    right, found = right.detach().double(), found.detach().double()
    if right.shape != found.shape or not right.numel():
        return 0.0 if right.shape == found.shape else torch.inf
    known = right.isfinite()
    if not bool(known.any()):
        return 0.0
    off = (found - right)[known].square().mean().sqrt() / right[known].square().mean().sqrt().clamp(min=1e-300)
    return float(torch.nan_to_num(off, nan=torch.inf))


def _wrong_at(name: str, right: torch.Tensor, found: torch.Tensor, ratio: float, dtypes: str) -> DirectionalResult:
    place = int(torch.nan_to_num((found - right).detach().abs(), nan=torch.inf).argmax())
    element = element_name(name, right, place)
    one, other = (float(each.detach().reshape(-1)[place]) for each in (right, found))
    seen = (
        f"{element} backward returned {format_distinct(other, one)}, and in float64 it returns "
        f"{format_distinct(one, other)}: off by {two_digits(ratio)} times the error of plain {dtypes}."
    )
    return DirectionalResult(seen, element)


def plain_forward(function: Any) -> Callable[..., Any] | None:
    """The forward of a Function by itself, which autograd differentiates; None for anything else."""
    if not (isinstance(function, type) and issubclass(function, torch.autograd.Function)):
        return None
    if function.setup_context is not torch.autograd.Function.setup_context:
        return function.forward
    return lambda *given: function.forward(_Context(), *given)


class _Context(SimpleNamespace):
    """What forward writes to; nothing of it is needed."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *_, **__: None
