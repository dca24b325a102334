"""Calls of edited code: made here like any other, and run in the guest.

Autograd works on both sides: the guest's engine runs the edited backward, and this one knows a stand-in for it. So all
that measures and judges a Function measures and judges the edited one, and never runs its code.
"""

import inspect
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from ..runtime.arguments import returned_values
from ..runtime.rng import seeding
from .guest_process import GuestLost, GuestProcess, Reply
from .raised import edited_error, lost_error
from .wire import BadReply, Writing, tensors_in, with_tensors

Tensors = tuple[torch.Tensor, ...]
_DRAWS: dict[str, Callable[[], object]] = {
    "torch": lambda: torch.rand(()),
    "NumPy": np.random.random,
    "Python": random.random,
}


class _Graph:
    """What the guest keeps of a call for its backward; when this goes, the guest may forget it."""

    def __init__(self, guest: GuestProcess, number: int) -> None:
        self.guest, self.number, self._pid = guest, number, guest.pid

    @property
    def lives(self) -> bool:
        """Whether the guest still has it."""
        return bool(self._pid) and self._pid == self.guest.pid

    def __del__(self) -> None:
        if self.lives:
            self.guest.forgotten.append(self.number)


@dataclass
class Request:
    """One call of edited code, or of its backward: what is sent, and what has come back.

    ``leaves`` are the places of the tensors by which the guest differentiates. ``parent`` is the graph that is pulled
    back through, whose call was given the tensors ``earlier``; None for a call.
    """

    guest: GuestProcess
    header: dict[str, Any]
    leaves: list[int]
    parent: _Graph | None = None
    earlier: Tensors = ()
    value: Any = None
    graph: _Graph | None = None
    tracked: list[bool] = field(default_factory=list)
    dirty: list[torch.Tensor] = field(default_factory=list)

    def run(self, given: Tensors) -> Tensors:
        """Send it, and take over what the guest has written and returned; the tensors in what it returned."""
        writing = Writing()
        header: dict[str, Any] = {"generator": writing.value(self._generator()), "seed": seeding.take()}
        header |= {name: writing.value(value) if name in _VALUES else value for name, value in self.header.items()}
        header["forget"], self.guest.forgotten = self.guest.forgotten, []
        if self.parent is not None:
            if not self.parent.lives:
                raise GuestLost("has ended its process since forward")
            header["graph"] = self.parent.number
        try:
            reply = self.guest.ask(header, writing.segments)
        except GuestLost as lost:
            raise lost_error(lost) from None
        try:
            if reply.header["kind"] == "returned":
                return self._accept(reply, given)
            error = edited_error(reply.header)
        except BadReply as bad:
            self.guest.close()
            self.guest.lost[self.header["kind"]] = bad
            raise
        raise error

    def _generator(self) -> torch.Tensor | None:
        """The state of torch's generator, which the guest is to go on with; None where it has it already."""
        state, known = torch.get_rng_state(), self.guest.generator
        if known is not None and torch.equal(state, known):
            return None
        self.guest.generator = state
        return state

    def _accept(self, reply: Reply, given: Tensors) -> Tensors:
        written = _written(reply, "written", given)
        if self.parent is not None:
            _written(reply, "saved", self.earlier)
        self.value = reply.reading.value(reply.header.get("value"))
        outputs = list(tensors_in(self.value))
        self.tracked = _flags(reply.get("tracked", list), len(outputs))
        for name in reply.get("drew", list):
            if type(name) is str and name in _DRAWS:
                _DRAWS[name]()
                self.guest.generator = None
        same = reply.header.get("same", [-1] * len(outputs))
        if type(same) is not list or len(same) != len(outputs):
            raise BadReply("it does not say which outputs are inputs")
        for place, source in enumerate(same):
            if type(source) is int and 0 <= source < len(given) and outputs[place].shape == given[source].shape:
                outputs[place] = given[source]
                self.dirty += [given[source]] if source in written else []
        self.graph = _Graph(self.guest, reply.get("graph", int))
        return tuple(outputs)


_VALUES = ("arguments", "options", "cotangents")


def _flags(flags: list[Any], count: int) -> list[bool]:
    if len(flags) != count or not all(type(each) is bool for each in flags):
        raise BadReply("it does not say which outputs require grad")
    return flags


