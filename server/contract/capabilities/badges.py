"""The badges: the transforms of torch.func (vmap, forward mode, grad), autocast, complex numbers, half precision."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch
from torch.autograd import forward_ad

from ...numerics.differentiation.finite_differences import EVIDENCE_BOUNDS, PointKind, differentiate
from ...numerics.sampling.grid import Grid
from ...numerics.sentences.names import complex_inputs
from ...numerics.studies.complex import ComplexStudy, study_complex
from ...protocol.listed import listed, shortened
from ...runtime.arguments import result_tuple, tensors_of
from ...runtime.arrays import Array, dtype_name
from ...runtime.batching import batched_section
from ...runtime.failure import exception_text
from ...runtime.rng import irregular_tensor
from ...runtime.section import Section
from ...runtime.user_call import call_user_code
from ..checks.dtypes import HALF_TOLERANCES
from ..checks.state import random_sources
from ..examination.call import Call, ForwardRun, reset_seeds
from ..examination.slopes import weighted_total

BadgeState = Literal["yes", "no", "wrong", "unknown"]
# budget: at most so many characters of a message of torch are quoted.
MAX_MESSAGE = 160


@dataclass(frozen=True)
class CapabilityBadge:
    """``state`` is ``yes``, ``no`` (it is refused), ``wrong`` (it runs, with other numbers) or ``unknown``."""

    name: str
    state: BadgeState
    sentence: str


def exception_summary(error: BaseException) -> str:
    """The type of an exception and the first sentence of its message, without the full stop."""
    lines = exception_text(error, 4 * MAX_MESSAGE).splitlines() or [""]
    text, kind = lines[0].split(". ")[0].rstrip(".:"), type(error).__name__[:MAX_MESSAGE]
    return f"{kind}: {shortened(text, MAX_MESSAGE)}" if text else kind


# budget: batch size under vmap; the other, a bound, is the tolerance of vmap and torch.func.grad against plain calls.
_BATCH, _TOLERANCE = 3, 1e-9
# sample: the range of the difference along the tangent (steps: 0.2 % and less); the other, a bound, is its tolerance.
_WIDEST_STEP, _JVP_TOLERANCE = 0.05, 1e-5
_CONTEXT = "forward takes ctx. Move what it does with ctx into setup_context"
_RULE = "it has no rule for vmap: set generate_vmap_rule = True, or write vmap as a staticmethod"
_Tensors = dict[str, torch.Tensor]


def vmap_badge(call: Call) -> CapabilityBadge:
    """Whether ``torch.func.vmap`` of a batch returns what single calls return."""
    turned: _Tensors = {name: _rolled_batch(tensor) for name, tensor in call.tensors.items()}
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
            mapped = _mapped(call, turned)
    except Exception as error:  # noqa: BLE001
        return CapabilityBadge("vmap", "no", _refused("vmap", error))
    together = result_tuple(mapped)
    # If forward is random, single calls differ too, and nothing can be compared.
    repeated = call.holding({name: each[0] for name, each in turned.items()})
    if not _same(alone[0], _numbers(repeated)):
        return CapabilityBadge(
            "vmap", "unknown", "It runs, but forward returns different numbers each time it is called."
        )
    if all(_same([out[i] for out in together], alone[i]) for i in range(_BATCH)):
        return CapabilityBadge(
            "vmap", "yes", f"A batch of {_BATCH} under torch.func.vmap gives what {_BATCH} calls give."
        )
    return CapabilityBadge(
        "vmap", "wrong", f"A batch of {_BATCH} under torch.func.vmap gives different numbers from {_BATCH} calls."
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
    names, plain = list(ran.outputs), _tensor_function(call)

    def loss(*tensors: torch.Tensor) -> torch.Tensor:
        outputs = zip(names, tensors_of(plain(*(each * 1 for each in tensors))), strict=True)
        return torch.stack([(out * given[name].conj()).sum().real for name, out in outputs if name in given]).sum()

    try:
        reset_seeds()
        found = call_user_code(torch.func.grad(loss, tuple(range(len(call.tensors)))), *call.tensors.values())
    except Exception as error:  # noqa: BLE001
        return CapabilityBadge("func.grad", "no", _refused("torch.func.grad", error))
    expected = [torch.zeros_like(t) if wanted[name] is None else wanted[name] for name, t in call.tensors.items()]
    if _same(found, expected):
        return CapabilityBadge("func.grad", "yes", "torch.func.grad returns the gradients that backward returns.")
    return CapabilityBadge("func.grad", "wrong", "torch.func.grad returns different gradients from autograd.")


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
    measured = weighted_total(returned, {name: weights[name] for name in names})
    return _judged(measured, call, tangents, weights)


def _judged(found: float, call: Call, tangents: _Tensors, weights: _Tensors) -> CapabilityBadge:
    slope, error = _slope(call, tangents, weights)
    if abs(found - slope) <= _JVP_TOLERANCE * (1 + abs(slope)) + EVIDENCE_BOUNDS * error:
        return CapabilityBadge(
            "jvp", "yes", f"Its jvp is the directional derivative of forward: {found:.6g} in a test."
        )
    try:
        pulled = call.gradients(weights)
        implied = weighted_total(tangents, {name: g for name, g in pulled.items() if g is not None})
    except Exception:  # noqa: BLE001 a check reports it
        implied = float("nan")
    if abs(found - implied) <= _JVP_TOLERANCE * (1 + abs(implied)):
        return CapabilityBadge("jvp", "yes", "Its jvp is not the derivative of forward, but agrees with backward.")
    if not np.isfinite(slope):
        return CapabilityBadge("jvp", "unknown", "It has a jvp, but the differences of forward do not settle.")
    return CapabilityBadge(
        "jvp", "wrong", f"Its jvp gives {found:.6g} in a direction in which differences of forward give {slope:.6g}."
    )


def _forward_mode(call: Call, tangents: _Tensors) -> tuple[list[str], _Tensors] | None:
    with forward_ad.dual_level():
        # A jvp that works in place would overwrite the tangent.
        make: Callable[..., Any] = forward_ad.make_dual
        duals = [make(tensor.clone(), tangents[name].clone()) for name, tensor in call.tensors.items()]
        reset_seeds()
        outputs = tensors_of(call_user_code(call.callee, *duals, *call.parameters.values()))
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
        moved = ({name: x + float(each) * tangents[name] for name, x in call.tensors.items()} for each in t)
        return np.array([weighted_total(call.value(**each), weights) for each in moved])

    here = np.array([0.0])
    try:
        found = differentiate(along, here, along(here), _WIDEST_STEP)
    except Exception:  # noqa: BLE001
        return float("nan"), 0.0
    if found.kind[0] != PointKind.SMOOTH:
        return float("nan"), 0.0
    return float(found.value[0]), float(found.error[0])


def _mapped(call: Call, turned: _Tensors) -> Any:
    """What a batch returns under ``torch.func.vmap``, which prints nothing where it falls back to single calls."""
    warns = torch._C._functorch._set_vmap_fallback_warning_enabled  # type: ignore[attr-defined]
    warns(False)
    try:
        return torch.func.vmap(_tensor_function(call), randomness="same")(*turned.values())
    finally:
        warns(True)


def _tensor_function(call: Call) -> Callable[..., Any]:
    """The call as a function of its tensors alone that returns a tuple."""

    def plain(*tensors: torch.Tensor) -> tuple[Any, ...]:
        return result_tuple(call_user_code(call.callee, *tensors, *call.parameters.values()))

    return plain


def _numbers(call: Call) -> list[torch.Tensor]:
    return list(call.run(which=()).outputs.values())


def _rolled_batch(tensor: torch.Tensor) -> torch.Tensor:
    """A batch: the tensor, and copies with its elements in another order."""
    return torch.stack([tensor.reshape(-1).roll(i).reshape(tensor.shape) for i in range(_BATCH)])


def _same(some: Any, others: Any) -> bool:
    return len(some) == len(others) and all(
        a.shape == b.shape and torch.allclose(a.to(b.dtype), b, _TOLERANCE, _TOLERANCE, equal_nan=True)
        for a, b in zip(some, others, strict=True)
    )


def _refused(what: str, error: Exception) -> str:
    """Why a transform of torch.func refuses a Function, and what to do about it."""
    message = str(error)
    if "setup_context" in message:
        return f"{what} refuses it, because {_CONTEXT}."
    if "generate_vmap_rule" in message:
        return f"{what} refuses it, because {_RULE}."
    return f"{what} raises {exception_summary(error)}."


_POINTS = 41  # budget: points of the domain at which complex numbers are tried
_RANDOM_SENTENCE = "other random numbers are drawn in another dtype, so gradients cannot be compared."
_STATES: dict[str, BadgeState] = {
    "matches": "yes",
    "conjugate missing": "wrong",
    "conjugated": "wrong",
    "differs": "wrong",
    "undecided": "unknown",
    "not supported": "no",
}


def autocast_badge(call: Call) -> CapabilityBadge:
    """Whether forward and backward run under autocast to bfloat16 on the CPU."""
    try:
        with torch.autocast("cpu", torch.bfloat16):
            ran = call.run(dtype=torch.float32)
        found = _gradients(call, ran)
    except Exception as error:  # noqa: BLE001 what a Function raises is a result
        if _works(call, torch.float32):
            mend = "Put torch.amp.custom_fwd on forward and torch.amp.custom_bwd on backward"
            return CapabilityBadge("autocast", "no", f"With bfloat16 it raises {exception_summary(error)}. {mend}.")
        return CapabilityBadge("autocast", "no", f"It does not even take float32: {exception_summary(error)}.")
    if not found:
        return CapabilityBadge("autocast", "unknown", "It runs, but no gradient comes back.")
    if random_sources(call):
        return CapabilityBadge("autocast", "unknown", f"forward and backward run. {_RANDOM_SENTENCE.capitalize()}")
    plain = _gradients(call, call.run(dtype=torch.float32))
    if any(_became_nonfinite(found[name], plain.get(name)) for name in found):
        return CapabilityBadge(
            "autocast", "wrong", "With bfloat16 gradients are NaN or infinite where in float32 they are not."
        )
    off = max((_relative_error(found[name], plain[name]) for name in found if name in plain), default=0.0)
    if off > HALF_TOLERANCES[torch.bfloat16]:
        return CapabilityBadge(
            "autocast", "wrong", f"With bfloat16 gradients are off by {100 * off:.2g} % of the largest."
        )
    return CapabilityBadge("autocast", "yes", "forward and backward run under torch.autocast to bfloat16 on the CPU.")


def half_precision_badge(call: Call) -> CapabilityBadge:
    """Whether float16 and bfloat16 give the gradients of float64, up to their rounding."""
    if random_sources(call):
        return CapabilityBadge("half", "unknown", f"It was not compared: {_RANDOM_SENTENCE}")
    answers = [_in_half(call, dtype) for dtype in HALF_TOLERANCES]
    for state in ("wrong", "no", "unknown"):
        sentences = [sentence for each, sentence in answers if each == state]
        if sentences:
            return CapabilityBadge("half", state, " ".join(sentences))
    return CapabilityBadge("half", "yes", "float16 and bfloat16 give the gradients of float64, but for their rounding.")


def complex_badge(section: Section) -> CapabilityBadge:
    """Whether backward returns the gradient that torch defines for complex numbers."""
    if section.sweeps_parameter:
        return CapabilityBadge(
            "complex", "unknown", f"{section.wrt} is not a tensor. Sweep an input to try complex numbers."
        )
    if whole := complex_inputs(section):
        are = "is complex: it is" if len(whole) == 1 else "are complex: they are"
        said = f"{listed(whole)} {are} swept along the real and along the imaginary part."
        return CapabilityBadge("complex", "yes", said)
    low, high = section.op.input(section.wrt).domain
    grid, section = Grid(low, high, _POINTS), section.alone(dtype=torch.float64, device="cpu")
    seen: ComplexStudy = study_complex(batched_section(section, grid.points()), grid)
    state = _STATES[seen.verdict]
    if state == "wrong" and seen.verdict == "differs" and section.op.claim == "surrogate":
        return CapabilityBadge("complex", "unknown", "backward is meant to be the derivative of another function.")
    return CapabilityBadge("complex", state, seen.sentence)


def _in_half(call: Call, dtype: torch.dtype) -> tuple[BadgeState, str]:
    name = dtype_name(dtype)
    # Compared at inputs that this dtype can represent.
    rounded = call.holding({each: t.to(dtype).to(torch.float64) for each, t in call.tensors.items()})
    try:
        wanted = _gradients(call, rounded.run())
    except Exception as error:  # noqa: BLE001
        return "unknown", f"With the numbers that {name} has, float64 raises {exception_summary(error)}."
    try:
        found = _gradients(call, rounded.run(dtype=dtype))
    except Exception as error:  # noqa: BLE001
        return "no", f"With {name} it raises {exception_summary(error)}."
    if any(_became_nonfinite(found[each], wanted[each]) for each in found if each in wanted):
        return "wrong", f"In {name} gradients are NaN or infinite where in float64 they are not."
    off = max((_relative_error(found[each], wanted[each]) for each in found if each in wanted), default=0.0)
    if off > HALF_TOLERANCES[dtype]:
        return "wrong", f"In {name} gradients are off by {100 * off:.2g} % of the largest."
    return "yes", ""


def _gradients(call: Call, ran: ForwardRun) -> dict[str, torch.Tensor]:
    """The gradient of each input, for the same ``grad_output`` in every dtype."""
    if not ran.moved:
        return {}
    found = ran.gradients(call.grad_outputs(ran))
    return {name: each for name, each in found.items() if each is not None}


def _works(call: Call, dtype: torch.dtype) -> bool:
    try:
        _gradients(call, call.run(dtype=dtype))
    except Exception:  # noqa: BLE001
        return False
    return True


def _became_nonfinite(found: torch.Tensor, wanted: torch.Tensor | None) -> bool:
    return wanted is not None and bool((torch.isfinite(wanted) & ~torch.isfinite(found)).any())


def _relative_error(found: torch.Tensor, wanted: torch.Tensor) -> float:
    known = torch.isfinite(wanted) & torch.isfinite(found)
    largest = float(wanted[known].abs().max()) if bool(known.any()) else 0.0
    return float((found.to(wanted.dtype) - wanted)[known].abs().max()) / largest if largest else 0.0
