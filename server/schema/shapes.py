"""The answer of each view by its name: the type of its header, and that of its columns."""

from __future__ import annotations

from typing import Any, NamedTuple

from . import jacobian, node, section, surface, views

AnswerRecord = (
    section.SectionRecord
    | views.AreaRecord
    | views.MapRecord
    | views.PrecisionRecord
    | views.WideRecord
    | views.StepRecord
    | jacobian.JacobianRecord
    | surface.SurfaceRecord
    | views.ContractRecord
    | node.NodeRecord
    | views.DescentRecord
)


class AnswerShape(NamedTuple):
    """The types of a header and of its columns; ``more`` where an answer has further columns, of numbers."""

    header: type[Any]
    columns: type[Any]
    more: bool = False


SHAPES = {
    "curves": AnswerShape(section.SectionRecord, section.ColumnsRecord),
    "area": AnswerShape(views.AreaRecord, views.AreaColumnsRecord),
    "map": AnswerShape(views.MapRecord, views.MapColumnsRecord),
    "precision": AnswerShape(views.PrecisionRecord, views.PrecisionColumnsRecord, more=True),
    "wide": AnswerShape(views.WideRecord, views.WideColumnsRecord),
    "step": AnswerShape(views.StepRecord, views.StepColumnsRecord),
    "jacobian": AnswerShape(jacobian.JacobianRecord, jacobian.JacobianColumnsRecord),
    "surface": AnswerShape(surface.SurfaceRecord, surface.SurfaceColumnsRecord),
    "contract": AnswerShape(views.ContractRecord, views.ContractColumnsRecord),
    "node": AnswerShape(node.NodeRecord, node.NodeColumnsRecord),
    "descent": AnswerShape(views.DescentRecord, views.DescentColumnsRecord, more=True),
}


def component_name(name: str) -> str:
    """The name in the description of the API of a type with this name."""
    return name.removesuffix("Record")
