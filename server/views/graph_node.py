"""Graph view: the autograd graph of one call, the contents of ctx, and the gradients through backward."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from ..contract.examination.call import reset_seeds
from ..graph_view.functions import TracedFunction, traced_functions
from ..graph_view.picture import draw_graph
from ..graph_view.text import graph_sentence
from ..graph_view.trace import trace_call
from ..numerics.diagnosis.unused_saved import saved_tensor_usage
from ..protocol.question import Question
from ..runtime.arrays import Array
from ..runtime.call_cost import estimated_seconds
from ..runtime.failure import FunctionFailed
from ..runtime.rng import preserve_rng
from ..runtime.section import Section
from ..schema.section import AskedRecord
from ..schema.views import Sent
from .common import ViewAnswer, question_grid, sent, view_answer

# The seconds that a call may take for it to be tested which saved tensors are used, which takes many calls.
_QUICK = 0.02
# How many arguments, outputs and saved tensors of a Function are listed.
LIST_LIMIT, TRUNCATED_LISTS = 24, ("arguments", "outputs", "saved")


def graph_node_view(section: Section, question: Question, asked: AskedRecord) -> ViewAnswer:
    """The document: the graph of a call at ``question.at``, by default the held value. Raises ``FunctionFailed``."""
    requested = section.held if question.at is None else question.at
    place = float(section.snap(np.array([requested]))[0])
    with preserve_rng():
        reset_seeds()
        call = trace_call(section, place, question.grad_output)
        quick = _is_quick(section, np.array([place]), question.grad_output)
        usage = saved_tensor_usage(section, question_grid(question).points()) if quick else ()
        functions = traced_functions(call, usage)
    picture = draw_graph(call)
    return view_answer(
        asked,
        picture,
        sentence=graph_sentence(call, functions),
        at=place,
        functions=[_truncated(each) for each in functions],
        failure=call.failure,
    )


def _truncated(one: TracedFunction) -> Sent:
    """A Function with its lists truncated, and how many entries were left out."""
    lists = {name: getattr(one, name) for name in TRUNCATED_LISTS}
    first = replace(one, **{name: entries[:LIST_LIMIT] for name, entries in lists.items()})
    more = {name: max(0, len(entries) - LIST_LIMIT) for name, entries in lists.items()}
    return sent(first, more=more)


def _is_quick(section: Section, place: Array, grad_output: float) -> bool:
    """Whether there is time for many calls."""
    try:
        return estimated_seconds(partial(section.backward, place, grad_output)) < _QUICK
    except FunctionFailed:
        return True
