"""Checks of inputs that forward edits in place: marked with mark_dirty, and returned."""

from __future__ import annotations

from collections.abc import Iterator

from ...numerics.sentences.places import listed
from ...runtime.failure import said
from ...runtime.recorder import same
from ..examination.call import Ran
from ..examination.probe import Found, Probe
from ..examination.references import DIRTY
from ..examination.session import Examined


def dirty_missing(at: Examined) -> Iterator[Found]:
    """Check: every input that forward edits in place is given to mark_dirty."""
    forward, ran = at.first.forward, at.first.ran
    if forward is None or ran is None:
        return
    edited = [name for name in forward.written if name not in forward.dirty] + _past_autograd(at, ran)
    if edited:
        name = edited[0]
        yield Found(
            "error",
            f"forward edits {listed(list(dict.fromkeys(edited)))} in place, and does not say so.",
            "The tensor of the caller changes, and what is computed from it later has a wrong gradient.",
            f"Work on a copy, or say ctx.mark_dirty({name}) and return it.",
            at.source.edited(name, "forward") or at.source.defined("forward"),
        )


def _past_autograd(at: Examined, ran: Ran) -> list[str]:
    """Inputs whose values changed without a new version counter: edited through .data, or by NumPy."""
    forward = at.first.forward
    known = set(forward.written) | set(forward.dirty) if forward else set[str]()
    places = {id(each): at.first.record.name(k) for k, each in enumerate(forward.arguments)} if forward else {}
    changed = [
        places.get(id(tensor), name)
        for name, tensor in ran.given.tensors.items()
        if not same(tensor.detach(), at.call.tensors[name].to(tensor.dtype))
    ]
    return [name for name in changed if name not in known]


def dirty_not_returned(at: Examined) -> Iterator[Found]:
    """Check: every input given to mark_dirty is among the outputs."""
    error = at.first.error
    message = said(error) if error else ""
    if "mark_dirty" in message or "modified in-place" in message or "returned as output" in message:
        dirty = at.first.forward.dirty if at.first.forward else ()
        yield Found(
            "error",
            f"{listed(list(dirty)) if dirty else 'An input'} is marked as dirty, and forward does not return it.",
            f"torch raised {said(error)}." if error else "",
            "Return every tensor that is given to ctx.mark_dirty.",
            at.source.called("mark_dirty"),
        )


EDITED = (
    Probe(
        "DIRTY-NOT-RETURNED",
        "Dirty inputs are outputs",
        DIRTY,
        "Every tensor marked as dirty is returned.",
        dirty_not_returned,
        (),
    ),
    Probe(
        "DIRTY-MISSING",
        "Inputs edited in place",
        DIRTY,
        "forward edits no input unsaid.",
        dirty_missing,
        ("forward", "watched"),
    ),
)
