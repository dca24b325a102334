"""How a tensor is filled: by what it is called, and by what is done with it."""

from __future__ import annotations

from . import words
from .evidence import Evidence
from .recipe import Fill


def filling(known: Evidence, shape: tuple[int, ...]) -> Fill | None:
    """The fill of a floating tensor that does not stand first; None where nothing speaks for one."""
    name = known.name.lower()
    if words.vanishing(name, known.used):
        return "tiny"
    if known.few and shape == (2,):
        return "rising"
    if len(shape) < 2 and words.LOWER.search(name):
        return "negative"
    bounds = len(shape) < 2 and words.UPPER.search(name)
    return "positive" if bounds or words.POSITIVE.search(name) else None
