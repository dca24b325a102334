"""The JSON schemas of the description of the API, generated from the types of what is sent."""

import warnings
from types import new_class
from typing import Any

from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema

from ..protocol.views import VIEWS, View
from ..schema.page import PagePanelRecord, PageSectionRecord
from ..schema.section import HealthRecord, NumberColumn, ProblemRecord, SizeRecord
from .openapi import component_name

_TEMPLATE = "#/components/schemas/{model}"


class ComponentNames(GenerateJsonSchema):
    """Generates JSON schemas whose definitions bear the published names."""

    def normalize_name(self, name: str) -> str:
        """The key of a definition, and the last part of every ``$ref`` to it."""
        return component_name(super().normalize_name(name))


def document_type(view: View) -> type[Any]:
    """The type of the JSON document of a view: its header, canonical address and columns."""
    columns = dict[str, NumberColumn] if view.more else view.columns
    members = {
        "__annotations__": {"address": str, "columns": columns},
        "__doc__": view.header.__doc__,
        "__module__": __name__,
    }
    return new_class(view.header.__name__, (view.header,), exec_body=lambda body: body.update(members))


def response_schemas() -> dict[str, Any]:
    """The JSON schemas that the responses refer to, by name."""
    schemas = dict[str, Any]()
    documents = map(document_type, VIEWS.values())
    for sent in (HealthRecord, ProblemRecord, SizeRecord, *documents, PageSectionRecord, PagePanelRecord):
        with warnings.catch_warnings():  # that nothing keeps a dictionary from being changed where a type is ReadOnly
            warnings.simplefilter("ignore", UserWarning)
            adapter: TypeAdapter[Any] = TypeAdapter(sent)
        schema = adapter.json_schema(ref_template=_TEMPLATE, mode="serialization", schema_generator=ComponentNames)
        named = schema.pop("$defs", {}) | {component_name(sent.__name__): schema}
        schemas = merge_schemas(schemas, {name: each | {"title": name} for name, each in named.items()})
    return schemas


def merge_schemas(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    """The union of schemas by name; raises ``ValueError`` where two different ones have the same name."""
    clash = sorted(name for name in one.keys() & other.keys() if one[name] != other[name])
    if clash:
        raise ValueError(f"Two schemas have the name {clash[0]!r}: rename one of the classes.")
    return one | other
