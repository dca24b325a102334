"""Checks of double backward: right, silently wrong, or forbidden by once_differentiable."""

from __future__ import annotations

from collections.abc import Iterator

import torch

from ...numerics.formatting.numbers import describe_size, format_number
from ...runtime.failure import describe_exception
from ...runtime.graph import declares_once, function_nodes
from ...runtime.vjp import pull_back, uneven
from ..examination.contract_check import DOUBLE_BACKWARD, ONCE_DIFFERENTIABLE, CheckFinding, contract_check
from ..examination.function_lines import BACKWARD_METHODS
from ..examination.session import CheckSession
from ..examination.slopes import TensorSlopes, slopes_of_function

# pattern: a steeper slope of the gradient is taken for a kink.
_KINK_SLOPE = 1e4


@contract_check(
    "ONCE-DIFF", "Second derivatives declared impossible", ONCE_DIFFERENTIABLE, "once_differentiable is not used.", ()
)
def _once_diff(session: CheckSession) -> Iterator[CheckFinding]:
    if declares_once(session.function):
        yield CheckFinding(
            "note",
            "backward is decorated with once_differentiable: it must not be differentiated.",
            "Only backward() through the gradient raises; torch.autograd.grad with allow_unused silently returns "
            "zeros.",
            "Take it off if second derivatives are wanted and backward is made of torch's own operations.",
            session.source.defined(*BACKWARD_METHODS),
        )


@contract_check(
    "SECOND-ORDER",
    "Second derivatives",
    DOUBLE_BACKWARD,
    "Autograd's second derivative is that of backward, or both are 0.",
    ("backward", "deterministic"),
)
def _second_order(session: CheckSession) -> Iterator[CheckFinding]:
    """The gradient of the gradient equals finite differences of the gradient."""
    declared = declares_once(session.function)
    if session.broken & {"NONLINEAR", "GRADOUT-INPLACE"} and not session.by_design:
        yield CheckFinding("note", "Not compared: what backward does to grad_output spoils every comparison.")
        return
    if "GRADIENT" in session.broken and not session.by_design:
        yield CheckFinding("note", "Not compared: the first derivative is not settled.")
        return
    analytical, error, claimed = _analytical(session)
    # The gradient is linear in grad_output: its derivative by grad_output is the first derivative itself.
    grad_outputs = {} if error or declared else _real_grad_outputs(session)
    for name in (*session.call.tensors, *grad_outputs):
        if name in session.wrong:
            continue
        numerical = _numerical(session, name, grad_outputs.get(name))
        found = analytical.get(name)
        off = numerical.differs(found) & (numerical.value.abs() < _KINK_SLOPE)
        if not bool(off.any()) or numerical.of_a_triangle(found):
            continue
        row = int(torch.where(off, numerical.value.abs(), -1.0).argmax())
        called = 0.0 if found is None else float(found.detach().reshape(-1)[row])
        is_ = format_number(second := float(numerical.value.reshape(-1)[row]))
        if declared:
            yield CheckFinding(
                "note", f"It would be {is_} for {name}; backward declares that there is none.", "", "", None
            )
        elif error:
            yield CheckFinding(
                "warning",  # a warning only: whoever needs it sees the exception
                f"The derivative of backward by {name} is {is_}, and asking for it raised {describe_exception(error)}.",
                "",
                "Add @once_differentiable, or compute in backward with torch's own operations.",
                session.source.line_of(error) or session.source.defined(*BACKWARD_METHODS),
            )
        else:
            yield CheckFinding(
                "error" if claimed and not session.by_design else "warning",
                f"Differentiate twice, and for {name} you get {format_number(called)} instead of {is_}"
                f"{describe_size(abs(called - second), second, of='that')}.",
                f"No error and no warning{'.' if called else ': what forward kept is a constant to autograd.'}",
                "Compute from saved inputs and outputs in backward, or add @once_differentiable.",
                _suspect(session),
            )
        return


def _suspect(session: CheckSession) -> int | None:
    """The line that puts an intermediate result on ctx, else the first line of backward."""
    forward = session.first.forward
    kept = next((each for each in forward.attributes if each.what != "input"), None) if forward else None
    return (session.source.kept(kept.name) if kept else None) or session.source.defined(*BACKWARD_METHODS)


def _analytical(session: CheckSession) -> tuple[dict[str, torch.Tensor | None], Exception | None, bool]:
    """The gradient of Σ cos(k) · gradient by autograd, where None stands for 0, what was raised instead, the claim.

    A second derivative is claimed by a backward that calls a Function, which states it, or by the op's declaration.
    """
    claimed = session.section.op.check == "SECOND-ORDER"
    try:
        ran = session.call.run()
        grad_outputs = {name: given.clone().requires_grad_() for name, given in session.first.grad_outputs.items()}
        first = ran.gradients(grad_outputs, create=True)
        tracked = [each for each in first.values() if each is not None and each.requires_grad]
        claimed |= bool({*function_nodes(tracked)} - {*function_nodes(ran.outputs.values())})
        if not tracked:
            return {}, None, claimed
        leaves = ran.given.leaves | {called: grad_outputs[name] for called, name in _real_grad_outputs(session).items()}
        found = pull_back(tracked, [*map(uneven, tracked)], leaves.values())
        return dict(zip(leaves, found, strict=True)), None, claimed
    except Exception as error:  # noqa: BLE001 a result
        return {}, error, claimed


def _real_grad_outputs(session: CheckSession) -> dict[str, str]:
    """The outputs with a real grad_output, by the name that messages give to it."""
    names = [name for name, given in session.first.grad_outputs.items() if not given.is_complex()]
    return {f"grad_output of {name}" if len(names) > 1 else "grad_output": name for name in names}


def _numerical(session: CheckSession, name: str, output: str | None) -> TensorSlopes:
    """The same by finite differences with respect to one input, or to the grad_output of one output."""
    given = session.first.grad_outputs

    def total(moved: torch.Tensor) -> float:
        call = session.call if output else session.call.holding({name: moved})
        found = call.gradients({**given, output: moved} if output else given)
        return sum(float((each.detach() * uneven(each)).sum()) for each in found.values() if each is not None)

    moved = given[output] if output else session.call.tensors[name]
    return slopes_of_function(total, moved, session.call.precision)


SECOND_ORDER_CHECKS = (_once_diff, _second_order)
