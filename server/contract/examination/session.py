"""A call that has been examined: what happened when it was made for the first time, and what is asked of it later."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
import torch

from ...numerics.linearity.laws import Linearity, examine
from ...runtime import timing
from ...runtime.batching import arranged
from ...runtime.failure import said
from ...runtime.graph import nodes
from ...runtime.recorder import Backward, Forward, Function, Record, instrumented, rebound
from ...runtime.section import Section
from ...runtime.timeouts import TookTooLong, within
from .call import Call, Gradients, Ran, Tensors
from .function_lines import Source
from .slopes import Slopes, slopes

# Points at which they are put to a section, and where each needs calls of its own.
_POINTS, _FEW = 33, 4


def laws_along(section: Section, reach: tuple[float, float]) -> Linearity:
    """The laws that backward breaks along the sweep, for the output and the input that are looked at."""
    if section.sweeps_parameter:
        return Linearity()
    x = np.unique(section.snap(np.linspace(*reach, _POINTS)))
    try:
        cut = arranged(section, x)
        x = x if cut.stacked else x[:: _POINTS // _FEW]
        return examine(cut, x, 1.0, cut.backward(x, 1.0))
    except Exception:  # noqa: BLE001 what fails is told elsewhere
        return Linearity()


# What there must be before a check can be made: outputs, gradients, a subclass that was reached, equal answers.
Need = Literal["forward", "backward", "watched", "steady"]


@dataclass(frozen=True)
class First:
    """The first call through the instrumented subclass.

    ``error`` is what was raised, and ``failed`` in which part; ``delivered`` is what the engine made of what backward
    returned, one for each tensor that was an argument of forward. It took so many ``seconds``.
    """

    record: Record
    ran: Ran | None
    grad_outputs: dict[str, torch.Tensor]
    gradients: Gradients
    delivered: tuple[torch.Tensor | None, ...]
    failed: str = ""
    error: BaseException | None = None
    seconds: float = 0.0

    @property
    def forward(self) -> Forward | None:
        """What forward was given and kept, None if it was not reached."""
        return self.record.forwards[0] if self.record.forwards else None

    @property
    def backward(self) -> Backward | None:
        """What backward was given and returned."""
        return self.record.backwards[0] if self.record.backwards else None

    @property
    def pairs(self) -> list[tuple[int, Any, Any]]:
        """By its place every argument of forward, and what backward returned for it."""
        if not (self.forward and self.backward):
            return []
        both = zip(self.forward.arguments, self.backward.values, strict=False)
        return [(place, argument, value) for place, (argument, value) in enumerate(both)]


@dataclass(frozen=True)
class Examined:
    """What every check is given. ``broken`` are the ids that were found to be no longer fine."""

    section: Section
    call: Call
    reach: tuple[float, float]
    broken: set[str] = field(default_factory=set)

    @cached_property
    def function(self) -> Function:
        """The user's class: the one that the op names, or where it calls another one, the last of those."""
        named = self.section.op.function
        try:
            called = [type(node)._forward_cls for node in nodes(self.call.run().outputs.values())]
        except (Exception, TookTooLong):  # noqa: BLE001 what fails is told of the first call
            return named
        return named if named in called or not called else called[0]

    @cached_property
    def source(self) -> Source:
        """Its source."""
        return Source(self.section.op, self.function)

    @property
    def by_design(self) -> bool:
        """Whether the op says that its gradient is not that of its forward."""
        return self.section.op.claim == "surrogate"

    def watched(self) -> tuple[Call, Record]:
        """The same call through a subclass that notes everything, and its notes."""
        function, record = instrumented(self.function)
        return self.call.through(self.through(function)), record

    def through(self, function: Function) -> Any:
        """What calls the op, made to call another class instead."""
        return rebound(self.section.op.call or self.function.apply, self.function, function)

    @cached_property
    def first(self) -> First:
        """The first call, with an irregular ``grad_output`` for every output. It is interrupted after a while."""
        began = timing.now()
        try:
            with within(_FIRST):
                return replace(self._called(), seconds=timing.now() - began)
        except TookTooLong as error:
            return First(Record(()), None, {}, {}, (), "forward", error)

    def _called(self) -> First:
        call, record = self.watched()
        delivered: list[torch.Tensor | None] = []
        try:
            ran = call.run()
        except (Exception, TookTooLong) as error:  # noqa: BLE001 a result
            return First(record, None, {}, {}, (), "forward", error)
        for node in nodes(ran.outputs.values()):
            if issubclass(type(node)._forward_cls, self.function):
                # An attribute of ctx may have the name of a method of the node.
                type(node).register_hook(node, lambda found, _: delivered.extend(found) if not delivered else None)
                break
        handed = call.grad_outputs(ran)
        if not handed:
            return First(record, ran, {}, {}, (), "backward", None)
        try:
            copies = {name: given.clone() for name, given in handed.items()}
            found = ran.gradients(copies, retain=True)
        except (Exception, TookTooLong) as error:  # noqa: BLE001 a result
            return First(record, ran, handed, {}, (), "backward", error)
        return First(record, ran, handed, found, tuple(delivered))

    def lacks(self, needs: tuple[Need, ...]) -> str:
        """Why what a check needs is not there; empty if it is."""
        first = self.first
        if first.failed and isinstance(first.error, TookTooLong) and {"forward", "backward"} & set(needs):
            return f"{first.failed} was interrupted, because {first.error}"
        if "forward" in needs and first.failed == "forward" and first.error:
            return f"forward raised {said(first.error)}"
        if "backward" in needs and first.failed:
            if first.error:
                return f"{first.failed} raised {said(first.error)}"
            return "no output requires a gradient, so backward is never called"
        if "watched" in needs and not first.forward:
            return "the Function could not be watched where the op calls it"
        if "watched" in needs and "backward" in needs and not first.backward:
            return "backward was not called"
        if "steady" in needs and self.broken & UNSTEADY:
            return "the Function does not repeat itself"
        return ""

    @property
    def handed(self) -> dict[str, torch.Tensor]:
        """Copies of the grad_outputs of the first call: backward may write to what it is given."""
        return {name: given.clone() for name, given in self.first.grad_outputs.items()}

    def gradients(self, grad_outputs: Tensors) -> Gradients:
        """The gradients of a fresh graph of the user's own class."""
        return self.call.gradients(grad_outputs)

    @cached_property
    def slopes(self) -> dict[str, Slopes]:
        """The differences of forward by every tensor, for the ``grad_output`` of the first call."""
        return {name: slopes(self.call, name, self.first.grad_outputs) for name in self.call.tensors}

    @cached_property
    def laws(self) -> Linearity:
        """The laws of linearity that backward breaks along the sweep."""
        return laws_along(self.section, self.reach)


