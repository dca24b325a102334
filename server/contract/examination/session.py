"""The session that every check gets: the op, its call, the recorded first run, results that checks share, and how
their gradients are compared.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
import torch

from ...numerics.formatting.numbers import format_distinct
from ...numerics.linearity.laws import Linearity, check_linearity
from ...runtime import timing
from ...runtime.arguments import BoundFunction
from ...runtime.batching import batched_section
from ...runtime.failure import describe_exception
from ...runtime.graph import FunctionClass, function_nodes
from ...runtime.section import Section
from ...runtime.timeouts import TookTooLong, time_limit
from .call import Call, ForwardRun, GradientsByName, TensorsByName
from .function_lines import FunctionSource
from .recorder import BackwardCall, CallRecord, ForwardCall, instrument, replace_references, same_elements
from .slopes import TensorSlopes, tensor_slopes

# budget: how many points linearity is checked at, and about how many where each point needs calls of its own.
_POINTS, _UNBATCHED_POINTS = 33, 4


def _laws_along(section: Section, reach: tuple[float, float]) -> Linearity:
    """Check that backward is linear in grad_output along the sweep, for the chosen output and input."""
    if section.sweeps_parameter:
        return Linearity()
    x = np.unique(section.snap(np.linspace(*reach, _POINTS)))
    try:
        cut = batched_section(section, x)
        x = x if cut.stacked else x[:: _POINTS // _UNBATCHED_POINTS]
        return check_linearity(cut, x, 1.0, cut.backward(x, 1.0))
    except Exception:  # noqa: BLE001 another check reports what fails
        return Linearity()


# What a check can require: outputs, gradients, a first call that was recorded ("watched"), and a Function that gives
# equal answers to equal calls ("deterministic").
Requirement = Literal["forward", "backward", "watched", "deterministic"]


@dataclass(frozen=True)
class FirstCall:
    """The first call, made through a subclass that records what forward and backward get and return.

    ``error`` is what was raised and ``failed`` in which of the two; ``delivered`` is what the engine made of what
    backward returned, one for each tensor argument of forward; ``seconds`` is how long the call took.
    """

    record: CallRecord
    ran: ForwardRun | None
    grad_outputs: dict[str, torch.Tensor]
    gradients: GradientsByName
    delivered: tuple[torch.Tensor | None, ...]
    failed: str = ""
    error: BaseException | None = None
    seconds: float = 0.0
    edited: tuple[str, ...] = ()
    edited_late: tuple[str, ...] = ()

    @property
    def forward(self) -> ForwardCall | None:
        """The record of forward; None if it was not called."""
        return self.record.forwards[0] if self.record.forwards else None

    @property
    def backward(self) -> BackwardCall | None:
        """The record of backward; None if it was not called."""
        return self.record.backwards[0] if self.record.backwards else None

    @property
    def pairs(self) -> list[tuple[int, Any, Any]]:
        """Every argument of forward: its position, its value, and what backward returned for it."""
        if not (self.forward and self.backward):
            return []
        both = zip(self.forward.arguments, self.backward.values, strict=False)
        return [(place, argument, value) for place, (argument, value) in enumerate(both)]


@dataclass(frozen=True)
class CheckSession:
    """What every check gets. ``broken`` holds the ids of the checks that already found something.

    ``until`` is when the answer is due. ``explained`` are the inputs whose wrong gradient has its cause among what was
    found, ``wrong`` those of which it is an error.
    """

    section: Section
    call: Call
    reach: tuple[float, float]
    until: float
    broken: set[str] = field(default_factory=set)
    explained: set[str] = field(default_factory=set)
    wrong: set[str] = field(default_factory=set)

    @cached_property
    def function(self) -> FunctionClass:
        """The user's class: the one that the op names, or if another one is called, the last of those."""
        named, call = self.section.op.function, self.section.op.call
        if (call.function if isinstance(call, BoundFunction) else call) in (None, named):
            return named
        try:
            called = [type(node)._forward_cls for node in function_nodes(self.call.run().outputs.values())]
        except (Exception, TookTooLong):  # noqa: BLE001 reported with the first call
            return named
        return named if named in called or not called else called[0]

    @cached_property
    def source(self) -> FunctionSource:
        """The source of that class."""
        return FunctionSource(self.section.op, self.function)

    @property
    def by_design(self) -> bool:
        """Whether the op declares a surrogate: a gradient that is deliberately not that of forward."""
        return self.section.op.claim == "surrogate"

    def watched(self) -> tuple[Call, CallRecord]:
        """The same call through a recording subclass, and its record."""
        function, record = instrument(self.function)
        return self.call.through(self.through(function)), record

    def through(self, function: FunctionClass) -> Any:
        """The callable of the op, rebound to call another class."""
        return replace_references(self.section.op.call or self.function.apply, self.function, function)

    @cached_property
    def first(self) -> FirstCall:
        """The first call, with an irregular ``grad_output`` for every output; interrupted after a time limit."""
        began = timing.now()
        try:
            with time_limit(_FIRST_SHARE * (self.until - began)):
                return replace(self._recorded_call(), seconds=timing.now() - began)
        except TookTooLong as error:
            return FirstCall(CallRecord(()), None, {}, {}, (), "forward", error)

    def _recorded_call(self) -> FirstCall:
        call, record = self.watched()
        delivered: list[torch.Tensor | None] = []
        try:
            ran = call.run()
        except (Exception, TookTooLong) as error:  # noqa: BLE001 a result
            return FirstCall(record, None, {}, {}, (), "forward", error)
        for node in function_nodes(ran.outputs.values()):
            if issubclass(type(node)._forward_cls, self.function):
                # Called on the class: an attribute of ctx may hide the method.
                type(node).register_hook(node, lambda found, _: delivered.extend(found) if not delivered else None)
                break
        grad_outputs = call.grad_outputs(ran)
        before = {name: tensor.detach().clone() for name, tensor in ran.given.tensors.items()}
        edited = _changed(call.tensors, before)
        if not grad_outputs:
            return FirstCall(record, ran, {}, {}, (), "backward", None, edited=edited)
        try:
            copies = {name: given.clone() for name, given in grad_outputs.items()}
            found = ran.gradients(copies, retain=True)
        except (Exception, TookTooLong) as error:  # noqa: BLE001 a result
            return FirstCall(record, ran, grad_outputs, {}, (), "backward", error, edited=edited)
        late = _changed(before, ran.given.tensors)
        return FirstCall(record, ran, grad_outputs, found, tuple(delivered), edited=edited, edited_late=late)

    def lacks(self, needs: tuple[Requirement, ...]) -> str:
        """Why the requirements of a check are not met; empty if they are."""
        first = self.first
        if first.failed and isinstance(first.error, TookTooLong) and {"forward", "backward"} & set(needs):
            return f"{first.failed} was interrupted, because {first.error}{first.error.place}"
        if "forward" in needs and first.failed == "forward" and first.error:
            return f"forward raised {describe_exception(first.error)}"
        if "backward" in needs and first.failed:
            if first.error:
                return f"{first.failed} raised {describe_exception(first.error)}"
            return "no output requires a gradient, so backward is never called"
        if "watched" in needs and not first.forward:
            return "the Function could not be watched where the op calls it"
        if "watched" in needs and "backward" in needs and not first.backward:
            return "backward was not called"
        if "deterministic" in needs and self.broken & _NONDETERMINISM:
            return "two equal calls of the Function differ"
        return ""

    def called_by_forward(self, names: Iterable[str]) -> list[str]:
        """Tensors of the call by the names that forward has for them, where it is given them as they are."""
        ran, forward = self.first.ran, self.first.forward
        given = forward.arguments if forward else ()
        places = {id(each): self.first.record.name(place) for place, each in enumerate(given)}
        return [places.get(id(ran.given.tensors[name]), name) for name in names] if ran else []

    def returned_by_name(self) -> Iterator[tuple[str, Any]]:
        """What backward returned for each tensor of the call that forward is given as it is, as the engine got it."""
        ran = self.first.ran
        names = {id(tensor): name for name, tensor in ran.given.tensors.items()} if ran else {}
        return ((names[id(argument)], value) for _, argument, value in self.first.pairs if id(argument) in names)

    @property
    def handed(self) -> dict[str, torch.Tensor]:
        """Copies of the grad_outputs of the first call, since backward may write to them."""
        return {name: given.clone() for name, given in self.first.grad_outputs.items()}

    def gradients(self, grad_outputs: TensorsByName) -> GradientsByName:
        """Run forward and backward of the user's class once, unrecorded."""
        return self.call.gradients(grad_outputs)

    @cached_property
    def slopes(self) -> dict[str, TensorSlopes]:
        """Finite differences of forward with respect to every tensor, for the ``grad_output`` of the first call."""
        return {name: tensor_slopes(self.call, name, self.first.grad_outputs) for name in self.call.tensors}

    @cached_property
    def laws(self) -> Linearity:
        """Violations of linearity in grad_output along the sweep."""
        return _laws_along(self.section, self.reach)


