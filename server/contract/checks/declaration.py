"""Checks of how the class is written: its methods, old or new style (setup_context), flags, nested tensor arguments."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from types import FunctionType
from typing import Any

import torch
from torch.autograd.function import _SingleLevelFunction

from ...inference.construction.op import InferredOp
from ...protocol.listed import listed
from ...runtime.graph import has_setup_context, leaves_behind
from ...schema.views import HIDDEN_ID
from ..examination.contract_check import EXTENDING, FUNCTION, MECHANICS, TORCH_FUNC, CheckFinding, contract_check
from ..examination.session import CheckSession

_FLAGS = {
    "boxed_grads_call": "backward is given one list of all grad_outputs, which it may empty as it goes",
    "clear_saved_tensors_on_access": "saved tensors can be read once only, and are freed then",
}


@contract_check("NO-BACKWARD", "A backward that is there", EXTENDING, "forward and backward are static methods.", ())
def _no_backward(session: CheckSession) -> Iterator[CheckFinding]:
    """There is exactly one of backward and vjp, and the methods are static."""
    function = session.function
    if session.first.ran and not session.first.forward:
        yield CheckFinding("note", f"The op ran without calling {function.__name__}.")
        return
    own = [name for name in ("backward", "vjp") if getattr(function, name) is not getattr(_SingleLevelFunction, name)]
    if len(own) == 2:
        yield CheckFinding(
            "error",
            "The class has both backward and vjp.",
            "torch raises when either is needed.",
            "vjp is another name for backward: keep one.",
            session.source.defined("vjp"),
        )
        return
    if not own:
        yield CheckFinding(
            "error",
            "The class has no backward: only the curve of forward can be drawn.",
            "torch raises when a gradient is asked for.",
            "Write a static method backward(ctx, grad_output).",
            session.source.defined("forward"),
        )
        return
    plain = [
        name for name in ("forward", *own) if isinstance(inspect.getattr_static(function, name, None), FunctionType)
    ]
    if plain:
        has_init = "__init__" in vars(function)
        yield CheckFinding(
            "warning" if has_init else "note",
            f"{listed(plain)} {'is' if len(plain) == 1 else 'are'} no static method{'s' * (len(plain) > 1)}"
            + (", and the class has an __init__, as old Functions had." if has_init else "."),
            "What is passed as self is ctx: apply makes no object of the class, and never calls its __init__."
            if has_init
            else "It runs, since what is passed first is ctx.",
            "Decorate them with @staticmethod, and take what __init__ took as arguments of forward."
            if has_init
            else "Decorate with @staticmethod, as torch's documentation does.",
            session.source.defined(plain[0]),
        )


@contract_check(
    "NESTED-ARG", "Tensors inside arguments", EXTENDING, "Every tensor is an argument of its own.", ("watched",)
)
def _nested_arg(session: CheckSession) -> Iterator[CheckFinding]:
    """No tensor is hidden in a list or a dict that is an argument."""
    forward = session.first.forward
    for place, argument in enumerate(forward.arguments if forward else ()):
        tensors = _inside(argument)
        if tensors:
            tracked = any(each.requires_grad for each in tensors)
            name = session.first.record.name(place)
            yield CheckFinding(
                "error" if tracked else "note",
                f"{name} is a {type(argument).__name__} that holds {len(tensors)} "
                f"tensor{'s' * (len(tensors) > 1)}{', of which gradients are asked' if tracked else ''}.",
                "Autograd does not look inside: these tensors silently get no gradient.",
                "Give every tensor as an argument of its own: apply(*tensors).",
                session.source.defined("forward"),
            )
            return


def _inside(argument: Any) -> list[torch.Tensor]:
    values = argument.values() if isinstance(argument, dict) else argument
    if not isinstance(argument, list | tuple | dict):
        return []
    return [each for each in values if isinstance(each, torch.Tensor)]


@contract_check(
    HIDDEN_ID,
    "Tensors in hiding",
    MECHANICS,
    "Every tensor that requires grad and takes part is looked at.",
    ("forward",),
)
def _hidden_input(session: CheckSession) -> Iterator[CheckFinding]:
    """No tensor takes part that is no input: neither an argument, nor one that was found where it is kept."""
    ran, op = session.first.ran, session.section.op
    known = {id(leaf) for leaf in ran.given.leaves.values()} if ran else set()
    behind = [each for each in leaves_behind(ran.outputs.values() if ran else ()) if id(each) not in known]
    named = op.hidden if isinstance(op, InferredOp) else ()
    for name in named or [f"a tensor of shape {tuple(each.shape)}" for each in behind]:
        yield CheckFinding(
            "warning",
            f"{name} requires grad and takes part, and was not looked at.",
            "",
            "Pass it as an argument, as torch.func.functional_call does for the parameters of a module.",
            session.source.defined("forward"),
            name,
        )


@contract_check("SETUP-CONTEXT", "forward and ctx", TORCH_FUNC, "forward does not take ctx; setup_context does.", ())
def _setup_context(session: CheckSession) -> Iterator[CheckFinding]:
    if not has_setup_context(session.function):
        yield CheckFinding(
            "note",
            "forward takes ctx.",
            "torch.func refuses it: no vmap, jacrev or func.grad.",
            "Move everything that uses ctx to a static method setup_context(ctx, inputs, output).",
            session.source.defined("forward"),
        )


@contract_check(
    "NEW-FLAGS",
    "Flags of the class",
    FUNCTION,
    "Neither boxed_grads_call nor clear_saved_tensors_on_access is set.",
    (),
)
def _new_flags(session: CheckSession) -> Iterator[CheckFinding]:
    """Neither of the class flags of torch 2.13 is set."""
    for name, means in _FLAGS.items():
        if getattr(session.function, name, False):
            yield CheckFinding(
                "note", f"{name} is set.", f"{means[0].upper()}{means[1:]}.", "", session.source.defined("backward")
            )


DECLARATION_CHECKS = (_no_backward, _nested_arg, _hidden_input, _setup_context, _new_flags)
