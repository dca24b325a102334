"""Graph view: the autograd graph of one call, the contents of ctx, and the gradients through backward."""

from __future__ import annotations

import time
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from ..contract.examination.call import reseed
from ..graph_view.functions import Opened, opened
from ..graph_view.picture import pictured
from ..graph_view.text import sentence
from ..graph_view.trace import Traced, traced
from ..numerics.diagnosis.unused_saved import tried_saved
from ..numerics.jacobian.jacobian import held
from ..protocol.question import Question
from ..runtime.rng import undisturbed
from ..runtime.section import Section
from .columns import Columns
from .common import grid

# Time limits of a call in seconds: for testing which saved tensors are used, which takes many calls, and for a second
# call where the first was slow.
QUICK, _SLOW = 0.02, 1.0
# How many arguments, outputs and saved tensors of a Function are listed.
LISTED, LISTS = 24, ("arguments", "outputs", "saved")


def look(section: Section, question: Question) -> tuple[dict[str, Any], Columns]:
    """The document: the graph of a call at ``question.at``, by default the held value. Raises ``FunctionFailed``."""
    asked = held(section) if question.at is None else question.at
    place = float(section.snap(np.array([asked]))[0])
    with undisturbed():
        call, spent = _traced(section, place, question.grad_output)
        if QUICK <= spent < _SLOW:
            call, spent = _traced(section, place, question.grad_output)  # without the lazy imports of the first
        quick = spent < QUICK
        functions = opened(call, tried_saved(section, grid(question).points()) if quick else ())
    picture = pictured(call)
    return {
        "sentence": sentence(call, functions),
        "at": place,
        "vertices": [asdict(each) for each in picture.vertices],
        "edges": [asdict(each) for each in picture.edges],
        "more": picture.more,
        "functions": [_listed(each) for each in functions],
        "failure": asdict(call.failure) if call.failure else None,
    }, {}


def _listed(one: Opened) -> dict[str, Any]:
    """A Function with its lists truncated, and how many entries were left out."""
    whole = {name: getattr(one, name) for name in LISTS}
    first = replace(one, **{name: found[:LISTED] for name, found in whole.items()})
    return asdict(first) | {"more": {name: max(0, len(found) - LISTED) for name, found in whole.items()}}


def _traced(section: Section, place: float, grad_output: float) -> tuple[Traced, float]:
    """The trace of a call, and how many seconds it took."""
    reseed()
    begun = time.perf_counter()
    return traced(section, place, grad_output), time.perf_counter() - begun
