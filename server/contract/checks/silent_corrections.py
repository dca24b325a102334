"""Checks of returned gradients that the engine silently corrects or accepts: summed, cast, None, swapped, unneeded."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from ...numerics.formatting.numbers import number
from ...numerics.sentences.places import listed
from ...runtime.failure import said
from ...runtime.recorder import dtype_of
from ..examination.probe import Found, Probe, shape_of
from ..examination.references import EXTENDING, FUNCTION
from ..examination.session import Examined
from .surrogate import DECLARED, declared


def grad_shape_reduced(at: Examined) -> Iterator[Found]:
    """Check: every gradient has the exact shape of its input, so that the engine need not sum it."""
    for place, argument, value in at.first.pairs:
        if isinstance(argument, torch.Tensor) and isinstance(value, torch.Tensor) and value.shape != argument.shape:
            name, times = at.first.record.name(place), value.numel() // max(1, argument.numel())
            yield Found(
                "note",
                f"backward returned shape {shape_of(value.shape)} for {name}, which has {shape_of(argument.shape)}.",
                f"The engine summed it to {shape_of(argument.shape)} without a word.",
                f"The sum is right{_memory(times)}: sum_to_size({name}.shape) says what is meant.",
                at.source.returned(),
            )


def _memory(times: int) -> str:
    return f", but it takes {times} times the memory" if times > 1 else ""


def _swapped(at: Examined) -> Iterator[Found]:
    """Check: the gradients of two inputs of the same shape are not swapped."""
    given, slopes = at.first.gradients, at.slopes
    for one, other in ((a, b) for a in given for b in given if a < b):
        if slopes[one].value.shape != slopes[other].value.shape or not (slopes[one].moves or slopes[other].moves):
            continue
        crossed = slopes[other].agrees(given[one]) and slopes[one].agrees(given[other])
        if crossed and not slopes[one].agrees(given[one]) and not slopes[other].agrees(given[other]):
            meant_so = declared(at, one, given[one]) and declared(at, other, given[other])
            yield Found(
                "note" if meant_so else "error",
                f"What is returned for {one} is the gradient of {other}, and the other way round: their slopes are up "
                f"to {number(slopes[one].largest)} and {number(slopes[other].largest)}.",
                "Both have the same shape, so the engine notices nothing.",
                DECLARED if meant_so else "Return the gradients in the order of the arguments of forward.",
                at.source.returned(),
                one,
            )


def grad_dtype(at: Examined) -> Iterator[Found]:
    """Check: every gradient has the dtype of its input."""
    for place, argument, value in at.first.pairs:
        if not (isinstance(argument, torch.Tensor) and isinstance(value, torch.Tensor)):
            continue
        if argument.dtype == value.dtype:
            continue
        name, lost = at.first.record.name(place), _narrower(value.dtype, argument.dtype)
        yield Found(
            "warning" if lost else "note",
            f"backward returned {dtype_of(value)} for {name}, which is {dtype_of(argument)}.",
            f"The engine cast it to {dtype_of(argument)}" + (": what was lost stays lost." if lost else "."),
            "Convert masks and constants with .to(grad_output.dtype), and compute in the dtype of the input.",
            at.source.returned(),
        )


def grad_none(at: Examined) -> Iterator[Found]:
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
        meant_so = moves and declared(at, own, None)
        measured = f"its slope by differences is up to {number(slopes.largest)}" if slopes and moves else ""
        still = "and differences of forward find no slope either" if slopes else "and its slope was not measured"
        yield Found(
            "error" if moves and not meant_so else "note",
            f"backward returned None for {name}, which requires grad, {'but ' + measured if moves else still}.",
            "The engine takes None for zeros, and leaves .grad as it was.",
            (DECLARED if meant_so else f"Return the gradient of {name}.") if moves else "Nothing is lost.",
            at.source.returned(),
            own,
        )


def _own_name(at: Examined, argument: torch.Tensor) -> str:
    """The name of the input that an argument of forward is; a 0-dimensional one is passed as a view of its tensor."""
    given = at.first.ran.given.tensors if at.first.ran else {}
    for name, tensor in given.items():
        if tensor is argument or (argument._is_view() and argument._base is tensor):
            return name
    return ""


def needs_input_grad(at: Examined) -> Iterator[Found]:
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
            yield Found(
                "warning",
                f"Where {name} requires no grad, the call fails: it raised {said(error)}.",
                "",
                "Ask ctx.needs_input_grad before a gradient is computed.",
                at.source.line_of(error),
            )
            return
        wasted += [name] * any(_wasted(record, place) for place in range(len(record.parameters)))
        line = at.source.returned()
    if wasted:
        yield Found(
            "note",
            f"The gradient of {listed(wasted)} is computed even where it is not asked for.",
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


RETURNED = (
    Probe(
        "GRAD-SHAPE-REDUCED",
        "Gradients that the engine sums",
        EXTENDING,
        "Every gradient has the very shape of its input.",
        grad_shape_reduced,
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
        grad_dtype,
        ("watched", "backward"),
    ),
    Probe(
        "GRAD-NONE",
        "None for an input",
        FUNCTION,
        "Every input that requires grad is given a gradient.",
        grad_none,
        ("watched", "backward"),
    ),
    Probe(
        "NEEDS-INPUT-GRAD",
        "Gradients nobody asks for",
        FUNCTION,
        "No gradient is computed in vain.",
        needs_input_grad,
        ("watched", "backward"),
    ),
)
