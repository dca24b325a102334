"""Checks of Functions with several outputs: ignored grad_outputs, constant outputs, a loss that uses only one."""

from __future__ import annotations

from collections.abc import Iterator

from ...numerics.formatting.numbers import format_number
from ...runtime.failure import describe_exception
from ..examination.call import TensorsByName
from ..examination.function_lines import BACKWARD_METHODS
from ..examination.probe import CheckFinding, Probe
from ..examination.session import CheckSession
from ..examination.slopes import tensor_slopes
from ..examination.torch_documentation import EXTENDING, MARK_NON_DIFFERENTIABLE, SET_MATERIALIZE_GRADS
from .surrogate import SURROGATE_SENTENCE, surrogate_explains


def _output_grad_ignored(at: CheckSession) -> Iterator[CheckFinding]:
    """Check: the grad_output of every output that depends on an input has an effect."""
    for name, measured in _unreached(at):
        if measured:
            alone = _alone(at, name)
            meant_so = all(surrogate_explains(at, each, None, alone) for each in at.call.tensors)
            yield CheckFinding(
                "note" if meant_so else "error",
                f"{name} moves with the inputs, by up to {format_number(measured)}, "
                "but its gradient reaches none of them.",
                "A loss made of it learns nothing.",
                SURROGATE_SENTENCE if meant_so else f"Use the grad_output of {name} in backward.",
                at.source.returned(),
            )


def _nondiff_candidate(at: CheckSession) -> Iterator[CheckFinding]:
    """Check: outputs that depend on no input are marked as non-differentiable."""
    for name, measured in _unreached(at):
        if measured == 0:
            yield CheckFinding(
                "note",
                f"{name} does not move with any input, and its gradient reaches none of them.",
                "It requires grad all the same, and backward is called for nothing.",
                f"Tell autograd with ctx.mark_non_differentiable({name}).",
                at.source.output(),
            )


def _unreached(at: CheckSession) -> Iterator[tuple[str, float | None]]:
    """The outputs whose grad_output has no effect, each with its largest slope; None if that is not known."""
    ran = at.first.ran
    if ran is None or len(ran.moved) < 2:
        return
    for name in ran.moved:
        given = at.first.grad_outputs[name]
        found = at.gradients(_alone(at, name))
        if any(each is not None and bool(each.any()) for each in found.values()):
            continue
        measured = [tensor_slopes(at.call, each, {name: given}) for each in at.call.tensors]
        known = all(bool(each.known.any()) for each in measured)
        moved = max((each.largest for each in measured if each.moves), default=0.0)
        yield name, moved if known or moved else None


def _alone(at: CheckSession, name: str) -> TensorsByName:
    """The grad_outputs with zeros for all outputs but one."""
    return {each: given if each == name else 0 * given for each, given in at.first.grad_outputs.items()}


def _unused_output(at: CheckSession) -> Iterator[CheckFinding]:
    """Check: backward works if the loss uses one output alone."""
    ran = at.first.ran
    names = list(ran.moved) if ran else []
    for name in names if len(names) > 1 else ():
        own = at.call.run()
        try:
            own.gradients({name: at.first.grad_outputs[name].clone()})
        except Exception as error:  # noqa: BLE001 a result
            yield CheckFinding(
                "error",
                f"When the loss uses {name} alone, backward raised {describe_exception(error)}.",
                "With set_materialize_grads(False) the grad_output of an unused output is None.",
                "Ask whether each grad_output is None before it is used.",
                at.source.line_of(error) or at.source.defined(*BACKWARD_METHODS),
            )
            return


UNUSED_OUTPUT_CHECKS = (
    Probe(
        "OUTPUT-GRAD-IGNORED",
        "The gradient of each output",
        EXTENDING,
        "The gradient of every output that moves reaches an input.",
        _output_grad_ignored,
        ("backward", "steady"),
    ),
    Probe(
        "NONDIFF-CANDIDATE",
        "Outputs that do not move",
        MARK_NON_DIFFERENTIABLE,
        "No output stands still unmarked.",
        _nondiff_candidate,
        ("backward", "steady"),
    ),
    Probe(
        "UNUSED-OUTPUT",
        "A loss of one output",
        SET_MATERIALIZE_GRADS,
        "backward works when the loss uses one output alone.",
        _unused_output,
    ),
)
