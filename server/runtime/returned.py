"""What a section's backward returned."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .arrays import Array


@dataclass(frozen=True)
class Returned:
    """What a section's backward returned: the output element and its ``grad_input`` at every point.

    ``grad_input`` is None for a parameter, or where the output carries no gradient. ``none`` says that
    backward returned None, which autograd treats as the zeros that stand in ``grad_input``.
    """

    values: Array
    grad_input: Array | None
    none: bool


def joined(parts: Sequence[Returned]) -> Returned:
    """All of it, where some points were asked after others; NaN for those that alone carry no gradient."""
    if len(parts) == 1:
        return parts[0]
    gradients = [np.full(each.values.size, np.nan) if each.grad_input is None else each.grad_input for each in parts]
    return Returned(
        np.concatenate([each.values for each in parts]),
        np.concatenate(gradients) if any(each.grad_input is not None for each in parts) else None,
        any(each.none for each in parts),
    )
