"""The OpenAPI description: query parameters, responses and schemas of the routes."""

import warnings
from collections.abc import Iterable, Sequence
from typing import Any, Literal

from pydantic import TypeAdapter

from ..protocol.listed import listed
from ..protocol.parameter_kinds import SMALLEST, Kind, Number, QueryParameter, Switch, WordChoice
from ..protocol.views import VIEWS
from ..schema.page import PagePanelRecord, PageSectionRecord
from ..schema.section import HealthRecord, ProblemRecord, SectionDocument
from ..schema.views import LookDocument
from ..url.address import PARAMETERS
from ..url.representations import PICTURES, REPRESENTATIONS


def _prose(document: type[Any]) -> str:
    """What the docstring of a type says, as Markdown on one line."""
    return " ".join((document.__doc__ or "").replace("``", "`").split())


_DOCUMENTS = (HealthRecord, ProblemRecord, SectionDocument, LookDocument, PageSectionRecord, PagePanelRecord)
_SENT: Literal["serialization"] = "serialization"
_COMPONENTS = "#/components/schemas/"
_ENDINGS = ",\n".join(f"- `.{ending}`: {shown.gist}" for ending, shown in REPRESENTATIONS.items() if shown.gist)
_VIEWS = "\n".join(f"- `{each.name}`: {_prose(each.header)}" for each in VIEWS.values())
_PAIR_PICTURES = listed([f"`/compare.{ending}`" for ending in PICTURES])
API_DESCRIPTION = f"""\
One address, many representations. `/ops/{{name}}` is the page of an op; the same address with an ending is

{_ENDINGS}.

`/embed/{{name}}` is for the frame of another page. All state is in the query. Beside the names below, the query may set
every **parameter** of the op (`min=-1`, a switch as `true` or `false`). It may also hold every **input** at values
(`weight=1,2,3;-1,0.5,2`, flattened row by row). The page of the op shows the names.

A section has several `view`s, and each is a document of its own, with a `sentence` on what it found beside what was
asked, and with `columns`:

{_VIEWS}

With `order=2` what backward returned is looked at instead of forward, and the second derivative instead of the first.
`/compare` shows two ops over one range, side by side; {_PAIR_PICTURES} are its picture.

`POST /play.json` takes code in the place of a name.

What is left out has its default. A name that is unknown, given twice or out of bounds is refused in one sentence, and
so is what this representation cannot show. A Function that raises, crashes or never returns is a result (200, see
`failure`), not an error.
"""


def _schema(parameter: QueryParameter) -> dict[str, Any]:
    schema = _kind_schema(parameter.kind)
    if parameter.default not in (None, "", ()):
        schema["default"] = str(parameter.default) if schema["type"] == "string" else parameter.default
    if parameter.optional and schema["type"] != "string":
        return {"anyOf": [schema, {"type": "string", "maxLength": 0}]}  # an empty text stands for the default
    return schema


def _kind_schema(kind: Kind) -> dict[str, Any]:
    match kind:
        case Number(minimum, maximum, whole):
            bound = {"exclusiveMinimum": 0} if minimum == SMALLEST else {"minimum": minimum}
            return {"type": "integer" if whole else "number", **bound, "maximum": maximum}
        case WordChoice(words):
            return {"type": "string", "enum": [*map(str, words)]}
        case Switch():
            return {"type": "boolean"}
    return {"type": "string"}


def query_parameter(name: str, schema: dict[str, Any], description: str, required: bool = False) -> dict[str, Any]:
    """A parameter of a query."""
    return {"name": name, "in": "query", "required": required, "schema": schema, "description": description}


