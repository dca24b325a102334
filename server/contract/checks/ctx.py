"""Checks of what forward saves for backward: tensors on ctx, reference cycles, unused or intermediate saved tensors."""

from __future__ import annotations

import gc
import weakref
from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np
import torch

from ...numerics.diagnosis.unused_saved import unused_saved
from ...protocol.listed import counted, listed, several
from ...runtime.graph import function_nodes
from ..examination.call import GradientsByName
from ..examination.contract_check import EXTENDING, MECHANICS, SAVE_FOR_BACKWARD, CheckFinding, contract_check
from ..examination.recorder import KeptTensor
from ..examination.session import CheckSession, differing_gradients, farthest_elements, gradients_close

_POINTS = 33  # budget: points of the range at which saved tensors are tried
# Attributes that methods of torch itself set on ctx.
_TORCH_ATTRIBUTES = {"materialize_grads", "saved_for_forward"}


@contract_check(
    "CTX-TENSOR", "Tensors on ctx", SAVE_FOR_BACKWARD, "No tensor is an attribute of ctx.", ("forward", "watched")
)
def _ctx_tensor(session: CheckSession) -> Iterator[CheckFinding]:
    kept = session.first.forward.attributes if session.first.forward else ()
    if not kept:
        return
    grave = any(each.what != "intermediate" or "float" in each.dtype or "complex" in each.dtype for each in kept)
    yield CheckFinding(
        "warning" if grave else "note",
        f"forward puts {listed(_on_ctx(kept)[:4])} on ctx: {sum(each.size for each in kept)} bytes.",
        "Such a tensor is not protected from being edited, not freed after backward, and no hook for saved tensors "
        "sees it.",
        "Give tensors to ctx.save_for_backward, and keep only numbers and shapes on ctx.",
        session.source.kept(kept[0].name),
    )


