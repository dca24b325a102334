"""Checks of what forward saves for backward: tensors on ctx, reference cycles, unused or intermediate saved tensors."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator

import numpy as np
import torch

from ...numerics.diagnosis.unused_saved import unused_saved
from ...numerics.sentences.places import listed
from ...runtime.graph import nodes
from ...runtime.recorder import Kept
from ..examination.call import Gradients
from ..examination.comparison import differing, farthest
from ..examination.probe import Found, Probe
from ..examination.references import EXTENDING, MECHANICS, SAVE
from ..examination.session import Examined, close

_POINTS = 33
# Findings that explain a wrong gradient better than "a mask was forgotten" does.
_EXPLAIN = {"GRAD-NONE", "OUTPUT-GRAD-IGNORED", "SWAPPED", "NONLINEAR", "GRADOUT-INPLACE"}
# Attributes that methods of torch itself set on ctx.
_OWN = {"materialize_grads", "saved_for_forward"}


def ctx_tensor(at: Examined) -> Iterator[Found]:
    """Check: no tensor is an attribute of ctx."""
    kept = at.first.forward.attributes if at.first.forward else ()
    if not kept:
        return
    grave = any(each.what != "intermediate" or "float" in each.dtype or "complex" in each.dtype for each in kept)
    yield Found(
        "warning" if grave else "note",
        f"forward puts {listed([_on_ctx(each) for each in kept[:4]])} on ctx: {sum(each.size for each in kept)} bytes.",
        "Such a tensor is not protected from being edited, not freed after backward, and no hook for saved tensors "
        "sees it.",
        "Give tensors to ctx.save_for_backward, and keep only numbers and shapes on ctx.",
        at.source.kept(kept[0].name),
    )


def ctx_cycle(at: Examined) -> Iterator[Found]:
    """Check: the node is freed with its outputs, since no reference cycle keeps it alive."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        alive = _left_behind(at)
        node = alive() if alive else None
        if node is None:
            return
        names = [name for name, value in vars(node).items() if _leads_to(value, node)]
        del node
        gc.collect(1)  # objects made while the collector was off are in the young generation
        for_ever = alive is not None and alive() is not None
    finally:
        if enabled:
            gc.enable()
    what = f"ctx.{names[0]}" if names else "ctx"
    yield Found(
        "error" if for_ever else "warning",
        f"The node outlives its outputs: {what} holds an output, whose grad_fn is ctx itself.",
        "Its memory is never freed." if for_ever else "Its memory is freed only when Python's garbage collector runs.",
        "Save an output with ctx.save_for_backward, which knows how to let go of it.",
        at.source.kept(names[0]) if names else at.source.defined("forward"),
    )


def _left_behind(at: Examined) -> weakref.ref[object] | None:
    ran = at.call.run()
    own = [node for node in nodes(ran.outputs.values()) if type(node)._forward_cls is at.function]
    return weakref.ref(own[0]) if own else None


def _leads_to(value: object, node: object) -> bool:
    """Whether an attribute is an output of the node, or contains one."""
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else [value]
    return any(isinstance(each, torch.Tensor) and each.grad_fn is node for each in inside)


def stale_input(at: Examined) -> Iterator[Found]:
    """Check: an input edited between forward and backward raises, or does not matter."""
    plain = at.gradients(at.first.grad_outputs)
    for name in at.call.tensors:
        found = _edited_after(at, name) or plain
        for worse, pair in differing(plain, found):
            if close(*pair):
                continue
            was, is_ = farthest(*pair)
            kept = at.first.forward.attributes if at.first.forward else ()
            own = next((each for each in kept if each.what == "input"), None)
            yield Found(
                "warning",
                f"When {name} is edited in place after the call, the gradient of {worse} silently changes "
                f"from {was} to {is_}.",
                "A tensor given to save_for_backward would have made the engine raise.",
                "Give inputs to ctx.save_for_backward.",
                at.source.kept(own.name) if own else None,
            )
            return