def _changed(some: TensorsByName, others: TensorsByName) -> tuple[str, ...]:
    """The names of the tensors that hold other numbers."""
    return tuple(name for name, one in others.items() if not same_elements(one.detach(), some[name].to(one.dtype)))


# budget: the share of the time that is left which the first call may take; without it there is nothing to look at.
_FIRST_SHARE = 0.75
_DOUBLE = (torch.float64, torch.complex128)
# bound: relative tolerance within which two gradients differ by rounding only: in float64, and in any other dtype.
_ROUNDING, _ROUNDING_IN_FLOAT = 1e-6, 1e-3
# ulps: and by so many roundings where they were computed in 16 bits.
_ROUNDINGS, _SHORT = 4.0, (torch.float16, torch.bfloat16)
# Once one of these checks has found something, two calls cannot be compared any more.
_NONDETERMINISM = {"RANDOM-BACKWARD", "NONDET-BACKWARD", "STATEFUL-FORWARD", "GLOBAL-STATE"}


def gradients_close(a: torch.Tensor | None, b: torch.Tensor | None, eps: float = 0.0) -> bool:
    """Whether two gradients are equal up to rounding, to this ``eps`` if that is coarser than it seems.

    None counts as zeros.
    """
    if a is None or b is None:
        return all(each is None or not bool(torch.nan_to_num(each).any()) for each in (a, b))
    if a.shape != b.shape:
        return False
    a, b = a.detach(), b.detach()
    rtol = _ROUNDING if b.dtype in _DOUBLE else _ROUNDING_IN_FLOAT
    rtol = max(rtol, _ROUNDINGS * max(short_eps(a), short_eps(b), eps))
    largest = float(torch.where(b.isfinite(), b, 0.0).abs().max()) if b.numel() else 0.0
    return torch.allclose(a, b, rtol=rtol, atol=rtol * largest + 1e-12, equal_nan=True)


