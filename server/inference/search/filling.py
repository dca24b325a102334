"""How a tensor is filled: by what it is called, and by what is done with it."""

from __future__ import annotations

import math

from ..recipe.recipe import Fill
from ..recipe.values import HIGH, LOW
from ..source import name_hints
from ..source.evidence import Evidence

# What is not normal: of some numbers one is larger.
LARGE = 2.0


def filling(known: Evidence, shape: tuple[int, ...]) -> Fill | None:
    """The fill of a floating tensor that does not stand first; None where nothing speaks for one."""
    name = known.name.lower()
    if name_hints.vanishing(name, known.used):
        return "tiny"
    if known.few and shape == (2,):
        return "rising"
    if len(shape) < 2 and name_hints.LOWER.search(name) and not name_hints.POSITIVE.search(name):
        return "negative"
    bounds = len(shape) < 2 and name_hints.UPPER.search(name)
    return "positive" if bounds or known.step or name_hints.POSITIVE.search(name) else None


def asked(known: Evidence) -> Fill | None:
    """The fill that keeps the bounds that are asked for of the numbers; None where any number does."""
    low, high = -math.inf if known.low is None else known.low, math.inf if known.high is None else known.high
    if (low <= LOW and HIGH <= high < LARGE) or (0 <= low <= LOW and high >= HIGH):
        return "positive"
    return "negative" if low <= -HIGH and -LOW <= high <= 0 else None
