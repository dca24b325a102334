"""Checks of gradients that the engine silently corrects or accepts: summed, cast, None, swapped, unneeded, ignored."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from ...numerics.formatting.numbers import format_number
from ...numerics.sentences.names import complex_part
from ...protocol.listed import listed
from ...runtime.arguments import PARTS
from ...runtime.arrays import dtype_name
from ...runtime.captured import captured_names
from ...runtime.failure import describe_exception
from ..examination.call import TensorsByName
from ..examination.contract_check import (
    EXTENDING,
    FUNCTION,
    MARK_NON_DIFFERENTIABLE,
    SET_MATERIALIZE_GRADS,
    CheckFinding,
    Level,
    contract_check,
)
from ..examination.function_lines import BACKWARD_METHODS
from ..examination.session import CheckSession
from ..examination.slopes import TensorSlopes, tensor_slopes, undeclared_slopes
from .surrogate import SURROGATE_SENTENCE, surrogate_explains


@contract_check(
    "GRAD-SHAPE-REDUCED",
    "Gradients that the engine sums",
    EXTENDING,
    "Every gradient has the shape of its input.",
    ("watched", "backward"),
)
def _grad_shape_reduced(session: CheckSession) -> Iterator[CheckFinding]:
    """An error where the sum is no derivative of forward, else a note on what it costs."""
    for place, argument, value in session.first.pairs:
        if not (isinstance(argument, torch.Tensor) and isinstance(value, torch.Tensor)):
            continue
        if value.shape == argument.shape:
            continue
        name, times = session.first.record.name(place), value.numel() // max(1, argument.numel())
        own = _own_name(session, argument, name)
        slopes, total = session.slopes.get(own), session.first.gradients.get(own)
        off = slopes is not None and bool(slopes.differs(total).any()) and not surrogate_explains(session, own, total)
        summed = f"The engine silently summed it to {tuple(argument.shape)}"
        yield CheckFinding(
            "error" if off else "note",
            f"backward returned shape {tuple(value.shape)} for {name}, which has {tuple(argument.shape)}.",
            f"{summed}, and that sum is not the derivative of forward." if off else f"{summed}.",
            f"Return one number for each element of {name}: its share in every output that it moves."
            if off
            else f"The sum is right{_memory(times)}: sum_to_size({name}.shape) says what is meant.",
            session.source.returned(),
            own if off else "",
            (own,) if off else (),
        )


def _memory(times: int) -> str:
    return f", but it takes {times} times the memory" if times > 1 else ""


@contract_check(
    "SWAPPED", "Order of the gradients", EXTENDING, "No two gradients are swapped.", ("backward", "deterministic")
)
def _swapped(session: CheckSession) -> Iterator[CheckFinding]:
    given, slopes = session.first.gradients, session.slopes
    for one, other in ((a, b) for a in given for b in given if a < b):
        if slopes[one].value.shape != slopes[other].value.shape or not (slopes[one].moves or slopes[other].moves):
            continue
        crossed = slopes[other].agrees(given[one]) and slopes[one].agrees(given[other])
        if crossed and not slopes[one].agrees(given[one]) and not slopes[other].agrees(given[other]):
            by_design = surrogate_explains(session, one, given[one]) and surrogate_explains(
                session, other, given[other]
            )
            yield CheckFinding(
                "note" if by_design else "error",
                f"What is returned for {one} is the gradient of {other}, and the other way round: their slopes are up "
                f"to {format_number(slopes[one].largest)} and {format_number(slopes[other].largest)}.",
                "Both have the same shape, so the engine notices nothing.",
                SURROGATE_SENTENCE if by_design else "Return the gradients in the order of the arguments of forward.",
                session.source.returned(),
                one,
                (one, other),
            )


@contract_check(
    "GRAD-DTYPE",
    "Dtype of each gradient",
    EXTENDING,
    "Every gradient has the dtype of its input.",
    ("watched", "backward"),
)
def _grad_dtype(session: CheckSession) -> Iterator[CheckFinding]:
    for place, argument, value in session.first.pairs:
        if not (isinstance(argument, torch.Tensor) and isinstance(value, torch.Tensor)):
            continue
        if argument.dtype == value.dtype:
            continue
        name, narrower = session.first.record.name(place), _narrower(value.dtype, argument.dtype)
        own = _own_name(session, argument, name)
        yield CheckFinding(
            "warning" if narrower else "note",
            f"backward returned {dtype_name(value.dtype)} for {name}, which is {dtype_name(argument.dtype)}.",
            f"The engine cast it to {dtype_name(argument.dtype)}"
            + (": what was lost stays lost." if narrower else "."),
            "Convert masks and constants with .to(grad_output.dtype), and compute in the dtype of the input.",
            session.source.returned(),
            explains=(own,) if _lost_in(value.dtype, session.slopes.get(own), session.first.gradients.get(own)) else (),
        )


@contract_check(
    "GRAD-NONE",
    "None for an input",
    FUNCTION,
    "Every tensor that moves the outputs is given a gradient.",
    ("watched", "backward"),
)
def _grad_none(session: CheckSession) -> Iterator[CheckFinding]:
    """No tensor gets None although the outputs move with it, unless it is declared constant."""
    forward, line = session.first.forward, session.source.returned()
    for place, argument, value in session.first.pairs:
        needed = forward is not None and place < len(forward.needed) and forward.needed[place]
        if value is not None or not isinstance(argument, torch.Tensor) or not needed:
            continue
        name = session.first.record.name(place)
        own = _own_name(session, argument, name)
        slopes = session.slopes.get(own)
        moves = slopes is not None and slopes.moves
        by_design = moves and surrogate_explains(session, own, None)
        still = "and differences of forward find no slope either" if slopes else "and its slope was not measured"
        yield CheckFinding(
            "error" if moves and not by_design else "note",
            _constant(name, slopes) if slopes and moves else f"backward returned None for {name}, {still}.",
            "The engine treats None as zeros, and leaves .grad as it was.",
            (SURROGATE_SENTENCE if by_design else _remedy(name)) if moves else "Nothing is lost.",
            line,
            own,
            tuple(each for each in session.call.tensors if complex_part(each)[0] == complex_part(own)[0]),
        )
    yield from _captured(session)
    for held, slopes in undeclared_slopes(session.call, session.first.grad_outputs):
        if slopes.moves:
            name = held.undeclared
            level: Level = "warning" if held.data else "error"
            torch_does = "backward returns no gradient for it, whoever asks."
            yield CheckFinding(level, _constant(name, slopes), torch_does, _remedy(name, held.data), line, name)


def _remedy(name: str, data: bool = False) -> str:
    """What to do about a tensor that is given no gradient, which may be ``data`` by convention."""
    declare = f"eclare it constant: `Gradloupe: … {name}: … nograd` in the docstring."
    return f"D{declare}" if data else f"Return the gradient of {name}, or d{declare}"


def _captured(session: CheckSession) -> Iterator[CheckFinding]:
    """The tensors that forward reads without being given them, and moves with: autograd knows nothing of them."""
    for name in captured_names(session.section.op):
        slopes = session.slopes[name]
        if session.first.gradients.get(name) is None and slopes.moves:
            yield CheckFinding(
                "error",
                f"forward moves with {name}, which requires grad and is no argument: its slope reaches "
                f"{format_number(slopes.largest)}, and no gradient comes back.",
                "To autograd what is not passed to apply is a constant.",
                f"Pass {name} as an argument of its own, and return its gradient.",
                session.source.read(name.rpartition(".")[2], "forward"),
                name,
                (name,),
            )


def _constant(name: str, slopes: TensorSlopes) -> str:
    return f"{name} is treated as a constant; its slope reaches {format_number(slopes.largest)}."


def _own_name(session: CheckSession, argument: torch.Tensor, called: str) -> str:
    """The name of the input that an argument of forward is; a 0-dimensional one is passed as a view of its tensor.

    Of a complex one, which is ``called`` so, that of the part that the outputs move with most.
    """
    given = session.first.ran.given.tensors if session.first.ran else {}
    if parts := [name for name in given if complex_part(name)[1] and complex_part(name)[0] == called]:
        return max(parts, key=lambda name: session.slopes[name].largest)
    for name, tensor in given.items():
        if tensor is argument or (argument._is_view() and argument._base is tensor):
            return name
    return ""


@contract_check(
    "NEEDS-INPUT-GRAD",
    "Gradients nobody asks for",
    FUNCTION,
    "No gradient is computed that nobody asks for.",
    ("watched", "backward"),
)
def _needs_input_grad(session: CheckSession) -> Iterator[CheckFinding]:
    """backward computes no gradient that ctx.needs_input_grad says is not needed."""
    names = dict.fromkeys(complex_part(each)[0] for each in session.call.tensors)
    wasted, line = [], None
    for name in names if len(names) > 1 else ():
        call, record = session.watched()
        try:
            ran = call.run(which=tuple(each for each in call.tensors if complex_part(each)[0] != name))
            if not ran.moved:
                continue
            ran.gradients(call.grad_outputs(ran))
        except Exception as error:  # noqa: BLE001 a result
            yield CheckFinding(
                "warning",
                f"Where {name} requires no grad, the call fails: it raised {describe_exception(error)}.",
                "",
                "Ask ctx.needs_input_grad before a gradient is computed.",
                session.source.line_of(error),
            )
            return
        wasted += [name] * any(_wasted(record, place) for place in range(len(record.parameters)))
        line = session.source.returned()
    if wasted:
        yield CheckFinding(
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
    floating = isinstance(argument, torch.Tensor) and (argument.is_floating_point() or argument.is_complex())
    return floating and not forward.needed[place] and values[place] is not None


def _lost_in(dtype: torch.dtype, slopes: TensorSlopes | None, found: torch.Tensor | None) -> bool:
    """Whether a gradient is the slope of forward, but for what a dtype loses of it."""
    if slopes is None or found is None or found.shape != slopes.value.shape or dtype.is_complex or found.is_complex():
        return False
    slope = slopes.value.to(found.dtype)
    lost = (slope - slope.to(dtype).to(slope.dtype)).abs() + (
        _LOST_DIGITS * torch.finfo(dtype).eps * slopes.largest if dtype.is_floating_point else 0.0
    )
    return bool((~slopes.known | ((found - slope).abs() <= lost)).all())


def _narrower(given: torch.dtype, wanted: torch.dtype) -> bool:
    if not given.is_floating_point and not given.is_complex:
        return True
    return torch.finfo(given).eps > torch.finfo(wanted).eps if wanted.is_floating_point else False


@contract_check(
    "OUTPUT-GRAD-IGNORED",
    "The gradient of each output",
    EXTENDING,
    "The gradient of every output that moves reaches an input.",
    ("backward", "deterministic"),
)
def _output_grad_ignored(session: CheckSession) -> Iterator[CheckFinding]:
    for name, measured in _outputs_without_effect(session):
        if measured:
            alone = _grad_output_alone(session, name)
            by_design = all(surrogate_explains(session, each, None, alone) for each in session.call.tensors)
            yield CheckFinding(
                "note" if by_design else "error",
                f"{name} moves with the inputs, by up to {format_number(measured)}, "
                "but its gradient reaches none of them.",
                "A loss made of it learns nothing.",
                SURROGATE_SENTENCE if by_design else f"Use the grad_output of {name} in backward.",
                session.source.returned(),
                explains=tuple(each for each in session.call.tensors if _right_without(session, each, name)),
            )


def _right_without(session: CheckSession, tensor: str, output: str) -> bool:
    """Whether the gradient by a tensor is that of all other outputs."""
    others = {name: given for name, given in session.first.grad_outputs.items() if name != output}
    return tensor_slopes(session.call, tensor, others).agrees(session.first.gradients.get(tensor))


@contract_check(
    "NONDIFF-CANDIDATE",
    "Outputs that do not move",
    MARK_NON_DIFFERENTIABLE,
    "Outputs that depend on no input are marked as non-differentiable.",
    ("backward", "deterministic"),
)
def _nondiff_candidate(session: CheckSession) -> Iterator[CheckFinding]:
    still = {name for name, measured in _outputs_without_effect(session) if measured == 0}
    for name in dict.fromkeys(complex_part(each)[0] for each in still):
        # The imaginary part of a real result stands still, and is no output of its own.
        if all(each in still for each in session.first.grad_outputs if complex_part(each)[0] == name):
            yield CheckFinding(
                "note",
                f"{name} does not move with any input, and its gradient reaches none of them.",
                "It requires grad all the same, and backward is called for nothing.",
                f"Tell autograd with ctx.mark_non_differentiable({name}).",
                session.source.output(),
            )


def _outputs_without_effect(session: CheckSession) -> Iterator[tuple[str, float | None]]:
    """The outputs whose grad_output has no effect, each with its largest slope; None if that is not known."""
    ran = session.first.ran
    if ran is None or len(ran.moved) < 2:
        return
    for name in ran.moved:
        given = session.first.grad_outputs[name]
        found = session.gradients(_grad_output_alone(session, name))
        if any(each is not None and bool(each.any()) for each in found.values()):
            continue
        measured = [tensor_slopes(session.call, each, {name: given}) for each in session.call.tensors]
        known = all(bool(each.known.any()) for each in measured)
        moved = max((each.largest for each in measured if each.moves), default=0.0)
        moved *= moved > _ROUNDED * _slope_of_other_part(session, name)
        yield name, moved if known or moved else None


# bound: units of rounding that computing in a shorter dtype may lose, of the largest gradient.
_LOST_DIGITS = 1e3
# bound: slopes of a part of a complex output below this share of the other's may be what rounding leaves of them.
_ROUNDED = 1e-3


def _slope_of_other_part(session: CheckSession, name: str) -> float:
    """The largest slope of the other part of a complex output; 0 for a real one."""
    whole = complex_part(name)[0]
    given = {each: one for each, one in session.first.grad_outputs.items() if each in (whole + part for part in PARTS)}
    given.pop(name, None)
    return max((tensor_slopes(session.call, each, given).largest for each in session.call.tensors if given), default=0)


def _grad_output_alone(session: CheckSession, name: str) -> TensorsByName:
    """The grad_outputs with zeros for all outputs but one."""
    return {each: given if each == name else 0 * given for each, given in session.first.grad_outputs.items()}


@contract_check(
    "UNUSED-OUTPUT",
    "A loss of one output",
    SET_MATERIALIZE_GRADS,
    "backward works when the loss uses one output alone.",
)
def _unused_output(session: CheckSession) -> Iterator[CheckFinding]:
    ran = session.first.ran
    names = list(ran.moved) if ran else []
    for name in names if len(names) > 1 else ():
        own = session.call.run()
        try:
            own.gradients({name: session.first.grad_outputs[name].clone()})
        except Exception as error:  # noqa: BLE001 a result
            yield CheckFinding(
                "error",
                f"When the loss uses {name} alone, backward raised {describe_exception(error)}.",
                "With set_materialize_grads(False) the grad_output of an unused output is None.",
                "Ask whether each grad_output is None before it is used.",
                session.source.line_of(error) or session.source.defined(*BACKWARD_METHODS),
            )
            return


SILENT_CORRECTION_CHECKS = (
    *(_grad_shape_reduced, _swapped, _grad_dtype, _grad_none, _needs_input_grad),
    *(_output_grad_ignored, _nondiff_candidate, _unused_output),
)