def _edited_after(at: Examined, name: str) -> Gradients | None:
    """The gradients after an input was edited in place; None if the engine raises, as it should."""
    ran = at.call.run()
    try:
        with torch.no_grad():
            ran.given.tensors[name].add_(0.5)
        return ran.gradients(at.handed)
    except Exception:  # noqa: BLE001 the engine noticed that a saved tensor was edited
        return None


def saved_unused(at: Examined) -> Iterator[Found]:
    """Check: every saved tensor affects a gradient."""
    low, high = at.reach
    unused = unused_saved(at.section, np.linspace(low, high, _POINTS))
    if not unused:
        return
    saved = at.first.forward.saved if at.first.forward else ()
    size = sum(each.size for each in saved if each and each.called in unused)
    wrong = not (at.by_design or at.broken & _EXPLAIN) and any(
        bool(s.differs(at.first.gradients.get(n)).any()) for n, s in at.slopes.items()
    )
    yield Found(
        "warning" if wrong else "note",
        f"{listed(unused)} {'is' if len(unused) == 1 else 'are'} saved, and whatever stands there no gradient changes.",
        f"{size} bytes are kept until backward for nothing." if size else "Memory is kept until backward for nothing.",
        "The gradient is not the slope of forward either: is a mask or a factor forgotten?"
        if wrong
        else "Do not save it.",
        at.source.called("save_for_backward"),
    )


def saved_intermediate(at: Examined) -> Iterator[Found]:
    """Check: only inputs and outputs are saved, no intermediate results."""
    saved = at.first.forward.saved if at.first.forward else ()
    between = [each for each in saved if each and each.what == "intermediate" and "float" in each.dtype]
    if between:
        many = len(between) > 1
        yield Found(
            "note",
            f"{len(between)} saved tensor{'s are' if many else ' is'} neither input nor output, of "
            f"{sum(each.size for each in between)} bytes.",
            "It has no history: to a second derivative it is a constant.",
            "If second derivatives matter, save inputs and compute it again in backward, or return it as an output.",
            at.source.called("save_for_backward"),
        )


def ctx_shadow(at: Examined) -> Iterator[Found]:
    """Check: no attribute set on ctx hides one that ctx has as the node of the graph."""
    taken = set(dir(at.function._backward_cls)) - _OWN
    kept = set(at.first.forward.names) if at.first.forward else set[str]()
    hidden = sorted((kept | at.source.attributes()) & taken)
    if hidden:
        broken = at.first.failed != ""
        yield Found(
            "error" if broken else "warning",
            f"forward puts {listed(['ctx.' + name for name in hidden])} on ctx, which ctx has already.",
            "ctx is the node of the graph, and the engine uses these names itself.",
            f"Give it another name, such as ctx.my_{hidden[0]}.",
            at.source.kept(hidden[0]),
        )


def _on_ctx(kept: Kept) -> str:
    return f"{kept.called} as ctx.{kept.name}"


NAMES = (Probe("CTX-SHADOW", "Names on ctx", MECHANICS, "No attribute of ctx hides one of the node.", ctx_shadow, ()),)
KEPT = (
    Probe(
        "CTX-TENSOR", "Tensors on ctx", SAVE, "No tensor is an attribute of ctx.", ctx_tensor, ("forward", "watched")
    ),
    Probe("CTX-CYCLE", "Letting go of memory", SAVE, "The node goes when its outputs go.", ctx_cycle, ("forward",)),
    Probe(
        "STALE-INPUT",
        "Inputs edited after the call",
        SAVE,
        "An input edited after the call is noticed, or does not matter.",
        stale_input,
        ("backward", "steady"),
    ),
    Probe(
        "SAVED-UNUSED",
        "Saved for nothing",
        SAVE,
        "Every saved tensor has its influence.",
        saved_unused,
        ("backward", "steady"),
    ),
    Probe(
        "SAVED-INTERMEDIATE",
        "Saved intermediate results",
        EXTENDING,
        "Only inputs and outputs are saved.",
        saved_intermediate,
        ("forward", "watched"),
    ),
)
