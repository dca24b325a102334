"""Checks of what forward returns: tensors in a list or dict, outputs without grad, inputs, views of inputs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from ...numerics.sentences.places import join_words
from ...runtime.failure import describe_exception
from ...runtime.timeouts import TookTooLong
from ..examination.probe import CheckFinding, Probe
from ..examination.session import CheckSession
from ..examination.torch_documentation import EXTENDING, MARK_NON_DIFFERENTIABLE


def _forward_raised(at: CheckSession) -> Iterator[CheckFinding]:
    """Check: forward runs without an exception."""
    error = at.first.error
    if at.first.failed == "forward" and isinstance(error, TookTooLong):
        yield CheckFinding("error", f"forward was interrupted, because {error}.", "", "", at.source.defined("forward"))
    elif at.first.failed == "forward" and error and not at.broken & {"DIRTY-NOT-RETURNED", "CTX-SHADOW"}:
        yield CheckFinding(
            "error", f"forward raised {describe_exception(error)}.", "There is no output.", "", at.source.line_of(error)
        )


def _list_out(at: CheckSession) -> Iterator[CheckFinding]:
    """Check: forward returns a tensor or a tuple of tensors, no other container."""
    forward = at.first.forward
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
            at.source.output(),
        )


def _holds_tensors(value: Any) -> bool:
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else ()
    return any(isinstance(each, torch.Tensor) for each in inside)


def _no_grad_out(at: CheckSession) -> Iterator[CheckFinding]:
    """Check: every output requires grad if an input does."""
    ran = at.first.ran
    if ran is None or at.broken & {"LIST-OUT", "NESTED-ARG"}:
        return
    still = [name for name, out in ran.outputs.items() if not out.requires_grad]
    if ran.outputs and not still:
        return
    whole = [name for name in still if not _floating(ran.outputs[name])]
    if ran.moved:
        because = "of integers" if still == whole else "marked as not differentiable"
        yield CheckFinding(
            "note",
            f"{join_words(still)} never require{'s' * (len(still) == 1)} grad: {because}.",
            "backward is given zeros for it, or None.",
            "",
            at.source.called("mark_non_differentiable") or at.source.output(),
        )
        return
    kind = at.first.forward.kind if at.first.forward else type(ran.returned).__name__
    marked = bool(at.first.forward and at.first.forward.nondifferentiable)
    if not ran.outputs:
        seen, level = f"forward returns {_kind(kind)}, and no tensor.", "error"
    elif still == whole or marked:
        seen, level = f"{join_words(still)} never require{'s' * (len(still) == 1)} grad.", "note"
    else:
        seen, level = f"{join_words(still)} does not require grad although the inputs do.", "error"
    yield CheckFinding(
        "error" if level == "error" else "note",
        seen,
        "backward is never called.",
        "" if level == "note" else "Return a tensor of floating-point numbers that was computed from the inputs.",
        at.source.output(),
    )


def _returns_input(at: CheckSession) -> Iterator[CheckFinding]:
    """Check: no output is an input."""
    forward = at.first.forward
    if forward is None:
        return
    returned = [name for name in forward.returned_inputs if name not in forward.dirty]
    if returned:
        yield CheckFinding(
            "note",
            f"forward returns {join_words(returned)} itself.",
            "torch makes a view of it, and forbids to edit the result in place.",
            f"Return {returned[0]}.clone() if the result is ever to be edited, or {returned[0]}.view_as({returned[0]}) "
            "to say what is meant.",
            at.source.output(),
        )


def _returns_view(at: CheckSession) -> Iterator[CheckFinding]:
    """Check: no output is a view of an input."""
    forward = at.first.forward
    if forward is None:
        return
    own = {id(each) for each in forward.arguments if isinstance(each, torch.Tensor)}
    shared = {
        each.untyped_storage().data_ptr(): at.first.record.name(place)
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
                    "torch forbids to edit the result in place.",
                    "Return a clone if the result is ever to be edited.",
                    at.source.output(),
                )
                return


def _floating(out: torch.Tensor) -> bool:
    return out.is_floating_point() or out.is_complex()


def _kind(name: str) -> str:
    if name == "NoneType":
        return "None"
    return f"{'an' if name[0] in 'aeiou' else 'a'} {name}"


OUTPUT_CHECKS = (
    Probe("FORWARD-RAISED", "Running forward", EXTENDING, "forward runs.", _forward_raised, ()),
    Probe(
        "LIST-OUT",
        "Outputs in a list",
        EXTENDING,
        "forward returns a tensor or a tuple.",
        _list_out,
        ("forward", "watched"),
    ),
    Probe(
        "NO-GRAD-OUT",
        "Outputs without a gradient",
        MARK_NON_DIFFERENTIABLE,
        "Every output requires grad where an input does.",
        _no_grad_out,
        ("forward",),
    ),
    Probe(
        "RETURNS-INPUT",
        "An input as an output",
        EXTENDING,
        "No output is an input.",
        _returns_input,
        ("forward", "watched"),
    ),
    Probe(
        "RETURNS-VIEW",
        "A view of an input as an output",
        EXTENDING,
        "No output shares its memory with an input.",
        _returns_view,
        ("forward", "watched"),
    ),
)
