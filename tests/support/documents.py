"""The documents of the API: whether one is of its type, and what one without results says."""

import warnings
from types import new_class
from typing import Any

from pydantic import ConfigDict, TypeAdapter

from gradloupe.server.protocol.answer import empty_answer
from gradloupe.server.protocol.question import Element, Question
from gradloupe.server.protocol.views import VIEWS
from gradloupe.server.schema.section import AskedRecord
from support.answers import asked

_OF_QUESTION = {"step": ("at",), "node": ("at",), "surface": ("wrt2", "start2", "stop2")}


def _document_type(header: type[Any]) -> type[Any]:
    members = {"address": str, "columns": dict[str, list[float | str | None] | None]}
    return new_class(header.__name__, (header,), exec_body=lambda body: body.update(__annotations__=members))


with warnings.catch_warnings():
    warnings.simplefilter("ignore", UserWarning)  # that a dictionary is not kept from being changed
    _EXACT: dict[str, TypeAdapter[Any]] = {  # of lists: those have no configuration of their own
        view: TypeAdapter(list[_document_type(row.header)], config=ConfigDict(extra="forbid"))  # type: ignore[misc]
        for view, row in VIEWS.items()
    }


def validate(document: dict[str, Any], view: str) -> None:
    """Raise ``ValidationError`` where a document lacks a member of its type, or has another one; or lacks columns."""
    _EXACT[view].validate_python([document])
    columns, row = document["columns"], VIEWS[view]
    assert {*row.columns} <= {*columns}
    assert not [name for name in row.columns if columns[name] is None and name not in row.optional]


def without_results(view: str, sentence: str, failure: Any) -> dict[str, Any]:
    """The members of a document that say what was found, where that is nothing."""
    question = Question("", Element(""), Element(""), -1.0, 1.0, view=view)
    header = empty_answer(question, asked(question), sentence, failure)
    repeated = {*AskedRecord.__annotations__, *_OF_QUESTION.get(view, ())}
    return {name: value for name, value in header.items() if name not in repeated}
