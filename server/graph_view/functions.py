"""Details of each Function in a traced call: arguments, outputs, saved tensors, attributes of ctx, gradients."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch.autograd.function import BackwardCFunction

from ..runtime.graph import declares_once, has_setup_context
from .profiler import RecordedCall, function_class
from .trace import GraphTrace
from .values import ValueSummary, one_line, tensors_in, value_summary

# How many Functions are shown, and how many attributes of one ctx.
_MOST_FUNCTIONS, _MOST_ATTRIBUTES = 6, 40


@dataclass(frozen=True)
class TracedArgument:
    """One argument of forward. ``tracked`` is its value in ``needs_input_grad``.

    ``returned`` is what backward returned for it and ``delivered`` what the engine passed on; None where that is not
    known, or nothing was passed on.
    """

    name: str
    thing: ValueSummary
    tracked: bool
    dirty: bool
    returned: ValueSummary | None
    delivered: ValueSummary | None


@dataclass(frozen=True)
class _Output:
    """One output of forward. ``arrived`` is its ``grad_output`` if backward ran; ``silent``: it takes no gradient."""

    name: str
    thing: ValueSummary
    silent: bool
    arrived: ValueSummary | None


@dataclass(frozen=True)
class SavedTensor:
    """A tensor given to ``save_for_backward``; without a ``thing``, None was saved.

    ``name`` is that of the argument or output that it is, empty if it is neither; ``shares`` that of the one whose
    memory it shares. ``used`` says whether any gradient depends on it, None if that was not tried.
    """

    name: str
    thing: ValueSummary | None
    shares: str
    used: bool | None


@dataclass(frozen=True)
class _Attribute:
    """An attribute that forward set on ctx; ``role`` names the argument or output that it is, or contains."""

    name: str
    thing: ValueSummary
    role: str


@dataclass(frozen=True)
class TracedFunction:
    """A Function in one call. ``ran``: its backward ran; ``count``: how many values that returned."""

    name: str
    node: str
    new_style: bool
    once: bool
    materialize: bool
    arguments: tuple[TracedArgument, ...]
    outputs: tuple[_Output, ...]
    saved: tuple[SavedTensor, ...]
    attributes: tuple[_Attribute, ...]
    ran: bool
    count: int | None
    returned_list: bool


@dataclass(frozen=True)
class _TensorNames:
    """The names of arguments and outputs of a Function by object identity and by storage; of several the first."""

    by_identity: dict[int, str]
    by_storage: dict[int, str]

    @classmethod
    def of(cls, record: RecordedCall, outputs: tuple[_Output, ...]) -> _TensorNames:
        named = [*zip(record.names, record.arguments, strict=False)]
        named += [(each.name, value) for each, value in zip(outputs, record.outputs, strict=True)]
        named.reverse()  # so that the first wins
        return cls({id(value): name for name, value in named}, {_storage(value): name for name, value in named})

    def of_tensor(self, tensor: torch.Tensor) -> str:
        """The name of the argument or output that this tensor is."""
        return self.by_identity.get(id(tensor), "")

    def of_memory(self, tensor: torch.Tensor) -> str:
        """The name of the argument or output with which a tensor shares memory."""
        mine = _storage(tensor)
        return self.by_storage.get(mine, "") if mine else ""


def traced_functions(call: GraphTrace, tried: tuple[tuple[str, bool | None], ...]) -> tuple[TracedFunction, ...]:
    """The last Functions of the graph of a call, in call order; if the graph has none, the first that was called.

    ``tried`` are all saved tensors of the graph, nearest to the outputs first, and whether they are used.
    """
    in_graph = [node for node in call.nodes if isinstance(node, BackwardCFunction)]
    records = [each for each in call.recorder.calls if any(each.node is node for node in in_graph)]
    used, left = dict[Any, list[bool | None]](), list(tried)
    if len(tried) == sum(len(each.saved) for each in records):  # else a call was not recorded
        for node in in_graph:
            count = sum(len(each.saved) for each in records if each.node is node)
            used[node], left = [each for _, each in left[:count]], left[count:]
    records = records or call.recorder.calls[:1]
    return tuple(_traced_function(call, each, used.get(each.node, [])) for each in records[-_MOST_FUNCTIONS:])


def _traced_function(call: GraphTrace, record: RecordedCall, used: list[bool | None]) -> TracedFunction:
    function = function_class(record.node)
    outputs = tuple(_outputs(call, record))
    names = _TensorNames.of(record, outputs)
    return TracedFunction(
        name=one_line(function.__name__),
        node=one_line(type(record.node).__name__),
        new_style=has_setup_context(function),
        once=declares_once(function),
        materialize=record.materialize,
        arguments=tuple(_arguments(call, record)),
        outputs=outputs,
        saved=tuple(_saved(names, record, used)),
        attributes=tuple(_attributes(names, record)),
        ran=record.arrived is not None,
        count=len(record.returned) if record.returned is not None else None,
        returned_list=record.returned_list,
    )


def _arguments(call: GraphTrace, record: RecordedCall) -> Iterator[TracedArgument]:
    needed, dirty = list(record.node.needs_input_grad), {id(each) for each in record.dirty}
    # The node has an edge for every tensor argument, and for no other.
    delivered = iter(call.gradients.get(record.node, ()))
    for place, (name, value) in enumerate(zip(record.names, record.arguments, strict=False)):
        yield TracedArgument(
            name=one_line(name),
            thing=value_summary(value),
            tracked=place < len(needed) and bool(needed[place]),
            dirty=id(value) in dirty,
            returned=record.returned[place] if record.returned and place < len(record.returned) else None,
            delivered=next(delivered, None) if isinstance(value, torch.Tensor) else None,
        )


def _outputs(call: GraphTrace, record: RecordedCall) -> Iterator[_Output]:
    still = {id(each) for each in record.silent}
    for place, value in enumerate(record.outputs):
        silent = id(value) in still
        silent |= isinstance(value, torch.Tensor) and not (value.is_floating_point() or value.is_complex())
        arrived = record.arrived[place] if record.arrived and place < len(record.arrived) else None
        yield _Output(_output_name(call, record, place), value_summary(value), silent, arrived)


def _output_name(call: GraphTrace, record: RecordedCall, place: int) -> str:
    """The name that the op gives to an output of one of its Functions, else a generic one."""
    for name, out in call.outputs.items():
        same = out is record.outputs[place]
        if same or (isinstance(out, torch.Tensor) and out.grad_fn is record.node and out.output_nr == place):
            return name
    return f"output {place}" if len(record.outputs) > 1 else "output"


def _saved(names: _TensorNames, record: RecordedCall, used: list[bool | None]) -> Iterator[SavedTensor]:
    for place, tensor in enumerate(record.saved):
        if tensor is None:
            yield SavedTensor("None", None, "", None)
            continue
        name, shares = names.of_tensor(tensor), names.of_memory(tensor)
        yield SavedTensor(name, value_summary(tensor), shares, used[place] if place < len(used) else None)


def _attributes(names: _TensorNames, record: RecordedCall) -> Iterator[_Attribute]:
    for name, value in list(vars(record.node).items())[:_MOST_ATTRIBUTES]:
        inside = [value] if isinstance(value, torch.Tensor) else tensors_in(value)
        roles = dict.fromkeys(filter(None, (names.of_tensor(each) for each in inside)))
        yield _Attribute(one_line(str(name)), value_summary(value), one_line(", ".join(roles)))


def _storage(value: Any) -> int:
    if not isinstance(value, torch.Tensor) or value.layout != torch.strided:
        return 0
    return value.untyped_storage().data_ptr()
