"""The contract X-ray: every check, family by family, on one working call of an op."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import torch

from ...ops import Op
from ..runtime import timing
from ..runtime.failure import Failure, failure_of
from ..runtime.isolation import silenced
from ..runtime.recorder import dtype_of, has_setup
from ..runtime.rng import undisturbed
from ..runtime.section import Section
from ..runtime.timeouts import TookTooLong, within
from .capabilities import registry
from .capabilities.registry import Badge, badges
from .examination.call import COPIES, Call, runs
from .examination.probe import Check, Raw, shape_of
from .examination.session import Examined
from .registry import checks


def raw(at: Examined) -> tuple[Raw, ...]:
    """What backward returned for each argument of forward, beside what was delivered."""
    rows, tensors = [], 0
    delivered = at.first.delivered
    for place, argument, value in at.first.pairs:
        reached = None
        if isinstance(argument, torch.Tensor):
            reached = delivered[tensors] if tensors < len(delivered) else None
            tensors += 1
        is_tensor, asked = isinstance(value, torch.Tensor), isinstance(argument, torch.Tensor)
        rows.append(
            Raw(
                at.first.record.name(place),
                shape_of(argument.shape) if isinstance(argument, torch.Tensor) else "",
                shape_of(value.shape) if is_tensor else "None" if value is None else type(value).__name__,
                dtype_of(value) if is_tensor else "",
                "" if at.first.failed or not asked else "zeros" if reached is None else shape_of(reached.shape),
                dtype_of(reached) if reached is not None else "",
            )
        )
    return tuple(rows)


# What torch.autograd.grad, and so gradcheck, imports for a grad_output (sympy with it), and forward mode for its rules.
_LATE = ("torch.fx.experimental.symbolic_shapes", "torch._decomp.decompositions_for_jvp")
# What torch.func.grad imports once a Function has got so far.
BY_FUNC = ("torch._dynamo",)


def _load(function: type[torch.autograd.Function]) -> None:
    """Load what this Function will need; a second time that takes nothing."""
    for name in (*_LATE, *(BY_FUNC if has_setup(function) else ())):
        import_module(name)


NO_FUNCTION = "NO-FUNCTION"
# Seconds for finding numbers to call with, for the badges, and for all with torch.compile, which alone takes five.
BEGIN, BADGES, COMPILING = 1.5, 1.5, 8.5


@dataclass(frozen=True)
class Contract:
    """The ``checks`` by family, the ``badges``, and what backward returned ``raw`` beside what was delivered.

    ``tried`` says with what numbers. ``failure`` is what forward raised, if it did.
    """

    checks: tuple[Check, ...]
    badges: tuple[Badge, ...]
    raw: tuple[Raw, ...]
    tried: str = ""
    failure: Failure | None = None


def contract(section: Section, reach: tuple[float, float] | None = None, compiled: bool = False) -> Contract:
    """Put every check to the op of a section, with all else held where it is. Raises nothing a Function raises.

    Everything is asked in double precision on the CPU, whatever the section is in.

    ``reach`` is the interval of the swept input from which numbers are taken. torch.compile is only tried where
    ``compiled`` says so. A Function that does not come back is interrupted, and the whole takes no more than about
    8.5 seconds. What it prints is dropped.
    """
    if not _is_function(section.op.function):
        return Contract((no_function(section.op),), (), ())
    section = section.at(torch.float64, "cpu")
    domain = next((each.domain for each in section.op.inputs if each.name == section.wrt), (-3.0, 3.0))
    until = timing.now() + COMPILING
    with undisturbed(), warnings.catch_warnings(action="ignore"), silenced():
        _load(section.op.function)
        at = Examined(section, _call(section, reach), reach or domain)
        rows = checks(at)
        given = badges(at.section, at.call, until if compiled else min(until, timing.now() + BADGES), compiled)
        return Contract((*rows, *registry.rows(at, given)), given, raw(at), _tried(at), _failure(at))


def _is_function(function: Any) -> bool:
    return isinstance(function, type) and issubclass(function, torch.autograd.Function)


def no_function(op: Op) -> Check:
    """The one row for a plain function of tensors in whose graph there is no Function."""
    name = getattr(op.function, "__name__", op.title)
    seen = (
        f"{name} calls no torch.autograd.Function: torch itself derives its gradient, and there is no contract to hold."
    )
    advice = "Name a class that derives from torch.autograd.Function, or a function that calls one."
    return Check(NO_FUNCTION, "How it is written", "note", "A Function to look into", seen, advice=advice)


def _call(section: Section, reach: tuple[float, float] | None) -> Call:
    """The call; in single precision where the Function takes no other."""
    try:
        with within(BEGIN):
            call = Call.of(section, reach)
            shorter = call.holding({name: tensor.float() for name, tensor in call.tensors.items()})
            return shorter if not runs(call) and runs(shorter) else call
    except TookTooLong:
        return Call.plain(section)


def _tried(at: Examined) -> str:
    """What a Function of one number was called with, which its tensors alone do not tell."""
    if not at.call.stacked or at.first.failed == "forward":
        return ""
    return f"Tried on {COPIES} numbers at once, spread over the range."


def _failure(at: Examined) -> Failure | None:
    error = at.first.error if at.first.failed == "forward" else None
    if isinstance(error, TookTooLong):
        error = TimeoutError(str(error))
    return failure_of(error, at.section.op, "forward").failure if isinstance(error, Exception) else None
