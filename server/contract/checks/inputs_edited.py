"""Checks of inputs that forward edits in place: marked with mark_dirty, and returned."""

from __future__ import annotations

from collections.abc import Iterator

from ...numerics.sentences.places import join_words
from ...runtime.failure import describe_exception
from ...runtime.recorder import same_elements
from ..examination.call import ForwardRun
from ..examination.probe import CheckFinding, Probe
from ..examination.session import CheckSession
from ..examination.torch_documentation import MARK_DIRTY


def _dirty_missing(at: CheckSession) -> Iterator[CheckFinding]:
    """Check: every input that forward edits in place is given to mark_dirty."""
    forward, ran = at.first.forward, at.first.ran
    if forward is None or ran is None:
        return
    edited = [name for name in forward.written if name not in forward.dirty] + _past_autograd(at, ran)
    if edited:
        name = edited[0]
        yield CheckFinding(
            "error",
            f"forward edits {join_words(list(dict.fromkeys(edited)))} in place, and does not say so.",
            "The tensor of the caller changes, and what is computed from it later has a wrong gradient.",
            f"Work on a copy, or say ctx.mark_dirty({name}) and return it.",
            at.source.edited(name, "forward") or at.source.defined("forward"),
        )


def _past_autograd(at: CheckSession, ran: ForwardRun) -> list[str]:
    """Inputs whose values changed without a new version counter: edited through .data, or by NumPy."""
    forward = at.first.forward
    known = set(forward.written) | set(forward.dirty) if forward else set[str]()
    places = {id(each): at.first.record.name(k) for k, each in enumerate(forward.arguments)} if forward else {}
    changed = [
        places.get(id(tensor), name)
        for name, tensor in ran.given.tensors.items()
        if not same_elements(tensor.detach(), at.call.tensors[name].to(tensor.dtype))
    ]
    return [name for name in changed if name not in known]


def _dirty_not_returned(at: CheckSession) -> Iterator[CheckFinding]:
    """Check: every input given to mark_dirty is among the outputs."""
    error = at.first.error
    message = describe_exception(error) if error else ""
    if "mark_dirty" in message or "modified in-place" in message or "returned as output" in message:
        dirty = at.first.forward.dirty if at.first.forward else ()
        yield CheckFinding(
            "error",
            f"{join_words(list(dirty)) if dirty else 'An input'} is marked as dirty, and forward does not return it.",
            f"torch raised {describe_exception(error)}." if error else "",
            "Return every tensor that is given to ctx.mark_dirty.",
            at.source.called("mark_dirty"),
        )


IN_PLACE_CHECKS = (
    Probe(
        "DIRTY-NOT-RETURNED",
        "Dirty inputs are outputs",
        MARK_DIRTY,
        "Every tensor marked as dirty is returned.",
        _dirty_not_returned,
        (),
    ),
    Probe(
        "DIRTY-MISSING",
        "Inputs edited in place",
        MARK_DIRTY,
        "forward edits no input unsaid.",
        _dirty_missing,
        ("forward", "watched"),
    ),
)
