"""What the worker answers, of the ops of the gallery and of any other, in this process."""

from typing import Any

from gradloupe.ops import OPS, Op
from gradloupe.server.catalogue.op_description import default_elements, measured_shapes, parse_element
from gradloupe.server.protocol.answer import asked_record
from gradloupe.server.protocol.question import Question
from gradloupe.server.worker import answer as door


def asked(question: Question) -> Any:
    """What the header of an answer repeats of a question."""
    return asked_record(question, "", "exact", {"kind": "cpu", "name": ""})


def answer(question: Question) -> tuple[Any, dict[str, Any]]:
    """What the worker of the gallery answers."""
    return door.answer_question(question, OPS[question.op])


def document(
    op: Op | str, view: str, start: float = -3.0, stop: float = 3.0, wrt: str = "", of: str = "", **asked: Any
) -> tuple[Any, dict[str, Any]]:
    """The header and the columns of a view of any op, of its first elements unless others are named.

    What else is asked are values of its inputs and parameters, and words of a question.
    """
    op = OPS[op] if isinstance(op, str) else op
    if not (wrt and of):
        first_wrt, first_of = map(str, default_elements(op, measured_shapes(op)))
    inputs, parameters = (
        {each.name: asked.pop(each.name) for each in given if each.name in asked}
        for given in (op.inputs, op.parameters)
    )
    swept, looked_at = parse_element(wrt or first_wrt), parse_element(of or first_of)
    question = Question(
        "a test", swept, looked_at, start, stop, view=view, inputs=inputs, parameters=parameters, **asked
    )
    return door.answer_question(question, op)
