"""Checks of Functions with several outputs: ignored grad_outputs, constant outputs, a loss that uses only one."""

from __future__ import annotations

from collections.abc import Iterator

from ...numerics.formatting.numbers import number
from ...runtime.failure import said
from ..examination.call import Tensors
from ..examination.function_lines import BACKWARD
from ..examination.probe import Found, Probe
from ..examination.references import EXTENDING, MATERIALIZE, NONDIFFERENTIABLE
from ..examination.session import Examined
from ..examination.slopes import slopes
from .surrogate import DECLARED, declared


def output_grad_ignored(at: Examined) -> Iterator[Found]:
    """Check: the grad_output of every output that depends on an input has an effect."""
    for name, measured in _unreached(at):
        if measured:
            alone = _alone(at, name)
            meant_so = all(declared(at, each, None, alone) for each in at.call.tensors)
            yield Found(
                "note" if meant_so else "error",
                f"{name} moves with the inputs, by up to {number(measured)}, but its gradient reaches none of them.",
                "A loss made of it learns nothing.",
                DECLARED if meant_so else f"Use the grad_output of {name} in backward.",
                at.source.returned(),
            )


def nondiff_candidate(at: Examined) -> Iterator[Found]:
    """Check: outputs that depend on no input are marked as non-differentiable."""
    for name, measured in _unreached(at):
        if measured == 0:
            yield Found(
                "note",
                f"{name} does not move with any input, and its gradient reaches none of them.",
                "It requires grad all the same, and backward is called for nothing.",
                f"Tell autograd with ctx.mark_non_differentiable({name}).",
                at.source.output(),
            )


def _unreached(at: Examined) -> Iterator[tuple[str, float | None]]:
    """The outputs whose grad_output has no effect, each with its largest slope; None if that is not known."""
    ran = at.first.ran
    if ran is None or len(ran.moved) < 2:
        return
    for name in ran.moved:
        given = at.first.grad_outputs[name]
        found = at.gradients(_alone(at, name))
        if any(each is not None and bool(each.any()) for each in found.values()):
            continue
        measured = [slopes(at.call, each, {name: given}) for each in at.call.tensors]
        known = all(bool(each.known.any()) for each in measured)
        moved = max((each.largest for each in measured if each.moves), default=0.0)
        yield name, moved if known or moved else None


def _alone(at: Examined, name: str) -> Tensors:
    """The grad_outputs with zeros for all outputs but one."""
    return {each: given if each == name else 0 * given for each, given in at.first.grad_outputs.items()}


def unused_output(at: Examined) -> Iterator[Found]:
    """Check: backward works if the loss uses one output alone."""
    ran = at.first.ran
    names = list(ran.moved) if ran else []
    for name in names if len(names) > 1 else ():
        own = at.call.run()
        try:
            own.gradients({name: at.first.grad_outputs[name].clone()})
        except Exception as error:  # noqa: BLE001 a result
            yield Found(
                "error",
                f"When the loss uses {name} alone, backward raised {said(error)}.",
                "With set_materialize_grads(False) the grad_output of an unused output is None.",
                "Ask whether each grad_output is None before it is used.",
                at.source.line_of(error) or at.source.defined(*BACKWARD),
            )
            return


SILENT = (
    Probe(
        "OUTPUT-GRAD-IGNORED",
        "The gradient of each output",
        EXTENDING,
        "The gradient of every output that moves reaches an input.",
        output_grad_ignored,
        ("backward", "steady"),
    ),
    Probe(
        "NONDIFF-CANDIDATE",
        "Outputs that do not move",
        NONDIFFERENTIABLE,
        "No output stands still unmarked.",
        nondiff_candidate,
        ("backward", "steady"),
    ),
    Probe(
        "UNUSED-OUTPUT",
        "A loss of one output",
        MATERIALIZE,
        "backward works when the loss uses one output alone.",
        unused_output,
    ),
)