def _written(reply: Reply, name: str, given: Sequence[torch.Tensor]) -> set[int]:
    """Copy what the guest has written into tensors; the places of those of which autograd knows."""
    known = set()
    for each in reply.get(name, list):
        if type(each) is not list or len(each) != 3 or type(each[0]) is not int or not 0 <= each[0] < len(given):
            raise BadReply("it has written where there is nothing")
        place, bumped, plain = each
        now, tensor = reply.reading.tensor(plain), given[place]
        if now.shape != tensor.shape or now.dtype != tensor.dtype:
            raise BadReply("it has written another tensor")
        with torch.no_grad():
            (tensor if bumped is True else tensor.data).copy_(now)
        known |= {place} if bumped is True else set()
    return known


def _remember(ctx: Any, request: Request, given: Tensors, outputs: Any) -> None:
    """Tell autograd of this process what the guest's knows of a call."""
    ctx.set_materialize_grads(False)
    ctx.request, ctx.given = request, given
    if request.dirty:
        ctx.mark_dirty(*request.dirty)
    marked = zip(returned_values(outputs), request.tracked, strict=True)
    ctx.mark_non_differentiable(*(out for out, one in marked if not one))


class StandIn(torch.autograd.Function):
    """What autograd knows of a call of edited code: the first argument is a request, the others its tensors."""

    @staticmethod
    def forward(ctx: Any, request: Request, *given: torch.Tensor) -> Tensors:
        outputs = request.run(given)
        _remember(ctx, request, given, outputs)
        return outputs

    @staticmethod
    def backward(ctx: Any, *grad_outputs: torch.Tensor | None) -> Any:
        request: Request = ctx.request
        gradients: list[Any] = [None] * len(ctx.given)
        cotangents = [each for each in grad_outputs if each is not None]
        if cotangents and request.graph is not None:
            for place, gradient in zip(request.leaves, _pulled(request, ctx.given, grad_outputs), strict=True):
                gradients[place] = gradient
        return None, *gradients


_APPLY: Any = StandIn.apply


def _pulled(request: Request, given: Tensors, grad_outputs: Sequence[torch.Tensor | None]) -> Sequence[Any]:
    """What backward returns in the guest for each leaf of the request."""
    create = torch.is_grad_enabled()
    own = tuple(each for each in grad_outputs if each is not None)
    leaves = tuple(given[place] for place in request.leaves)
    header = {"kind": "pull", "create": create, "cotangents": list(grad_outputs)}
    pull = Request(request.guest, header, [*range(len(leaves) + len(own))], request.graph, given)
    outputs = _APPLY(pull, *leaves, *own) if create else pull.run(own)
    gradients = with_tensors(pull.value, iter(outputs))
    if type(gradients) is not tuple or len(gradients) != len(leaves):
        raise BadReply("it has returned another number of gradients")
    return gradients


class EditedCall:
    """A callable of edited code, by the name under which the guest knows it: called here, run there.

    ``names`` are those of its parameters, where they matter.
    """

    def __init__(self, guest: GuestProcess, target: str, names: Sequence[str] | None = None) -> None:
        self._guest, self._target = guest, target
        self.__name__ = target.rpartition(".")[2]
        if names is not None:
            kinds = inspect.Parameter.POSITIONAL_OR_KEYWORD
            self.__signature__ = inspect.Signature([inspect.Parameter(name, kinds) for name in names])

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        places = [place for place, each in enumerate(arguments) if isinstance(each, torch.Tensor)]
        header = {
            "kind": "call",
            "target": self._target,
            "arguments": list(arguments),
            "options": options,
            "roles": [_role(each) for each in arguments],
            "grad": torch.is_grad_enabled(),
        }
        leaves = [number for number, place in enumerate(places) if arguments[place].requires_grad]
        request = Request(self._guest, header, leaves)
        outputs = _APPLY(request, *(arguments[place] for place in places))
        return with_tensors(request.value, iter(outputs))


def _role(argument: Any) -> str:
    """How the guest is to treat an argument: as a leaf, as computed from one, as a tensor without gradient."""
    if not isinstance(argument, torch.Tensor):
        return ""
    return "plain" if not argument.requires_grad else "leaf" if argument.is_leaf else "tracked"