QUERY_PARAMETERS = [query_parameter(each.name, _schema(each), each.doc) for each in PARAMETERS.values()]
NAME_PARAMETER = {
    "name": "name",
    "in": "path",
    "required": True,
    "schema": {"type": "string"},
    "description": "the op, as in the address of its page",
    "examples": {"clamp": {"value": "clamp_with_grad"}},
}
_WAIT = {"type": "string", "enum": ["0", "1"], "default": "0"}
HEALTH_PARAMETERS = [
    query_parameter("wait", _WAIT, "`1`: answer when torch is loaded, not before"),
    query_parameter("ready", {"type": "string", "enum": ["1"]}, "`1`: answer at once, with 503 while torch is loading"),
]
_STATUS_TEXTS = {
    403: "The server may not run code, or another site asks.",
    404: "There is no such op.",
    413: "The text is too long.",
    414: "The query is too long.",
    415: "The body is no JSON.",
    422: "The query asks for something that does not exist.",
    501: "There is no such format.",
    503: "Too much to do, or the ops could not be loaded.",
}


def response_schemas() -> dict[str, Any]:
    """The JSON schemas that the responses refer to, by name."""
    with warnings.catch_warnings():  # that nothing keeps a dictionary from being changed where a type is ReadOnly
        warnings.simplefilter("ignore", UserWarning)
        adapters = {each.__name__: TypeAdapter[Any](each) for each in _DOCUMENTS}
    sent = ((name, _SENT, adapter) for name, adapter in adapters.items())
    return TypeAdapter.json_schemas(sent, ref_template=f"{_COMPONENTS}{{model}}")[1]["$defs"]


def json_response(document: type) -> dict[str, Any]:
    """A 200 response with JSON of this type."""
    return _measured(_reference(document))


def view_responses(curves: type, others: type, names: Iterable[str]) -> dict[str, Any]:
    """A 200 response with JSON of one of these types, by its ``view``; others than the curves have these ``names``."""
    references = [_reference(curves), _reference(others)]
    mapping = {"curves": references[0]["$ref"]} | dict.fromkeys(names, references[1]["$ref"])
    return _measured({"oneOf": references, "discriminator": {"propertyName": "view", "mapping": mapping}})


def _measured(schema: dict[str, Any]) -> dict[str, Any]:
    return {"description": "Measured.", "content": {"application/json": {"schema": schema}}}


_TEXT = {"type": "string"}
EDIT_BODY = {
    "required": True,
    "content": {
        "application/json": {
            "schema": {
                "type": "object",
                "properties": dict.fromkeys(("text", "name", "query"), _TEXT),
                "required": ["text"],
                "additionalProperties": False,
            },
        }
    },
}


def edit_response(results: Sequence[str], document: dict[str, Any]) -> dict[str, Any]:
    """A 200 response with one of these results of a text, and where it could be run the document of this response."""
    nothing = {"type": "null"}
    properties = {
        "result": {"type": "string", "enum": results},
        "sentence": _TEXT,
        "line": {"anyOf": [{"type": "integer"}, nothing]},
        "functions": {"type": "array", "items": _TEXT},
        "name": _TEXT,
        "document": {"anyOf": [document["content"]["application/json"]["schema"], nothing]},
    }
    required = [name for name in properties if name != "name"]  # a text that cannot be run has none
    return _measured({"type": "object", "properties": properties, "required": required})


def content_response(media_type: str) -> dict[str, Any]:
    """A 200 response with a text, an object, or a picture."""
    if not media_type.startswith(("image/", "application/pdf")):
        kind = "object" if media_type == "application/json" else "string"
        return {"content": {media_type: {"schema": {"type": kind}}}}
    return {"description": "Drawn.", "content": {media_type: {"schema": {"type": "string", "format": "binary"}}}}


def problem_responses(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Error responses with these statuses, each ``application/problem+json``."""
    content = {"application/problem+json": {"schema": _reference(ProblemRecord)}}
    return {status: {"description": _STATUS_TEXTS[status], "content": content} for status in statuses}


def page_responses(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Error responses with these statuses, each an HTML page or ``application/problem+json``."""
    page = {"text/html": {"schema": {"type": "string"}}}
    problems = problem_responses(*statuses).items()
    return {status: {**problem, "content": page | problem["content"]} for status, problem in problems}


def _reference(document: type) -> dict[str, str]:
    return {"$ref": f"{_COMPONENTS}{document.__name__}"}
