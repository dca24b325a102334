"""Checks of returned gradients that the autograd engine rejects: wrong number, type, shape or device."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from ...numerics.sentences.places import join_words
from ...runtime.failure import describe_exception, describe_result
from ...runtime.timeouts import TookTooLong
from ..examination.contract_check import EXTENDING, CheckFinding, contract_check
from ..examination.session import CheckSession

# Messages of the engine for which there is a check with a better explanation.
_ENGINE = ("incorrect number of gradients", "different than None", "expected shape", "expected device")


@contract_check("GRAD-COUNT", "Number of gradients", EXTENDING, "One value for each argument of forward.", ("watched",))
def _grad_count(at: CheckSession) -> Iterator[CheckFinding]:
    if "incorrect number of gradients" not in _message(at):
        return
    backward, forward = at.first.backward, at.first.forward
    if not (backward and forward):
        return
    count, got = len(forward.arguments), len(backward.values)
    names = join_words([at.first.record.name(place) for place in range(count)])
    what = f"forward takes {count} argument{_s(count)} ({names}) and backward returned {got} value{_s(got)}"
    in_a_list = isinstance(backward.returned, list)
    yield CheckFinding(
        "error",
        f"{what}: a list, which counts as one." if in_a_list else f"{what}.",
        f"{_raised(at)}.",
        "Return a tuple, not a list."
        if in_a_list
        else "Return one value for each argument, None for what is no tensor.",
        at.source.returned(),
    )


@contract_check(
    "GRAD-NONTENSOR", "Gradients of numbers", EXTENDING, "None for every argument that is no tensor.", ("watched",)
)
def _grad_nontensor(at: CheckSession) -> Iterator[CheckFinding]:
    if "different than None" not in _message(at):
        return
    for place, argument, value in at.first.pairs:
        if value is not None and not isinstance(argument, torch.Tensor):
            name = at.first.record.name(place)
            yield CheckFinding(
                "error",
                f"backward returned a gradient for {name}, which is {describe_result(argument, 1)}.",
                f"{_raised(at)}.",
                f"Return None in the place of {name}.",
                at.source.returned(),
            )
            return


@contract_check(
    "GRAD-SHAPE", "Shape of each gradient", EXTENDING, "Every gradient fits the shape of its input.", ("watched",)
)
def _grad_shape(at: CheckSession) -> Iterator[CheckFinding]:
    """Every gradient has a shape that the engine can sum to that of its input."""
    message = _message(at)
    if "invalid gradient" not in message or "expected shape" not in message:
        return
    for place, argument, value in at.first.pairs:
        if not (isinstance(argument, torch.Tensor) and isinstance(value, torch.Tensor)):
            continue
        if argument.shape == value.shape or _expandable(argument.shape, value.shape):
            continue
        other = next(
            (each for each, tensor, _ in at.first.pairs if each != place and _has_shape(tensor, value.shape)), None
        )
        name, record = at.first.record.name(place), at.first.record
        yield CheckFinding(
            "error",
            f"backward returned shape {tuple(value.shape)} for {name}, which has {tuple(argument.shape)}.",
            f"{_raised(at)}.",
            f"That is the shape of {record.name(other)}: are the two swapped?"
            if other is not None
            else f"Return a gradient of the shape of {name}.",
            at.source.returned(),
        )
        return


@contract_check(
    "GRAD-DEVICE", "Device of each gradient", EXTENDING, "Every gradient is on the device of its input.", ("watched",)
)
def _grad_device(at: CheckSession) -> Iterator[CheckFinding]:
    message = _message(at)
    if "invalid gradient" in message and "expected device" in message:
        yield CheckFinding(
            "error",
            "backward returned a gradient on another device than its input is on.",
            f"{_raised(at)}.",
            "Make new tensors with torch.zeros_like or new_zeros, which keep the device.",
            at.source.returned(),
        )


@contract_check(
    "BACKWARD-RAISED",
    "Running backward",
    EXTENDING,
    "backward runs, and the engine takes what it returns.",
    ("forward",),
)
def _backward_raised(at: CheckSession) -> Iterator[CheckFinding]:
    """backward returns, and the engine accepts the result (whatever the other checks do not explain)."""
    first, message = at.first, _message(at)
    if first.failed != "backward" or first.error is None or any(each in message for each in _ENGINE):
        return
    if "NO-BACKWARD" in at.broken or "CTX-SHADOW" in at.broken:
        return
    if first.backward:
        what = f"The engine does not take what backward returned: it raised {describe_exception(first.error)}."
        yield CheckFinding("error", what, "", "", at.source.returned())
    else:
        late = isinstance(first.error, TookTooLong)
        what = (
            f"backward was interrupted, because {first.error}."
            if late
            else f"backward raised {describe_exception(first.error)}."
        )
        line = at.source.line_of(first.error) or at.source.defined("backward", "vjp")
        yield CheckFinding("error", what, "No gradient is delivered.", "", line)


def _message(at: CheckSession) -> str:
    return describe_exception(at.first.error) if at.first.failed == "backward" and at.first.error else ""


def _raised(at: CheckSession) -> str:
    return f"The engine raised {describe_exception(at.first.error)}" if at.first.error else ""


def _expandable(small: torch.Size, large: torch.Size) -> bool:
    """Whether the engine sums a gradient of the large shape to the small one (the reverse of broadcasting)."""
    return len(small) <= len(large) and all(a in (1, b) for a, b in zip(reversed(small), reversed(large), strict=False))


def _has_shape(value: Any, shape: torch.Size) -> bool:
    return isinstance(value, torch.Tensor) and value.shape == shape


def _s(count: int) -> str:
    return "" if count == 1 else "s"


REJECTED_GRADIENT_CHECKS = (_grad_count, _grad_nontensor, _grad_shape, _grad_device, _backward_raised)
