"""Checks of double backward: right, silently wrong, or forbidden by once_differentiable."""

from __future__ import annotations

from collections.abc import Iterator

import torch

from ...numerics.formatting.numbers import number
from ...runtime.failure import said
from ...runtime.once_differentiable import declares_once
from ..examination.call import Gradients, Tensors
from ..examination.function_lines import BACKWARD
from ..examination.probe import Found, Probe
from ..examination.references import DOUBLE, ONCE
from ..examination.session import Examined
from ..examination.slopes import Slopes, of_function

# A steeper slope of the gradient is taken for a kink.
_STEEP = 1e4


def once_diff(at: Examined) -> Iterator[Found]:
    """Check: backward is not decorated with once_differentiable."""
    if declares_once(at.function):
        yield Found(
            "note",
            "backward is decorated with once_differentiable: it must not be differentiated.",
            "Only backward() through the gradient raises; torch.autograd.grad with allow_unused returns zeros without "
            "a word.",
            "Take it off if second derivatives are wanted and backward is made of torch's own operations.",
            at.source.defined(*BACKWARD),
        )


def _second_order(at: Examined) -> Iterator[Found]:
    """Check: the gradient of the gradient equals finite differences of the gradient."""
    declared = declares_once(at.function)
    if at.broken & {"NONLINEAR", "GRADOUT-INPLACE"} and not at.by_design:
        yield Found("note", "Not compared: what backward does to grad_output spoils every comparison.")
        return
    if "GRADIENT" in at.broken and not at.by_design:
        yield Found("note", "Not compared: the first derivative is not settled.")
        return
    analytical, error = _analytical(at)
    weights = {
        name: torch.cos(torch.arange(1.0, 1 + t.numel(), dtype=torch.float64)).reshape(t.shape)
        for name, t in at.call.tensors.items()
    }
    # The gradient is linear in grad_output: its derivative by grad_output is the first derivative itself.
    handed = {} if error or declared else _handed(at)
    for name in (*at.call.tensors, *handed):
        numerical = _by_handed(at, handed[name], weights) if name in handed else _numerical(at, name, weights)
        found = analytical.get(name)
        off = numerical.differs(found) & (numerical.value.abs() < _STEEP)
        if not bool(off.any()) or numerical.of_a_triangle(found):
            continue
        row = int(torch.where(off, numerical.value.abs(), -1.0).argmax())
        called = 0.0 if found is None else float(found.detach().reshape(-1)[row])
        is_ = number(float(numerical.value.reshape(-1)[row]))
        if declared:
            yield Found("note", f"It would be {is_} for {name}; backward declares that there is none.", "", "", None)
        elif error:
            yield Found(
                "warning",  # a warning only: whoever needs it sees the exception
                f"The derivative of backward by {name} is {is_}, and asking for it raised {said(error)}.",
                "",
                "Add @once_differentiable, or compute in backward with torch's own operations.",
                at.source.line_of(error) or at.source.defined(*BACKWARD),
            )
        else:
            yield Found(
                "warning" if at.by_design else "error",
                f"By differences the second derivative for {name} is {is_}, and autograd says {number(called)}.",
                "No error and no warning: what forward kept is a constant to autograd."
                if not called
                else "No error and no warning.",
                "Compute from saved inputs and outputs in backward, or add @once_differentiable.",
                _suspect(at),
            )
        return


def _suspect(at: Examined) -> int | None:
    """The line that puts an intermediate result on ctx, else the first line of backward."""
    forward = at.first.forward
    kept = next((each for each in forward.attributes if each.what != "input"), None) if forward else None
    return (at.source.kept(kept.name) if kept else None) or at.source.defined(*BACKWARD)


def _analytical(at: Examined) -> tuple[dict[str, torch.Tensor | None], Exception | None]:
    """The gradient of Σ cos(k) · gradient by autograd, where None stands for 0, and what was raised instead."""
    try:
        ran = at.call.run()
        handed = {name: given.clone().requires_grad_() for name, given in at.first.grad_outputs.items()}
        first = ran.gradients(handed, create=True)
        terms = [
            (found.reshape(-1) * torch.cos(torch.arange(1.0, 1 + found.numel(), dtype=found.dtype))).sum()
            for found in first.values()
            if found is not None and found.requires_grad
        ]
        if not terms:
            return {}, None
        leaves = {**ran.given.leaves, **{called: handed[name] for called, name in _handed(at).items()}}
        found = torch.autograd.grad(sum(terms[1:], terms[0]), list(leaves.values()), allow_unused=True)
        return dict(zip(leaves, found, strict=True)), None
    except Exception as error:  # noqa: BLE001 a result
        return {}, error


def _handed(at: Examined) -> dict[str, str]:
    """The outputs with a real grad_output, by the name that messages give to it."""
    names = [name for name, given in at.first.grad_outputs.items() if not given.is_complex()]
    return {f"grad_output of {name}" if len(names) > 1 else "grad_output": name for name in names}


def _by_handed(at: Examined, name: str, weights: Tensors) -> Slopes:
    """The same by finite differences with respect to the grad_output of one output."""

    def total(moved: torch.Tensor) -> float:
        return _weighed(at.call.gradients({**at.first.grad_outputs, name: moved}), weights)

    return of_function(total, at.first.grad_outputs[name])


def _weighed(found: Gradients, weights: Tensors) -> float:
    return sum(float((each.detach() * weights[own]).sum()) for own, each in found.items() if each is not None)


def _numerical(at: Examined, name: str, weights: Tensors) -> Slopes:
    """The same by finite differences with respect to one input."""

    def total(moved: torch.Tensor) -> float:
        return _weighed(at.call.holding({name: moved}).gradients(at.first.grad_outputs), weights)

    return of_function(total, at.call.tensors[name])


SECOND = (
    Probe(
        "ONCE-DIFF", "Second derivatives declared impossible", ONCE, "once_differentiable is not used.", once_diff, ()
    ),
    Probe(
        "SECOND-ORDER",
        "Second derivatives",
        DOUBLE,
        "Autograd's second derivative is that of backward, or both are 0.",
        _second_order,
        ("backward", "steady"),
    ),
)
