"""Trace of one forward and backward of an op: the nodes of the graph, and the gradients that flow between them."""

from dataclasses import dataclass, field
from functools import partial
from typing import Any

import torch

from ..runtime.arguments import returned_values
from ..runtime.failure import Failure, FunctionFailed, failure_of
from ..runtime.failure import describe_result as in_words
from ..runtime.graph import input_leaf
from ..runtime.section import Section
from ..runtime.user_call import call_user_code
from ..runtime.vjp import dense, make_cotangent, pull_back
from .profiler import CallRecorder
from .values import ValueSummary, value_summary

# How many nodes are traced, the nearest to the outputs.
MAX_NODES = 40


@dataclass
class GraphTrace:
    """The trace of one call. ``input_copies`` maps the node of each copy that the op was given to the input's name.

    ``nodes`` are those of the graph by distance from the outputs, without leaves and copies; ``more`` says that there
    were too many. ``gradients`` has for each node that ran the gradients it passed to its ``next_functions``,
    ``input_gradients`` that of each input, None if there is none. ``grad_output`` is that of the whole op.
    """

    section: Section
    recorder: CallRecorder
    given: dict[str, torch.Tensor]
    input_copies: dict[Any, str]
    outputs: dict[str, Any]
    nodes: list[Any] = field(default_factory=list)
    more: bool = False
    gradients: dict[Any, tuple[ValueSummary | None, ...]] = field(default_factory=dict)
    input_gradients: dict[str, ValueSummary | None] = field(default_factory=dict)
    grad_output: ValueSummary | None = None
    failure: Failure | None = None

    @property
    def output(self) -> Any:
        """The output that is differentiated."""
        return self.outputs[self.section.of]


def trace_call(section: Section, t: float, grad_output: float) -> GraphTrace:
    """Call the op with the swept element at ``t``, and its backward. Raises ``FunctionFailed`` if forward fails."""
    leaves = {name: input_leaf(section, name, values, t) for name, values in section.inputs}
    # Autograd forbids a Function to edit a leaf in place.
    given = {name: leaf.clone() for name, leaf in leaves.items()}
    input_copies = {copy.grad_fn: name for name, copy in given.items()}
    parameters = [t if name == section.wrt else value for name, value in section.parameters]
    recorder = CallRecorder()
    try:
        with recorder:
            returned = call_user_code(section.call, *given.values(), *parameters)
    except Exception as error:
        raise failure_of(error, section.op, "forward") from error
    outputs = dict(zip(section.op.outputs, returned_values(returned), strict=False))
    if not isinstance(outputs.get(section.of), torch.Tensor):
        found = in_words(returned, len(returned_values(returned)))
        said = f"forward returned {found} where a tensor {section.of!r} was declared."
        raise FunctionFailed(Failure("forward", "WrongShape", said))
    call = GraphTrace(section, recorder, given, input_copies, outputs)
    _collect_nodes(call)
    _run_backward(call, leaves, grad_output)
    return call


def _collect_nodes(call: GraphTrace) -> None:
    """Collect the nodes, breadth first from the outputs."""
    left = [out.grad_fn for out in call.outputs.values() if isinstance(out, torch.Tensor)]
    while left:
        node = left.pop(0)
        if node is None or node in call.nodes or node in call.input_copies or is_accumulate_grad(node):
            continue
        if len(call.nodes) == MAX_NODES:
            call.more = True
            return
        call.nodes.append(node)
        left += [before for before, _ in node.next_functions]


def is_accumulate_grad(node: Any) -> bool:
    """Whether a node accumulates the gradient of a leaf."""
    return type(node).__name__ == "AccumulateGrad"


def _run_backward(call: GraphTrace, leaves: dict[str, torch.Tensor], grad_output: float) -> None:
    out, section = call.output, call.section
    if not out.requires_grad:
        return

    def record_gradients(node: Any, delivered: tuple[Any, ...], arrived: tuple[Any, ...]) -> None:
        call.gradients[node] = tuple(None if each is None else value_summary(each) for each in delivered)
        record = call.recorder.of(node)
        if record is not None and record.arrived is None:  # on a GPU backward runs in another, unprofiled thread
            record.arrived = tuple(map(value_summary, arrived))

    # A Function may have named an attribute of its ctx, which is the node, `register_hook`.
    hooks = [type(node).register_hook(node, partial(record_gradients, node)) for node in call.nodes]
    try:
        given = make_cotangent(out.detach(), grad_output, 1, section.of_index, 0, dense)
    except (IndexError, RuntimeError, ValueError) as error:
        said = f"forward returned {section.of!r} of shape {list(out.shape)}: it has no such element."
        raise FunctionFailed(Failure("forward", "WrongShape", said)) from error
    call.grad_output = value_summary(given)
    try:
        with call.recorder:
            found = pull_back((out,), (given,), leaves.values())
        call.input_gradients = {
            name: None if each is None else value_summary(each) for name, each in zip(leaves, found, strict=True)
        }
    except Exception as error:  # noqa: BLE001 the graph is drawn without gradients then
        call.failure = failure_of(error, section.op, "backward").failure
    for hook in hooks:
        hook.remove()
