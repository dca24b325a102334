"""Badges for the transforms of torch.func: vmap, forward mode (jvp) and grad."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch.autograd import forward_ad

from ...numerics.differentiation.finite_differences import EVIDENCE_BOUNDS, PointKind, differentiate
from ...runtime.arguments import result_tuple, tensors_of
from ...runtime.arrays import Array
from ..examination.call import Call, irregular_tensor, reset_seeds
from .capability import CapabilityBadge, exception_summary

# Batch size under vmap, and the tolerance for its outputs and gradients against plain calls.
_BATCH, _ALIKE = 3, 1e-9
# Widest step along the tangent, in units of it, for the finite difference, and the tolerance of the comparison.
_STRETCH, _NEAR = 0.05, 1e-5
_CONTEXT = "forward takes ctx. Move what it does with ctx into setup_context"
_RULE = "it has no rule for vmap: set generate_vmap_rule = True, or write vmap as a staticmethod"

_Tensors = dict[str, torch.Tensor]


def vmap_badge(call: Call) -> CapabilityBadge:
    """Whether ``torch.func.vmap`` of a batch returns what single calls return."""
    turned: _Tensors = {name: _turned(tensor) for name, tensor in call.tensors.items()}
    try:
        with torch.no_grad():
            alone = [_numbers(call.holding({name: each[i] for name, each in turned.items()})) for i in range(_BATCH)]
    except Exception as error:  # noqa: BLE001 what a Function raises is a result
        return CapabilityBadge(
            "vmap", "unknown", f"A plain call with its numbers in another order raises {exception_summary(error)}."
        )
    try:
        with torch.no_grad():
            reset_seeds()
            mapped = torch.func.vmap(_plain(call), randomness="same")(*turned.values())
    except Exception as error:  # noqa: BLE001
        return CapabilityBadge("vmap", "no", _refused("vmap", error))
    together = result_tuple(mapped)
    # If forward is random, single calls differ too, and nothing can be compared.
    repeated = call.holding({name: each[0] for name, each in turned.items()})
    if not _same(alone[0], _numbers(repeated)):
        return CapabilityBadge("vmap", "unknown", "It runs, but forward returns other numbers each time it is called.")
    if all(_same([out[i] for out in together], alone[i]) for i in range(_BATCH)):
        return CapabilityBadge(
            "vmap", "yes", f"A batch of {_BATCH} under torch.func.vmap gives what {_BATCH} calls give."
        )
    return CapabilityBadge(
        "vmap", "wrong", f"A batch of {_BATCH} under torch.func.vmap gives other numbers than {_BATCH} calls."
    )


def func_grad_badge(call: Call) -> CapabilityBadge:
    """Whether ``torch.func.grad`` returns the gradients of autograd."""
    try:
        ran = call.run()
        given = call.grad_outputs(ran)
        if not given:
            return CapabilityBadge("func.grad", "unknown", "No output carries a gradient.")
        wanted = call.gradients(given)
    except Exception as error:  # noqa: BLE001
        return CapabilityBadge("func.grad", "unknown", f"A plain backward raises {exception_summary(error)}.")
    names, plain = list(ran.outputs), _plain(call)

    def loss(*tensors: torch.Tensor) -> torch.Tensor:
        outputs = zip(names, tensors_of(plain(*(each * 1 for each in tensors))), strict=True)
        return torch.stack([_real(out * given[name].conj()) for name, out in outputs if name in given]).sum()

    try:
        reset_seeds()
        found = torch.func.grad(loss, tuple(range(len(call.tensors))))(*call.tensors.values())
    except Exception as error:  # noqa: BLE001
        return CapabilityBadge("func.grad", "no", _refused("torch.func.grad", error))
    expected = [torch.zeros_like(t) if wanted[name] is None else wanted[name] for name, t in call.tensors.items()]
    if _same(found, expected):
        return CapabilityBadge("func.grad", "yes", "torch.func.grad returns the gradients that backward returns.")
    return CapabilityBadge("func.grad", "wrong", "torch.func.grad returns other gradients than autograd does.")


def jvp_badge(call: Call) -> CapabilityBadge:
    """Whether forward mode returns the directional derivative of forward, or the one that backward implies."""
    tangents = {name: irregular_tensor(tensor, 11 + i) for i, (name, tensor) in enumerate(call.tensors.items())}
    try:
        found = _forward_mode(call, tangents)
    except NotImplementedError as error:
        if "forward mode AD" not in str(error) and "jvp" not in str(error):
            return CapabilityBadge("jvp", "no", f"Forward mode raises {exception_summary(error)}.")
        return CapabilityBadge("jvp", "no", "It has no jvp, so forward mode refuses it. Write jvp as a staticmethod.")
    except Exception as error:  # noqa: BLE001
        return CapabilityBadge("jvp", "no", f"Forward mode raises {exception_summary(error)}.")
    if found is None:
        return CapabilityBadge("jvp", "unknown", "No output of forward mode carries a tangent.")
    names, returned = found
    weights = {name: irregular_tensor(tangent, 23 + i) for i, (name, tangent) in enumerate(returned.items())}
    measured = sum(float(_real(returned[name] * weights[name].conj())) for name in names)
    return _judged(measured, call, tangents, weights)


def _judged(found: float, call: Call, tangents: _Tensors, weights: _Tensors) -> CapabilityBadge:
    slope, error = _slope(call, tangents, weights)
    if abs(found - slope) <= _NEAR * (1 + abs(slope)) + EVIDENCE_BOUNDS * error:
        return CapabilityBadge(
            "jvp", "yes", f"Its jvp is the directional derivative of forward: {found:.6g} in a test."
        )
    try:
        pulled = call.gradients(weights)
        implied = sum(float(_real(g.conj() * tangents[name])) for name, g in pulled.items() if g is not None)
    except Exception:  # noqa: BLE001 a check reports it
        implied = float("nan")
    if abs(found - implied) <= _NEAR * (1 + abs(implied)):
        return CapabilityBadge("jvp", "yes", "Its jvp is not the derivative of forward, but agrees with backward.")
    if not np.isfinite(slope):
        return CapabilityBadge("jvp", "unknown", "It has a jvp, but the differences of forward do not settle.")
    return CapabilityBadge(
        "jvp",
        "wrong",
        f"Its jvp gives {found:.6g} in a direction in which differences of forward give {slope:.6g}.",
    )


def _forward_mode(call: Call, tangents: _Tensors) -> tuple[list[str], _Tensors] | None:
    with forward_ad.dual_level():
        # A jvp that works in place would overwrite the tangent.
        make: Callable[..., Any] = forward_ad.make_dual
        duals = [make(tensor.clone(), tangents[name].clone()) for name, tensor in call.tensors.items()]
        reset_seeds()
        outputs = tensors_of(call.callee(*duals, *call.parameters.values()))
        unpack: Callable[..., Any] = forward_ad.unpack_dual
        found = {}
        for name, out in zip(call.run(which=()).outputs, outputs, strict=True):
            tangent = unpack(out).tangent
            if tangent is not None:
                found[name] = tangent.detach().clone()
    return (list(found), found) if found else None


def _slope(call: Call, tangents: _Tensors, weights: _Tensors) -> tuple[float, float]:
    """Finite difference of the weighted outputs along the tangents, with its error; NaN if it does not converge."""

    def along(t: Array) -> Array:
        return np.array([_weighed(call, tangents, weights, float(each)) for each in t])

    here = np.array([0.0])
    try:
        found = differentiate(along, here, along(here), _STRETCH)
    except Exception:  # noqa: BLE001
        return float("nan"), 0.0
    if found.kind[0] != PointKind.SMOOTH:
        return float("nan"), 0.0
    return float(found.value[0]), float(found.error[0])


def _weighed(call: Call, tangents: _Tensors, weights: _Tensors, t: float) -> float:
    outputs = call.value(**{name: tensor + t * tangents[name] for name, tensor in call.tensors.items()})
    return sum(float(_real(outputs[name] * weight.conj())) for name, weight in weights.items())


def _real(terms: torch.Tensor) -> torch.Tensor:
    """The sum of the terms, its real part if they are complex: a loss is real."""
    total = terms.sum()
    return total.real if total.is_complex() else total


def _plain(call: Call) -> Callable[..., Any]:
    """The call as a function of its tensors alone that returns a tuple."""

    def plain(*tensors: torch.Tensor) -> tuple[Any, ...]:
        return result_tuple(call.callee(*tensors, *call.parameters.values()))

    return plain


def _numbers(call: Call) -> list[torch.Tensor]:
    return list(call.run(which=()).outputs.values())


def _turned(tensor: torch.Tensor) -> torch.Tensor:
    """A batch: the tensor, and copies with its elements in another order."""
    return torch.stack([tensor.reshape(-1).roll(i).reshape(tensor.shape) for i in range(_BATCH)])


def _same(some: Any, others: Any) -> bool:
    return len(some) == len(others) and all(
        a.shape == b.shape and torch.allclose(a.to(b.dtype), b, _ALIKE, _ALIKE, equal_nan=True)
        for a, b in zip(some, others, strict=True)
    )


def _refused(what: str, error: Exception) -> str:
    """Why a transform of torch.func refuses a Function, and what to do about it."""
    said = str(error)
    if "setup_context" in said:
        return f"{what} refuses it, because {_CONTEXT}."
    if "generate_vmap_rule" in said:
        return f"{what} refuses it, because {_RULE}."
    return f"{what} raises {exception_summary(error)}."