# Seconds that the first call may take.
_FIRST = 1.5
# Two gradients that differ by less differ in rounding only, in double precision and in any other.
_DOUBLE = (torch.float64, torch.complex128)
_ROUNDING, ROUNDING_IN_FLOAT = 1e-6, 1e-3
# What these are raised for spoils every comparison of two calls.
UNSTEADY = {"RANDOM-BACKWARD", "NONDET-BACKWARD", "STATEFUL-FORWARD", "BWD-REPEAT", "GLOBAL-STATE"}


def close(a: torch.Tensor | None, b: torch.Tensor | None) -> bool:
    """Whether two gradients are the same up to rounding; None counts as zeros."""
    if a is None or b is None:
        return all(each is None or not bool(torch.nan_to_num(each).any()) for each in (a, b))
    if a.shape != b.shape:
        return False
    a, b, rtol = a.detach(), b.detach(), _ROUNDING if b.dtype in _DOUBLE else ROUNDING_IN_FLOAT
    largest = float(torch.where(b.isfinite(), b, 0.0).abs().max()) if b.numel() else 0.0
    return torch.allclose(a, b, rtol=rtol, atol=rtol * largest + 1e-12, equal_nan=True)


def all_close(some: Gradients, others: Gradients) -> bool:
    """Whether all gradients are the same up to rounding."""
    return all(close(some[name], others.get(name)) for name in some)


def quiet() -> warnings.catch_warnings:
    """What torch warns of meanwhile is said by the checks themselves."""
    return warnings.catch_warnings(action="ignore")
