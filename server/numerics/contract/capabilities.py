"""What else of torch a Function works with: one badge each, and the reason in a sentence."""

from __future__ import annotations

import warnings

import numpy as np

from ..section import Section
from .badge import Badge
from .call import Call
from .capabilities_compile import compiling
from .capabilities_numbers import autocast, complex_numbers, half
from .capabilities_transforms import func_grad, jvp, vmap

__all__ = ["Badge", "badges"]


@np.errstate(all="ignore")
def badges(section: Section, call: Call, compiled: bool = False) -> tuple[Badge, ...]:
    """All badges of a working ``call``. Raises nothing that the Function raises.

    torch.compile takes seconds, and is tried where ``compiled`` says so. ``section`` is what complex numbers are tried
    on.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return (
            vmap(call),
            jvp(call),
            func_grad(call),
            compiling(call, compiled),
            autocast(call),
            complex_numbers(section),
            half(call),
        )
