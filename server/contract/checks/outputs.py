"""Checks of forward: inputs that it edits in place, and what it returns."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from ...protocol.listed import listed, with_article
from ...runtime.failure import describe_exception
from ...runtime.timeouts import TookTooLong
from ..examination.contract_check import EXTENDING, MARK_DIRTY, MARK_NON_DIFFERENTIABLE, CheckFinding, contract_check
from ..examination.recorder import ForwardCall
from ..examination.session import CheckSession


@contract_check(
    "DIRTY-MISSING",
    "Inputs edited in place",
    MARK_DIRTY,
    "Inputs that forward edits in place are marked as dirty.",
    ("forward", "watched"),
)
def _dirty_missing(session: CheckSession) -> Iterator[CheckFinding]:
    forward = session.first.forward
    if forward is None or session.first.ran is None:
        return
    edited = [name for name in forward.written if name not in forward.dirty] + _past_autograd(session, forward)
    if edited:
        name = edited[0]
        yield CheckFinding(
            "error",
            f"forward edits {listed(list(dict.fromkeys(edited)))} in place, and does not say so.",
            "The tensor of the caller changes, and what is computed from it later has a wrong gradient.",
            f"Work on a copy, or say ctx.mark_dirty({name}) and return it.",
            session.source.edited(name, "forward") or session.source.defined("forward"),
            explains=tuple(edited),
        )


def _past_autograd(session: CheckSession, forward: ForwardCall) -> list[str]:
    """Inputs whose values changed without a new version counter: edited through .data, or by NumPy."""
    known = {*forward.written, *forward.dirty}
    return [name for name in session.called_by_forward(session.first.edited) if name not in known]


@contract_check(
    "DIRTY-NOT-RETURNED", "Dirty inputs are outputs", MARK_DIRTY, "Every tensor marked as dirty is returned.", ()
)
def _dirty_not_returned(session: CheckSession) -> Iterator[CheckFinding]:
    error = session.first.error
    message = describe_exception(error) if error else ""
    if "mark_dirty" in message or "modified in-place" in message or "returned as output" in message:
        dirty = session.first.forward.dirty if session.first.forward else ()
        yield CheckFinding(
            "error",
            f"{listed(list(dirty)) if dirty else 'An input'} is marked as dirty, and forward does not return it.",
            f"torch raised {describe_exception(error)}." if error else "",
            "Return every tensor that is given to ctx.mark_dirty.",
            session.source.called("mark_dirty"),
        )


@contract_check("FORWARD-RAISED", "Running forward", EXTENDING, "forward runs.", ())
def _forward_raised(session: CheckSession) -> Iterator[CheckFinding]:
    error = session.first.error
    if session.first.failed == "forward" and isinstance(error, TookTooLong):
        why = f"forward was interrupted, because {error}{error.place}."
        yield CheckFinding("error", why, "", "", session.source.defined("forward"))
    elif session.first.failed == "forward" and error and not session.broken & {"DIRTY-NOT-RETURNED", "CTX-SHADOW"}:
        yield CheckFinding(
            "error",
            f"forward raised {describe_exception(error)}.",
            "There is no output.",
            "",
            session.source.line_of(error),
        )


@contract_check(
    "LIST-OUT", "Outputs in a list", EXTENDING, "forward returns a tensor or a tuple.", ("forward", "watched")
)
def _list_out(session: CheckSession) -> Iterator[CheckFinding]:
    forward = session.first.forward
    if forward is None:
        return
    inside = [type(each).__name__ for each in forward.outputs if _holds_tensors(each)]
    kind = forward.kind if forward.kind in ("list", "dict") else (inside or [""])[0]
    if kind:
        yield CheckFinding(
            "error",
            f"forward returns a {kind} that holds tensors.",
            "Tensors inside it are not tracked: no gradient comes back from them.",
            "Return a tensor, or a tuple of tensors.",
            session.source.output(),
        )


def _holds_tensors(value: Any) -> bool:
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else ()
    return any(isinstance(each, torch.Tensor) for each in inside)


@contract_check(
    "NO-GRAD-OUT",
    "Outputs without a gradient",
    MARK_NON_DIFFERENTIABLE,
    "Every output requires grad where an input does.",
    ("forward",),
)
def _no_grad_out(session: CheckSession) -> Iterator[CheckFinding]:
    ran = session.first.ran
    if ran is None or session.broken & {"LIST-OUT", "NESTED-ARG"}:
        return
    untracked = [name for name, out in ran.outputs.items() if not out.requires_grad]
    if ran.outputs and not untracked:
        return
    integers = [name for name in untracked if not _floating(ran.outputs[name])]
    if ran.moved:
        because = "of integers" if untracked == integers else "marked as not differentiable"
        yield CheckFinding(
            "note",
            f"{listed(untracked)} never require{'s' * (len(untracked) == 1)} grad: {because}.",
            "backward is given zeros for it, or None.",
            "",
            session.source.called("mark_non_differentiable") or session.source.output(),
        )
        return
    kind = session.first.forward.kind if session.first.forward else type(ran.returned).__name__
    marked = bool(session.first.forward and session.first.forward.nondifferentiable)
    meant = bool(ran.outputs) and (untracked == integers or marked)
    if not ran.outputs:
        seen = f"forward returns {_kind(kind)}, and no tensor."
    elif meant:
        seen = f"{listed(untracked)} never require{'s' * (len(untracked) == 1)} grad."
    else:
        seen = f"{listed(untracked)} does not require grad although the inputs do."
    yield CheckFinding(
        "note" if meant else "error",
        seen,
        "backward is never called.",
        "" if meant else "Return a tensor of floating-point numbers that was computed from the inputs.",
        session.source.output(),
    )


@contract_check("RETURNS-INPUT", "An input as an output", EXTENDING, "No output is an input.", ("forward", "watched"))
def _returns_input(session: CheckSession) -> Iterator[CheckFinding]:
    forward = session.first.forward
    if forward is None:
        return
    returned = [name for name in forward.returned_inputs if name not in forward.dirty]
    if returned:
        yield CheckFinding(
            "note",
            f"forward returns {listed(returned)} itself.",
            "torch makes a view of it, and forbids editing the result in place.",
            f"Return {returned[0]}.clone() if the result is ever to be edited, or {returned[0]}.view_as({returned[0]}) "
            "to say what is meant.",
            session.source.output(),
        )


@contract_check(
    "RETURNS-VIEW",
    "A view of an input as an output",
    EXTENDING,
    "No output shares its memory with an input.",
    ("forward", "watched"),
)
def _returns_view(session: CheckSession) -> Iterator[CheckFinding]:
    forward = session.first.forward
    if forward is None:
        return
    own = {id(each) for each in forward.arguments if isinstance(each, torch.Tensor)}
    shared = {
        each.untyped_storage().data_ptr(): session.first.record.name(place)
        for place, each in enumerate(forward.arguments)
        if isinstance(each, torch.Tensor) and each.numel()
    }
    for out in forward.outputs:
        if isinstance(out, torch.Tensor) and id(out) not in own and out.numel():
            name = shared.get(out.untyped_storage().data_ptr())
            if name:
                yield CheckFinding(
                    "note",
                    f"An output of forward is a view of {name}: both lie in the same memory.",
                    "torch forbids editing the result in place.",
                    "Return a clone if the result is ever to be edited.",
                    session.source.output(),
                )
                return


def _floating(out: torch.Tensor) -> bool:
    return out.is_floating_point() or out.is_complex()


def _kind(name: str) -> str:
    return "None" if name == "NoneType" else with_article(name)


OUTPUT_CHECKS = (
    _dirty_not_returned,
    _dirty_missing,
    _forward_raised,
    _list_out,
    _no_grad_out,
    _returns_input,
    _returns_view,
)
