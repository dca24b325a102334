"""Graph view: the autograd graph of one call, the contents of ctx, and the gradients through backward."""

from __future__ import annotations

import time
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from ..contract.examination.call import reset_seeds
from ..graph_view.functions import TracedFunction, traced_functions
from ..graph_view.picture import draw_graph
from ..graph_view.text import graph_sentence
from ..graph_view.trace import GraphTrace, trace_call
from ..numerics.diagnosis.unused_saved import saved_tensor_usage
from ..numerics.jacobian.jacobian import held_value
from ..protocol.question import Question
from ..runtime.rng import preserve_rng
from ..runtime.section import Section
from .common import ViewDocument, failure_document, question_grid

# Time limits of a call in seconds: for testing which saved tensors are used, which takes many calls, and for a second
# call where the first was slow.
_QUICK, _SLOW = 0.02, 1.0
# How many arguments, outputs and saved tensors of a Function are listed.
LIST_LIMIT, TRUNCATED_LISTS = 24, ("arguments", "outputs", "saved")


def graph_node_view(section: Section, question: Question) -> ViewDocument:
    """The document: the graph of a call at ``question.at``, by default the held value. Raises ``FunctionFailed``."""
    requested = held_value(section) if question.at is None else question.at
    place = float(section.snap(np.array([requested]))[0])
    with preserve_rng():
        call, seconds = _traced(section, place, question.grad_output)
        if _QUICK <= seconds < _SLOW:
            call, seconds = _traced(section, place, question.grad_output)  # without the lazy imports of the first
        quick = seconds < _QUICK
        functions = traced_functions(
            call, saved_tensor_usage(section, question_grid(question).points()) if quick else ()
        )
    picture = draw_graph(call)
    return {
        "sentence": graph_sentence(call, functions),
        "at": place,
        "vertices": [asdict(each) for each in picture.vertices],
        "edges": [asdict(each) for each in picture.edges],
        "more": picture.more,
        "functions": [_truncated(each) for each in functions],
        "failure": failure_document(call.failure),
    }, {}


def _truncated(one: TracedFunction) -> dict[str, Any]:
    """A Function with its lists truncated, and how many entries were left out."""
    lists = {name: getattr(one, name) for name in TRUNCATED_LISTS}
    first = replace(one, **{name: entries[:LIST_LIMIT] for name, entries in lists.items()})
    return asdict(first) | {"more": {name: max(0, len(entries) - LIST_LIMIT) for name, entries in lists.items()}}


def _traced(section: Section, place: float, grad_output: float) -> tuple[GraphTrace, float]:
    """The trace of a call, and how many seconds it took."""
    reset_seeds()
    begun = time.perf_counter()
    return trace_call(section, place, grad_output), time.perf_counter() - begun
