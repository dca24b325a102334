"""How long a copy takes, so that no more is asked of a Function than there is time for."""

from __future__ import annotations

from .laps import quickest
from .stacked_inputs import Copies

# What a copy costs of a call of its own, where they are stacked.
SHARED = 0.2


def seconds(copies: Copies, enough: float) -> float:
    """What one more copy takes, about: the quickest of several calls of one alone. Raises ``FunctionFailed``.

    With ``enough`` seconds a copy all that is asked for can be had.
    """
    share = SHARED if copies.stacked else 1.0
    return quickest(lambda: copies.forward(copies.repeated(1)), enough / share) * share