def short_eps(numbers: torch.Tensor) -> float:
    """The machine epsilon of the 16 bits in which all of some numbers are; 0 where they are not."""
    if not numbers.is_floating_point() or not bool(numbers.any()):
        return 0.0
    known = torch.nan_to_num(numbers)
    return next((torch.finfo(each).eps for each in _SHORT if torch.equal(known.to(each).to(known.dtype), known)), 0.0)


def all_gradients_close(some: GradientsByName, others: GradientsByName) -> bool:
    """Whether all gradients are equal up to rounding."""
    return all(gradients_close(some[name], others.get(name)) for name in some)


_Pair = tuple[torch.Tensor, torch.Tensor]


def differing_gradients(some: GradientsByName, others: GradientsByName) -> Iterator[tuple[str, _Pair]]:
    """The gradients that are not bitwise equal, by name; None counts as zeros."""
    for name, one in some.items():
        other = others[name]
        given = one if one is not None else other
        if given is not None:
            zeros = torch.zeros_like(given)
            pair = (zeros if one is None else one, zeros if other is None else other)
            if not same_elements(*pair):
                yield name, pair


def farthest_elements(one: torch.Tensor, other: torch.Tensor) -> tuple[str, str]:
    """The two elements that are farthest apart, as text; the shapes if those differ."""
    if one.shape != other.shape or not one.numel():
        return f"shape {tuple(one.shape)}", f"shape {tuple(other.shape)}"
    a, b = (each.detach().reshape(-1).to(torch.complex128) for each in (one, other))
    far = (torch.nan_to_num(a) - torch.nan_to_num(b)).abs()
    row = int(torch.where(a.isnan() != b.isnan(), torch.inf, far).argmax())
    first, second = float(a[row].real), float(b[row].real)
    return format_distinct(first, second), format_distinct(second, first)
