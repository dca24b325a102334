"""Checks of returned gradients that the engine silently corrects or accepts: summed, cast, None, swapped, unneeded."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from ...numerics.formatting.numbers import format_number
from ...numerics.sentences.places import join_words
from ...runtime.failure import describe_exception
from ...runtime.recorder import short_dtype
from ..examination.probe import CheckFinding, Probe, shape_as_tuple
from ..examination.session import CheckSession
from ..examination.torch_documentation import EXTENDING, FUNCTION
from .surrogate import SURROGATE_SENTENCE, surrogate_explains


def _grad_shape_reduced(at: CheckSession) -> Iterator[CheckFinding]:
    """Check: every gradient has the exact shape of its input, so that the engine need not sum it."""
    for place, argument, value in at.first.pairs:
        if isinstance(argument, torch.Tensor) and isinstance(value, torch.Tensor) and value.shape != argument.shape:
            name, times = at.first.record.name(place), value.numel() // max(1, argument.numel())
            yield CheckFinding(
                "note",
                f"backward returned shape {shape_as_tuple(value.shape)} for {name}, "
                f"which has {shape_as_tuple(argument.shape)}.",
                f"The engine summed it to {shape_as_tuple(argument.shape)} without a word.",
                f"The sum is right{_memory(times)}: sum_to_size({name}.shape) says what is meant.",
                at.source.returned(),
            )


def _memory(times: int) -> str:
    return f", but it takes {times} times the memory" if times > 1 else ""


def _swapped(at: CheckSession) -> Iterator[CheckFinding]:
    """Check: the gradients of two inputs of the same shape are not swapped."""
    given, slopes = at.first.gradients, at.slopes
    for one, other in ((a, b) for a in given for b in given if a < b):
        if slopes[one].value.shape != slopes[other].value.shape or not (slopes[one].moves or slopes[other].moves):
            continue
        crossed = slopes[other].agrees(given[one]) and slopes[one].agrees(given[other])
        if crossed and not slopes[one].agrees(given[one]) and not slopes[other].agrees(given[other]):
            meant_so = surrogate_explains(at, one, given[one]) and surrogate_explains(at, other, given[other])
            yield CheckFinding(
                "note" if meant_so else "error",
                f"What is returned for {one} is the gradient of {other}, and the other way round: their slopes are up "
                f"to {format_number(slopes[one].largest)} and {format_number(slopes[other].largest)}.",
                "Both have the same shape, so the engine notices nothing.",
                SURROGATE_SENTENCE if meant_so else "Return the gradients in the order of the arguments of forward.",
                at.source.returned(),
                one,
            )


def _grad_dtype(at: CheckSession) -> Iterator[CheckFinding]:
    """Check: every gradient has the dtype of its input."""
    for place, argument, value in at.first.pairs:
        if not (isinstance(argument, torch.Tensor) and isinstance(value, torch.Tensor)):
            continue
        if argument.dtype == value.dtype:
            continue
        name, lost = at.first.record.name(place), _narrower(value.dtype, argument.dtype)
        yield CheckFinding(
            "warning" if lost else "note",
            f"backward returned {short_dtype(value)} for {name}, which is {short_dtype(argument)}.",
            f"The engine cast it to {short_dtype(argument)}" + (": what was lost stays lost." if lost else "."),
            "Convert masks and constants with .to(grad_output.dtype), and compute in the dtype of the input.",
            at.source.returned(),
        )


def _grad_none(at: CheckSession) -> Iterator[CheckFinding]:
    """Check: no input that requires grad gets None, unless its slope is 0."""
    forward = at.first.forward
    for place, argument, value in at.first.pairs:
        needed = forward is not None and place < len(forward.needed) and forward.needed[place]
        if value is not None or not isinstance(argument, torch.Tensor) or not needed:
            continue
        name = at.first.record.name(place)
        own = _own_name(at, argument)
        slopes = at.slopes.get(own)
        moves = slopes is not None and slopes.moves
        meant_so = moves and surrogate_explains(at, own, None)
        measured = f"its slope by differences is up to {format_number(slopes.largest)}" if slopes and moves else ""
        still = "and differences of forward find no slope either" if slopes else "and its slope was not measured"
        yield CheckFinding(
            "error" if moves and not meant_so else "note",
            f"backward returned None for {name}, which requires grad, {'but ' + measured if moves else still}.",
            "The engine takes None for zeros, and leaves .grad as it was.",
            (SURROGATE_SENTENCE if meant_so else f"Return the gradient of {name}.") if moves else "Nothing is lost.",
            at.source.returned(),
            own,
        )


def _own_name(at: CheckSession, argument: torch.Tensor) -> str:
    """The name of the input that an argument of forward is; a 0-dimensional one is passed as a view of its tensor."""
    given = at.first.ran.given.tensors if at.first.ran else {}
    for name, tensor in given.items():
        if tensor is argument or (argument._is_view() and argument._base is tensor):
            return name
    return ""


def _needs_input_grad(at: CheckSession) -> Iterator[CheckFinding]:
    """Check: backward computes no gradient that ctx.needs_input_grad says is not needed."""
    names = tuple(at.call.tensors)
    wasted, line = [], None
    for name in names if len(names) > 1 else ():
        call, record = at.watched()
        try:
            ran = call.run(which=tuple(each for each in names if each != name))
            if not ran.moved:
                continue
            ran.gradients(call.grad_outputs(ran))
        except Exception as error:  # noqa: BLE001 a result
            yield CheckFinding(
                "warning",
                f"Where {name} requires no grad, the call fails: it raised {describe_exception(error)}.",
                "",
                "Ask ctx.needs_input_grad before a gradient is computed.",
                at.source.line_of(error),
            )
            return
        wasted += [name] * any(_wasted(record, place) for place in range(len(record.parameters)))
        line = at.source.returned()
    if wasted:
        yield CheckFinding(
            "note",
            f"The gradient of {join_words(wasted)} is computed even where it is not asked for.",
            "The engine throws it away.",
            "Skip it where ctx.needs_input_grad is False: that saves time.",
            line,
        )


def _wasted(record: Any, place: int) -> bool:
    """Whether a gradient was returned for a tensor that needed none."""
    if not (record.forwards and record.backwards):
        return False
    forward, values = record.forwards[0], record.backwards[0].values
    if not (place < len(values) and place < len(forward.arguments) and place < len(forward.needed)):
        return False
    argument = forward.arguments[place]
    floating = isinstance(argument, torch.Tensor) and argument.is_floating_point()
    return floating and not forward.needed[place] and values[place] is not None


def _narrower(given: torch.dtype, wanted: torch.dtype) -> bool:
    if not given.is_floating_point and not given.is_complex:
        return True
    return torch.finfo(given).eps > torch.finfo(wanted).eps if wanted.is_floating_point else False


SILENT_CORRECTION_CHECKS = (
    Probe(
        "GRAD-SHAPE-REDUCED",
        "Gradients that the engine sums",
        EXTENDING,
        "Every gradient has the very shape of its input.",
        _grad_shape_reduced,
        ("watched", "backward"),
    ),
    Probe(
        "SWAPPED",
        "Order of the gradients",
        EXTENDING,
        "No two gradients are swapped.",
        _swapped,
        ("backward", "steady"),
    ),
    Probe(
        "GRAD-DTYPE",
        "Dtype of each gradient",
        EXTENDING,
        "Every gradient has the dtype of its input.",
        _grad_dtype,
        ("watched", "backward"),
    ),
    Probe(
        "GRAD-NONE",
        "None for an input",
        FUNCTION,
        "Every input that requires grad is given a gradient.",
        _grad_none,
        ("watched", "backward"),
    ),
    Probe(
        "NEEDS-INPUT-GRAD",
        "Gradients nobody asks for",
        FUNCTION,
        "No gradient is computed in vain.",
        _needs_input_grad,
        ("watched", "backward"),
    ),
)
