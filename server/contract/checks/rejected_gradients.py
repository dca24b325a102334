"""Checks of returned gradients that the autograd engine rejects: wrong number, type, shape or device."""

from __future__ import annotations

from collections.abc import Iterator

import torch

from ...protocol.listed import listed
from ...runtime.failure import describe_exception, describe_result
from ...runtime.timeouts import TookTooLong
from ..examination.contract_check import EXTENDING, CheckFinding, contract_check
from ..examination.session import CheckSession

# Messages of the engine for which there is a check with a better explanation.
_ENGINE = ("incorrect number of gradients", "different than None", "expected shape", "expected device")


@contract_check("GRAD-COUNT", "Number of gradients", EXTENDING, "One value for each argument of forward.", ("watched",))
def _grad_count(session: CheckSession) -> Iterator[CheckFinding]:
    if "incorrect number of gradients" not in _message(session):
        return
    backward, forward = session.first.backward, session.first.forward
    if not (backward and forward):
        return
    count, got = len(forward.arguments), len(backward.values)
    names = listed([session.first.record.name(place) for place in range(count)])
    what = f"forward takes {count} argument{_s(count)} ({names}) and backward returned {got} value{_s(got)}"
    in_a_list = isinstance(backward.returned, list)
    yield CheckFinding(
        "error",
        f"{what}: a list, which counts as one." if in_a_list else f"{what}.",
        f"{_raised(session)}.",
        "Return a tuple, not a list."
        if in_a_list
        else "Return one value for each argument, None for what is not a tensor.",
        session.source.returned(),
    )


@contract_check(
    "GRAD-NONTENSOR", "Gradients of numbers", EXTENDING, "None for every argument that is not a tensor.", ("watched",)
)
def _grad_nontensor(session: CheckSession) -> Iterator[CheckFinding]:
    if "different than None" not in _message(session):
        return
    for place, argument, value in session.first.pairs:
        if value is not None and not isinstance(argument, torch.Tensor):
            name = session.first.record.name(place)
            yield CheckFinding(
                "error",
                f"backward returned a gradient for {name}, which is {describe_result(argument, 1)}.",
                f"{_raised(session)}.",
                f"Return None for {name}.",
                session.source.returned(),
            )
            return


@contract_check(
    "GRAD-SHAPE", "Shape of each gradient", EXTENDING, "Every gradient fits the shape of its input.", ("watched",)
)
def _grad_shape(session: CheckSession) -> Iterator[CheckFinding]:
    """Every gradient has a shape that the engine can sum to that of its input."""
    message = _message(session)
    if "invalid gradient" not in message or "expected shape" not in message:
        return
    for place, argument, value in session.first.pairs:
        if not (isinstance(argument, torch.Tensor) and isinstance(value, torch.Tensor)):
            continue
        if argument.shape == value.shape or _expandable(argument.shape, value.shape):
            continue
        other = next(
            (i for i, x, _ in session.first.pairs if i != place and getattr(x, "shape", None) == value.shape), None
        )
        name, record = session.first.record.name(place), session.first.record
        yield CheckFinding(
            "error",
            f"backward returned shape {tuple(value.shape)} for {name}, which has {tuple(argument.shape)}.",
            f"{_raised(session)}.",
            f"That is the shape of {record.name(other)}: are the two swapped?"
            if other is not None
            else f"Return a gradient of the shape of {name}.",
            session.source.returned(),
        )
        return


@contract_check(
    "GRAD-DEVICE", "Device of each gradient", EXTENDING, "Every gradient is on the device of its input.", ("watched",)
)
def _grad_device(session: CheckSession) -> Iterator[CheckFinding]:
    message = _message(session)
    if "invalid gradient" in message and "expected device" in message:
        yield CheckFinding(
            "error",
            "backward returned a gradient on another device than its input is on.",
            f"{_raised(session)}.",
            "Make new tensors with torch.zeros_like or new_zeros, which keep the device.",
            session.source.returned(),
        )


@contract_check(
    "BACKWARD-RAISED",
    "Running backward",
    EXTENDING,
    "backward runs, and the engine takes what it returns.",
    ("forward",),
)
def _backward_raised(session: CheckSession) -> Iterator[CheckFinding]:
    """backward returns, and the engine accepts the result (whatever the other checks do not explain)."""
    first, message = session.first, _message(session)
    if first.failed != "backward" or first.error is None or any(each in message for each in _ENGINE):
        return
    if "NO-BACKWARD" in session.broken or "CTX-SHADOW" in session.broken:
        return
    if first.backward:
        what = f"The engine rejects what backward returned: it raised {describe_exception(first.error)}."
        yield CheckFinding("error", what, "", "", session.source.returned())
    else:
        what = f"backward raised {describe_exception(first.error)}."
        if isinstance(first.error, TookTooLong):
            what = f"backward was interrupted, because {first.error}{first.error.place}."
        line = session.source.line_of(first.error) or session.source.defined("backward", "vjp")
        yield CheckFinding("error", what, "No gradient is delivered.", "", line)


def _message(session: CheckSession) -> str:
    return describe_exception(session.first.error) if session.first.failed == "backward" and session.first.error else ""


def _raised(session: CheckSession) -> str:
    return f"The engine raised {describe_exception(session.first.error)}" if session.first.error else ""


def _expandable(small: torch.Size, large: torch.Size) -> bool:
    """Whether the engine sums a gradient of the large shape to the small one (the reverse of broadcasting)."""
    return len(small) <= len(large) and all(a in (1, b) for a, b in zip(reversed(small), reversed(large), strict=False))


def _s(count: int) -> str:
    return "" if count == 1 else "s"


REJECTED_GRADIENT_CHECKS = (_grad_count, _grad_nontensor, _grad_shape, _grad_device, _backward_raised)
