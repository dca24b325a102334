"""What backward returned for each argument of forward, beside what the engine delivered."""

from __future__ import annotations

import torch

from ..runtime.recorder import dtype_of
from .examination.probe import Raw, shape_of
from .examination.session import Examined


def raw(at: Examined) -> tuple[Raw, ...]:
    """What backward returned for each argument of forward, beside what was delivered."""
    rows, tensors = [], 0
    delivered = at.first.delivered
    for place, argument, value in at.first.pairs:
        reached = None
        if isinstance(argument, torch.Tensor):
            reached = delivered[tensors] if tensors < len(delivered) else None
            tensors += 1
        is_tensor, asked = isinstance(value, torch.Tensor), isinstance(argument, torch.Tensor)
        rows.append(
            Raw(
                at.first.record.name(place),
                shape_of(argument.shape) if isinstance(argument, torch.Tensor) else "",
                shape_of(value.shape) if is_tensor else "None" if value is None else type(value).__name__,
                dtype_of(value) if is_tensor else "",
                "" if at.first.failed or not asked else "zeros" if reached is None else shape_of(reached.shape),
                dtype_of(reached) if reached is not None else "",
            )
        )
    return tuple(rows)
