"""Trace of one forward and backward of an op: the nodes of the graph, and the gradients that flow between them."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Any

import torch

from ..runtime.failure import Failure, FunctionFailed, failure_of
from ..runtime.failure import describe_result as in_words
from ..runtime.graph import input_leaf
from ..runtime.section import Section
from ..runtime.vjp import dense, make_cotangent, pull_back
from .profiler import CallRecorder
from .values import ValueSummary, value_summary

# How many nodes are traced, the nearest to the outputs.
MAX_NODES = 40


@dataclass
class GraphTrace:
    """The trace of one call. ``gates`` are the nodes of the copies that the op was given, with the name of each input.

    ``nodes`` are those of the graph by distance from the outputs, without leaves and gates; ``more`` says that there
    were too many. ``flowed`` has for each node that ran the gradients it passed to its ``next_functions``, ``leaves``
    the gradient of each input, None if there is none, and ``handed`` the ``grad_output`` of the whole op.
    """

    section: Section
    witness: CallRecorder
    given: dict[str, torch.Tensor]
    gates: dict[Any, str]
    outputs: dict[str, Any]
    nodes: list[Any] = field(default_factory=list)
    more: bool = False
    flowed: dict[Any, tuple[ValueSummary | None, ...]] = field(default_factory=dict)
    leaves: dict[str, ValueSummary | None] = field(default_factory=dict)
    handed: ValueSummary | None = None
    failure: Failure | None = None

    @property
    def looked_at(self) -> Any:
        """The output that is differentiated."""
        return self.outputs[self.section.of]


def trace_call(section: Section, t: float, grad_output: float) -> GraphTrace:
    """Call the op with the swept element at ``t``, and its backward. Raises ``FunctionFailed`` if forward fails."""
    leaves = {name: input_leaf(section, name, values, t) for name, values in section.inputs}
    # Autograd forbids a Function to edit a leaf in place.
    given = {name: leaf.clone() for name, leaf in leaves.items()}
    gates = {copy.grad_fn: name for name, copy in given.items()}
    parameters = [t if name == section.wrt else value for name, value in section.parameters]
    witness = CallRecorder()
    try:
        with witness:
            returned = section.call(*given.values(), *parameters)
    except Exception as error:
        raise failure_of(error, section.op, "forward") from error
    outputs = dict(zip(section.op.outputs, _flat(returned), strict=False))
    if not isinstance(outputs.get(section.of), torch.Tensor):
        found = in_words(returned, len(_flat(returned)))
        said = f"forward returned {found} where a tensor {section.of!r} was declared."
        raise FunctionFailed(Failure("forward", "WrongShape", said))
    call = GraphTrace(section, witness, given, gates, outputs)
    _walk(call)
    _pull(call, leaves, grad_output)
    return call


def _walk(call: GraphTrace) -> None:
    """Collect the nodes, breadth first from the outputs."""
    left = [out.grad_fn for out in call.outputs.values() if isinstance(out, torch.Tensor)]
    while left:
        node = left.pop(0)
        if node is None or node in call.nodes or node in call.gates or is_accumulate_grad(node):
            continue
        if len(call.nodes) == MAX_NODES:
            call.more = True
            return
        call.nodes.append(node)
        left += [before for before, _ in node.next_functions]


def is_accumulate_grad(node: Any) -> bool:
    """Whether a node accumulates the gradient of a leaf."""
    return type(node).__name__ == "AccumulateGrad"


def _pull(call: GraphTrace, leaves: dict[str, torch.Tensor], grad_output: float) -> None:
    out, section = call.looked_at, call.section
    if not out.requires_grad:
        return

    def heard(node: Any, delivered: tuple[Any, ...], arrived: tuple[Any, ...]) -> None:
        call.flowed[node] = tuple(None if each is None else value_summary(each) for each in delivered)
        record = call.witness.of(node)
        if record is not None and record.arrived is None:  # on a GPU backward runs in another, unprofiled thread
            record.arrived = tuple(map(value_summary, arrived))

    # A Function may have named an attribute of its ctx, which is the node, `register_hook`.
    hooks = [type(node).register_hook(node, partial(heard, node)) for node in call.nodes]
    try:
        given = make_cotangent(out.detach(), grad_output, 1, section.of_index, dense)
    except (IndexError, RuntimeError) as error:
        said = f"forward returned {section.of!r} of shape {list(out.shape)}: it has no such element."
        raise FunctionFailed(Failure("forward", "WrongShape", said)) from error
    call.handed = value_summary(given)
    try:
        with call.witness:
            found = pull_back((out,), (given,), leaves.values())
        call.leaves = {
            name: None if each is None else value_summary(each) for name, each in zip(leaves, found, strict=True)
        }
    except Exception as error:  # noqa: BLE001 the graph is drawn without gradients then
        call.failure = failure_of(error, section.op, "backward").failure
    for hook in hooks:
        hook.remove()


def _flat(returned: Any) -> tuple[Any, ...]:
    return returned if isinstance(returned, tuple) else (returned,)
