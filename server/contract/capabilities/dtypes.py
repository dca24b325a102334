"""Badges for autocast, complex numbers and half precision (float16 and bfloat16)."""

from __future__ import annotations

from dataclasses import replace

import torch

from ...numerics.sampling.grid import Grid
from ...numerics.studies.complex import ComplexStudy, study_complex
from ...numerics.studies.dtypes_text import complex_sentence
from ...runtime.batching import batched_section
from ...runtime.section import Section
from ..checks.state import random_sources
from ..examination.call import Call, ForwardRun
from .capability import BadgeState, CapabilityBadge, exception_summary

# Tolerance of gradients in half precision, relative to the largest one.
_LOST = {torch.float16: 0.05, torch.bfloat16: 0.2}
_POINTS = 41
_DRAWN = "other random numbers are drawn in another dtype, so gradients cannot be compared."

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
        return CapabilityBadge("autocast", "unknown", f"forward and backward run. {_DRAWN.capitalize()}")
    plain = _gradients(call, call.run(dtype=torch.float32))
    if any(_spoilt(found[name], plain.get(name)) for name in found):
        return CapabilityBadge(
            "autocast", "wrong", "With bfloat16 gradients are NaN or infinite where in float32 they are not."
        )
    off = max((_off(found[name], plain[name]) for name in found if name in plain), default=0.0)
    if off > _LOST[torch.bfloat16]:
        return CapabilityBadge(
            "autocast", "wrong", f"With bfloat16 gradients are off by {100 * off:.2g} % of the largest."
        )
    return CapabilityBadge("autocast", "yes", "forward and backward run under torch.autocast to bfloat16 on the CPU.")


def half_precision_badge(call: Call) -> CapabilityBadge:
    """Whether float16 and bfloat16 give the gradients of float64, up to their rounding."""
    if random_sources(call):
        return CapabilityBadge("half", "unknown", f"It was not compared: {_DRAWN}")
    said = [_in_half(call, dtype) for dtype in _LOST]
    for state in ("wrong", "no", "unknown"):
        sentences = [sentence for each, sentence in said if each == state]
        if sentences:
            return CapabilityBadge("half", state, " ".join(sentences))
    return CapabilityBadge("half", "yes", "float16 and bfloat16 give the gradients of float64, but for their rounding.")


def complex_badge(section: Section) -> CapabilityBadge:
    """Whether backward returns the gradient that torch defines for complex numbers."""
    if section.sweeps_parameter:
        return CapabilityBadge(
            "complex", "unknown", f"{section.wrt} is no tensor. Sweep an input to try complex numbers."
        )
    low, high = next(each.domain for each in section.op.inputs if each.name == section.wrt)
    grid, section = Grid(low, high, _POINTS), replace(section, dtype=torch.float64, device="cpu", stacked=())
    seen: ComplexStudy = study_complex(batched_section(section, grid.points()), grid)
    state = _STATES[seen.answer]
    if state == "wrong" and seen.answer == "differs" and section.op.claim == "surrogate":
        return CapabilityBadge("complex", "unknown", "backward is meant to be the derivative of another function.")
    return CapabilityBadge("complex", state, complex_sentence(seen))


def _in_half(call: Call, dtype: torch.dtype) -> tuple[BadgeState, str]:
    name = str(dtype).removeprefix("torch.")
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
    if any(_spoilt(found[each], wanted[each]) for each in found if each in wanted):
        return "wrong", f"In {name} gradients are NaN or infinite where in float64 they are not."
    off = max((_off(found[each], wanted[each]) for each in found if each in wanted), default=0.0)
    if off > _LOST[dtype]:
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


def _spoilt(found: torch.Tensor, wanted: torch.Tensor | None) -> bool:
    return wanted is not None and bool((torch.isfinite(wanted) & ~torch.isfinite(found)).any())


def _off(found: torch.Tensor, wanted: torch.Tensor) -> float:
    known = torch.isfinite(wanted) & torch.isfinite(found)
    largest = float(wanted[known].abs().max()) if bool(known.any()) else 0.0
    return float((found.to(wanted.dtype) - wanted)[known].abs().max()) / largest if largest else 0.0