@contract_check(
    "CTX-CYCLE",
    "Freeing memory",
    SAVE_FOR_BACKWARD,
    "The node is freed with its outputs: no reference cycle.",
    ("forward",),
)
def _ctx_cycle(session: CheckSession) -> Iterator[CheckFinding]:
    """The node is freed with its outputs, since no reference cycle keeps it alive."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        alive = _node_after_outputs(session)
        node = alive() if alive else None
        if node is None:
            return
        names = [name for name, value in vars(node).items() if _leads_to(value, node)]
        del node
        gc.collect(1)  # objects made while the collector was off are in the young generation
        forever = alive is not None and alive() is not None
    finally:
        if enabled:
            gc.enable()
    what = f"ctx.{names[0]}" if names else "ctx"
    yield CheckFinding(
        "error" if forever else "warning",
        f"The node outlives its outputs: {what} holds an output, whose grad_fn is ctx itself.",
        "Its memory is never freed." if forever else "Its memory is freed only when Python's garbage collector runs.",
        "Save an output with ctx.save_for_backward, which makes no cycle.",
        session.source.kept(names[0]) if names else session.source.defined("forward"),
    )


def _node_after_outputs(session: CheckSession) -> weakref.ref[object] | None:
    ran = session.call.run()
    own = [node for node in function_nodes(ran.outputs.values()) if type(node)._forward_cls is session.function]
    return weakref.ref(own[0]) if own else None


def _leads_to(value: object, node: object) -> bool:
    """Whether an attribute is an output of the node, or contains one."""
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else [value]
    return any(isinstance(each, torch.Tensor) and each.grad_fn is node for each in inside)


@contract_check(
    "STALE-INPUT",
    "Inputs edited after the call",
    SAVE_FOR_BACKWARD,
    "An input edited after the call is noticed, or does not matter.",
    ("backward", "deterministic"),
)
def _stale_input(session: CheckSession) -> Iterator[CheckFinding]:
    """An input edited between forward and backward raises, or does not matter."""
    plain = session.gradients(session.first.grad_outputs)
    for name in session.call.tensors:
        found = _edited_after(session, name) or plain
        for affected, pair in differing_gradients(plain, found):
            if gradients_close(*pair):
                continue
            was, is_ = farthest_elements(*pair)
            kept = session.first.forward.attributes if session.first.forward else ()
            own = next((each for each in kept if each.what == "input"), None)
            yield CheckFinding(
                "warning",
                f"When {name} is edited in place after the call, the gradient of {affected} silently changes "
                f"from {was} to {is_}.",
                "With save_for_backward the engine would have raised an error.",
                "Give inputs to ctx.save_for_backward.",
                session.source.kept(own.name) if own else None,
            )
            return


def _edited_after(session: CheckSession, name: str) -> GradientsByName | None:
    """The gradients after an input was edited in place; None if the engine raises, as it should."""
    ran = session.call.run()
    try:
        with torch.no_grad():
            ran.given.tensors[name].add_(0.5)
        return ran.gradients(session.handed)
    except Exception:  # noqa: BLE001 the engine noticed that a saved tensor was edited
        return None


@contract_check(
    "SAVED-UNUSED",
    "Saved for nothing",
    SAVE_FOR_BACKWARD,
    "Every saved tensor is used.",
    ("backward", "deterministic"),
)
def _saved_unused(session: CheckSession) -> Iterator[CheckFinding]:
    low, high = session.reach
    unused = unused_saved(session.section, np.linspace(low, high, _POINTS))
    if not unused:
        return
    saved = session.first.forward.saved if session.first.forward else ()
    size = sum(each.size for each in saved if each and each.called in unused)
    # What is unused may belong to a gradient that is missing.
    wrong = not (session.by_design or session.explained) and any(
        bool(slopes.differs(session.first.gradients.get(name)).any()) for name, slopes in session.slopes.items()
    )
    yield CheckFinding(
        "warning" if wrong else "note",
        f"{listed(counted(unused))} {'is' if len(unused) == 1 else 'are'} saved, but no gradient depends on "
        f"{'it' if len(unused) == 1 else 'them'}.",
        f"{size} bytes are kept until backward for nothing." if size else "Memory is kept until backward for nothing.",
        "The gradient is not the slope of forward either: is a mask or a factor forgotten?"
        if wrong
        else "Do not save it.",
        session.source.called("save_for_backward"),
    )


@contract_check(
    "SAVED-INTERMEDIATE",
    "Saved intermediate results",
    EXTENDING,
    "Only inputs and outputs are saved.",
    ("forward", "watched"),
)
def _saved_intermediate(session: CheckSession) -> Iterator[CheckFinding]:
    saved = session.first.forward.saved if session.first.forward else ()
    between = [each for each in saved if each and each.what == "intermediate" and "float" in each.dtype]
    if between:
        many = len(between) > 1
        yield CheckFinding(
            "note",
            f"{len(between)} saved tensor{'s are' if many else ' is'} neither input nor output, of "
            f"{sum(each.size for each in between)} bytes.",
            "It has no history: to a second derivative it is a constant.",
            "If second derivatives matter, save inputs and compute it again in backward, or return it as an output.",
            session.source.called("save_for_backward"),
        )


@contract_check("CTX-SHADOW", "Names on ctx", MECHANICS, "No attribute of ctx hides one of the node.", ())
def _ctx_shadow(session: CheckSession) -> Iterator[CheckFinding]:
    taken = set(dir(session.function._backward_cls)) - _TORCH_ATTRIBUTES
    kept = set(session.first.forward.names) if session.first.forward else set[str]()
    hidden = sorted((kept | session.source.attributes()) & taken)
    if hidden:
        broken = session.first.failed != ""
        yield CheckFinding(
            "error" if broken else "warning",
            f"forward puts {listed(['ctx.' + name for name in hidden])} on ctx, which has an attribute of that name.",
            "ctx is the node of the graph, and the engine uses these names itself.",
            f"Give it another name, such as ctx.my_{hidden[0]}.",
            session.source.kept(hidden[0]),
        )


def _on_ctx(kept: Sequence[KeptTensor]) -> list[str]:
    """What is kept, each attribute once."""
    counts = Counter((each.called, each.name) for each in kept)
    return [f"{called if n == 1 else several(called, n)} as ctx.{name}" for (called, name), n in counts.items()]


CTX_NAME_CHECKS = (_ctx_shadow,)
SAVED_STATE_CHECKS = (_ctx_tensor, _ctx_cycle, _stale_input, _saved_unused, _saved_intermediate)
