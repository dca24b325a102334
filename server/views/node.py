"""The node, opened: the graph around one call, and what stands on either side of its backward."""

from __future__ import annotations

import time
from dataclasses import asdict
from typing import Any

import numpy as np

from ..columns import Columns
from ..numerics.contract.call import reseed
from ..numerics.contract.randomness import undisturbed
from ..numerics.node.opened import opened
from ..numerics.node.picture import pictured
from ..numerics.node.sentence import sentence
from ..numerics.node.traced import Traced, traced
from ..numerics.saved import tried_saved
from ..numerics.section import Section
from ..question import Question
from .looked import grid

# Seconds that a call may take if what it has saved is to be tried, for which there are many, or if it is made again.
QUICK, SLOW = 0.02, 1.0


def look(section: Section, question: Question) -> tuple[dict[str, Any], Columns]:
    """The graph of one call at ``question.place``. Raises ``FunctionFailed`` where forward does."""
    place = float(section.snap(np.array([question.place]))[0])
    with undisturbed():
        call, spent = _traced(section, place, question.grad_output)
        if QUICK <= spent < SLOW:
            call, spent = _traced(section, place, question.grad_output)  # without what is loaded for the first
        quick = spent < QUICK
        functions = opened(call, tried_saved(section, grid(question).points()) if quick else ())
    picture = pictured(call)
    return {
        "sentence": sentence(call, functions),
        "at": place,
        "vertices": [asdict(each) for each in picture.vertices],
        "edges": [asdict(each) for each in picture.edges],
        "more": picture.more,
        "functions": [asdict(each) for each in functions],
        "failure": asdict(call.failure) if call.failure else None,
    }, {}


def _traced(section: Section, place: float, grad_output: float) -> tuple[Traced, float]:
    """The call, and how many seconds it took."""
    reseed()
    begun = time.perf_counter()
    return traced(section, place, grad_output), time.perf_counter() - begun
