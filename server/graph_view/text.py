"""Description of a traced call in sentences: what ctx keeps, what backward was given and what it returned."""

from collections.abc import Sequence

from torch.autograd.function import BackwardCFunction

from ..protocol.listed import listed
from ..runtime.arrays import dtype_name
from .functions import SavedTensor, TracedArgument, TracedFunction
from .trace import MAX_NODES, GraphTrace
from .values import ValueSummary, one_line, shape_as_list

# How many names are written out, and how many characters of an exception message.
_FEW, _LONGEST = 4, 200


def graph_sentence(call: GraphTrace, functions: Sequence[TracedFunction]) -> str:
    """The description shown above the graph."""
    out, of = call.output, call.section.of
    if not out.requires_grad:
        return _no_graph(call)
    if not any(isinstance(node, BackwardCFunction) for node in call.nodes):
        return f"There is no autograd.Function in the graph behind {of}: torch differentiates it by itself."
    parts = []
    if functions:
        main = _main(call, functions)
        parts = [f"{of}.grad_fn is {main.node}, the ctx of forward."]
        parts += [_kept(main), *_passed(call, main)]
        count = sum(isinstance(node, BackwardCFunction) for node in call.nodes)
        if count > len(functions):
            parts.append(f"Of {count} Functions the last {len(functions)} are opened.")
    if call.failure is not None:
        parts.append(
            f"backward raised {one_line(call.failure.kind)}: {one_line(call.failure.message, _LONGEST).rstrip('.')}."
        )
    if call.more:
        parts.append(f"The graph has more than {MAX_NODES} nodes; drawn are those nearest to the outputs.")
    return " ".join(parts)


def _main(call: GraphTrace, functions: Sequence[TracedFunction]) -> TracedFunction:
    named = call.section.op.function.__name__
    return next((each for each in reversed(functions) if each.name == named), functions[-1])


def _no_graph(call: GraphTrace) -> str:
    out, of = call.output, call.section.of
    said = f"There is no graph behind {of}, and backward is never called"
    if not (out.is_floating_point() or out.is_complex()):
        return f"{said}: it is {dtype_name(out.dtype)}, and only floating-point numbers carry gradients."
    if any(any(each is out for each in record.silent) for record in call.recorder.calls):
        return f"{said}: forward marked it as non-differentiable."
    return f"{said}: nothing that autograd follows leads from an input to it."


def _kept(main: TracedFunction) -> str:
    kept = [each for each in main.saved if each.thing is not None]
    on_ctx = [each for each in main.attributes if "tensor" in each.thing.kind]
    said = [f"It has saved {_tensors(kept)}{_memory(kept)}"] if kept else []
    said += [f"{'it' if said else 'It'} keeps {_names([each.name for each in on_ctx])} on ctx"] if on_ctx else []
    unused = [_called(each) for each in kept if each.used is False]
    end = f", and backward never uses {_names(unused)}" if unused else ""
    return f"{'; '.join(said)}{end}." if said else "It has saved no tensor."


def _tensors(kept: Sequence[SavedTensor]) -> str:
    size = sum(each.thing.size for each in kept if each.thing)
    return f"{_names(list(map(_called, kept)))} ({size} byte{'s' * (size != 1)})"


def _called(one: SavedTensor) -> str:
    return one.name or (f"a view of {one.shares}" if one.shares else "a tensor of its own")


def _memory(kept: Sequence[SavedTensor]) -> str:
    own = sum(each.thing.size for each in kept if each.thing and not each.shares)
    if not own:
        return ", without a copy: they share memory with inputs and outputs"
    return f", {own} of them in memory of its own" if any(each.shares for each in kept) else ""


def _passed(call: GraphTrace, main: TracedFunction) -> list[str]:
    if not main.ran or call.failure is not None:
        return [] if call.failure else ["backward was not called."]
    arrived = [f"{_value(each.arrived)} for {each.name}" for each in main.outputs if each.arrived is not None]
    heard = any(each.returned is not None for each in main.arguments)
    returned = [
        f"{_value(each.returned if heard else each.delivered)} for {each.name}"
        for each in main.arguments
        if each.tracked
    ]
    said = [f"was given {_few(arrived)}"] * bool(arrived)
    said += [f"{'returned' if heard else 'what it returned came on as'} {_few(returned)}"] * bool(returned)
    rest = [each for each in main.arguments if not each.tracked]
    return [f"backward {' and '.join(said)}{_nones(rest)}."] if said else []


def _nones(rest: Sequence[TracedArgument]) -> str:
    """The arguments without a gradient for which backward returned None."""
    none = [each.name for each in rest if each.returned is not None and each.returned.kind == "None"]
    return f", None for {_names(none)}" if none else ""


def _value(given: ValueSummary | None) -> str:
    if given is None or given.shape is None:
        return "None" if given is None or given.kind == "None" else f"a {given.kind}"
    single = all(size == 1 for size in given.shape)
    return given.text if single else f"numbers of shape {shape_as_list(given.shape)}"


def _few(parts: Sequence[str]) -> str:
    return listed([*parts[:_FEW], f"{len(parts) - _FEW} more"] if len(parts) > _FEW else parts)


def _names(names: Sequence[str]) -> str:
    return _few(list(dict.fromkeys(names)))
