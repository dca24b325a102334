"""Gradients of the declared surrogate at the inputs of the call: a finding that the surrogate explains is no error."""

from __future__ import annotations

from collections.abc import Callable

import torch

from ..examination.call import GradientsByName, TensorsByName
from ..examination.session import CheckSession, gradients_close

SURROGATE_SENTENCE = "Its surrogate declares so."
# sample: the values of grad_output at which a surrogate that depends on it is compared.
_GRAD_OUTPUTS = (1.0, -1.0, 2.0**8, -(2.0**8), 2.0**-8, 0.0)


def _surrogate_gradients(session: CheckSession, grad_outputs: TensorsByName) -> GradientsByName | None:
    """The gradients of the surrogate; None if there is none, or it cannot be evaluated.

    One that depends on ``grad_output`` can be evaluated only if all elements of that are the same number.
    """
    op = session.section.op
    sizes = {size for each in grad_outputs.values() for size in each.reshape(-1).tolist()}
    if op.surrogate is None or (op.follows_sign and len(sizes) != 1):
        return None
    by_input = {name: op.surrogate_for(name, next(iter(sizes))) for name in session.call.tensors}
    try:
        known = {each: _gradients_through(session, each, grad_outputs) for each in set(by_input.values()) if each}
    except Exception:  # noqa: BLE001 the curves report what a surrogate raises
        return None
    return {name: known[each].get(name) for name, each in by_input.items() if each}


def _gradients_through(
    session: CheckSession, surrogate: Callable[..., torch.Tensor], grad_outputs: TensorsByName
) -> GradientsByName:
    call = session.call.through(surrogate)
    # A constant has no graph, and the gradient 0.
    return call.gradients(grad_outputs) if call.run().moved else dict.fromkeys(call.tensors)


def surrogate_explains(
    session: CheckSession, name: str, found: torch.Tensor | None, grad_outputs: TensorsByName | None = None
) -> bool:
    """Whether this gradient of one tensor is the one that the surrogate declares, or that cannot be evaluated."""
    if not session.by_design:
        return False
    declared = _surrogate_gradients(session, session.first.grad_outputs if grad_outputs is None else grad_outputs)
    return declared is None or gradients_close(found, declared.get(name))


def follows_surrogate(session: CheckSession) -> bool:
    """Whether the surrogate depends on ``grad_output``, and backward returns its gradient for every value tried."""
    if not session.section.op.follows_sign:
        return False
    for size in _GRAD_OUTPUTS:
        given = {name: torch.full_like(each, size) for name, each in session.first.grad_outputs.items()}
        declared, found = _surrogate_gradients(session, given), session.gradients(given)
        if declared is None or not all(gradients_close(found[name], declared[name]) for name in found):
            return False
    return True
