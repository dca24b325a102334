"""Entry point of the contract X-ray: runs all checks and capability badges on one working call of an op."""

from __future__ import annotations

from dataclasses import dataclass, replace
from importlib import import_module

import torch

from ...ops import Op
from ..numerics.tolerance import USUAL, Allowance
from ..runtime import timing
from ..runtime.arrays import dtype_name
from ..runtime.failure import Failure, failure_of
from ..runtime.graph import has_setup_context
from ..runtime.isolation import quietly
from ..runtime.section import Section
from ..runtime.timeouts import TookTooLong, seconds_left, time_limit
from .capabilities import all_badges
from .capabilities.all_badges import capability_badges
from .capabilities.badges import CapabilityBadge
from .check_order import run_checks
from .examination.call import STACK_SIZE, Call, call_succeeds
from .examination.contract_check import CheckRow, ReturnedGradient
from .examination.session import CheckSession

__all__ = ["CheckRow", "ContractResult", "contract_xray"]


def _returned(session: CheckSession) -> tuple[ReturnedGradient, ...]:
    """What backward returned for each argument of forward, and what the engine delivered to the input."""
    rows, tensors = [], 0
    delivered = session.first.delivered
    for place, argument, value in session.first.pairs:
        reached = None
        if isinstance(argument, torch.Tensor):
            reached = delivered[tensors] if tensors < len(delivered) else None
            tensors += 1
        is_tensor, tracked = isinstance(value, torch.Tensor), isinstance(argument, torch.Tensor)
        rows.append(
            ReturnedGradient(
                session.first.record.name(place),
                str(tuple(argument.shape)) if isinstance(argument, torch.Tensor) else "",
                str(tuple(value.shape)) if is_tensor else "None" if value is None else type(value).__name__,
                dtype_name(value.dtype) if is_tensor else "",
                ""
                if session.first.failed or not tracked
                else "zeros"
                if reached is None
                else str(tuple(reached.shape)),
                dtype_name(reached.dtype) if reached is not None else "",
            )
        )
    return tuple(rows)


# Modules that torch imports lazily: torch.autograd.grad (so gradcheck too) the first for a grad_output, with sympy;
# forward mode the second. Loaded beforehand, they do not count against the time limits.
_LAZY_MODULES = ("torch.fx.experimental.symbolic_shapes", "torch._decomp.decompositions_for_jvp")
# What torch.func.grad imports lazily, for a Function with setup_context.
_LAZY_FOR_FUNC = ("torch._dynamo",)


def _load(function: type[torch.autograd.Function]) -> None:
    """Import what torch would import lazily for this Function; free the second time."""
    for name in (*_LAZY_MODULES, *(_LAZY_FOR_FUNC if has_setup_context(function) else ())):
        import_module(name)


NO_FUNCTION = "NO-FUNCTION"
# budget: of the time that is left the share in which a working call is found, and of what the checks leave that of the
# badges. With torch.compile, which takes about five seconds by itself, they get all of it.
_CALL_SHARE, _BADGES_SHARE = 0.2, 0.4


@dataclass(frozen=True)
class ContractResult:
    """Result of the X-ray: the ``checks`` by family, the ``badges``, and in ``raw`` what backward returned.

    ``tried`` says on which inputs it was run. ``failure`` is what forward raised, if it did. ``wrong`` are the inputs
    with a wrong gradient, ``delivers`` says that backward gave the engine gradients at all.
    """

    checks: tuple[CheckRow, ...]
    badges: tuple[CapabilityBadge, ...]
    raw: tuple[ReturnedGradient, ...]
    tried: str = ""
    failure: Failure | None = None
    wrong: frozenset[str] = frozenset()
    delivers: bool = True


def contract_xray(
    section: Section,
    reach: tuple[float, float] | None = None,
    compiled: bool = False,
    allowance: Allowance = USUAL,
) -> ContractResult:
    """Run every check and badge on the op of a section. Exceptions of the Function become rows.

    All calls are made in float64 on the CPU, whatever the dtype and device of the section, with the other inputs at
    the values that the section holds them at. ``reach`` is the interval from which values of the swept input are
    taken. Gradients may differ from slopes by the ``allowance``. torch.compile is tried only with ``compiled``. A
    Function that hangs is interrupted, and of one that is slow as much is looked at as there is time for. Its output
    to stdout and stderr is dropped.
    """
    if not (isinstance(section.op.function, type) and issubclass(section.op.function, torch.autograd.Function)):
        return ContractResult((_no_function(section.op),), (), ())
    section = section.at(torch.float64, "cpu")
    domain = (-3.0, 3.0) if section.sweeps_parameter else section.op.input(section.wrt).domain
    until = timing.now() + seconds_left()
    with quietly():
        _load(section.op.function)
        call = _call(section, reach, _CALL_SHARE * (until - timing.now()))
        session = CheckSession(section, replace(call, allowance=allowance), reach or domain, until)
        rows = run_checks(session)
        due = until if compiled else timing.now() + _BADGES_SHARE * (until - timing.now())
        given = capability_badges(session.section, session.call, due, compiled)
        return ContractResult(
            (*rows, *all_badges.badge_rows(session, given)),
            given,
            _returned(session),
            _input_note(session),
            _failure(session),
            frozenset(session.wrong),
            not session.first.failed,
        )


def _no_function(op: Op) -> CheckRow:
    """The only row of a plain function of tensors that calls no Function."""
    name = getattr(op.function, "__name__", op.title)
    seen = (
        f"{name} calls no torch.autograd.Function: torch itself derives its gradient, and there is no contract to "
        "check."
    )
    advice = "Name a class that derives from torch.autograd.Function, or a function that calls one."
    return CheckRow(NO_FUNCTION, "How it is written", "note", "A Function to look into", seen, advice=advice)


def _call(section: Section, reach: tuple[float, float] | None, seconds: float) -> Call:
    """The call to examine; in float32 if the Function raises in float64."""
    try:
        with time_limit(seconds):
            call = Call.of(section, reach)
            shorter = call.holding({name: tensor.float() for name, tensor in call.tensors.items()})
            return shorter if not call_succeeds(call) and call_succeeds(shorter) else call
    except TookTooLong:
        return Call.plain(section)


def _input_note(session: CheckSession) -> str:
    """Note for a Function of single numbers, which was called with several of them at once."""
    if not session.call.stacked or session.first.failed == "forward":
        return ""
    return f"Tried on {STACK_SIZE} numbers at once, spread over the range."


def _failure(session: CheckSession) -> Failure | None:
    error = session.first.error if session.first.failed == "forward" else None
    if isinstance(error, TookTooLong):
        error = TimeoutError(f"{error}{error.place}")
    return failure_of(error, session.section.op, "forward").failure if isinstance(error, Exception) else None
