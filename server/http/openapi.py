"""The OpenAPI description: query parameters, responses and schemas of the routes."""

from __future__ import annotations

from typing import Any

from ..protocol.question import DEFAULT_COUNT, VIEW_NAMES
from ..url.address import HIDEABLE_PARTS, LAYOUTS, THEMES
from ..url.numbers import LARGEST
from ..url.parse import COUNT_BOUNDS, HEIGHT_BOUNDS, LARGEST_OF_DTYPE, ORDERS, STEPS_BOUNDS, WIDTH_BOUNDS

API_DESCRIPTION = """\
One address, many representations: `/ops/{name}` is the page of an op, the same address with `.json` its numbers and
with `.csv` its table, with `.svg` and `.png` its picture, with `.html` one file that works offline; `/embed/{name}` is
for the frame of another page. All state is in the query. Beside the names below, every **parameter** of the op
(`min=-1`, a switch as `true` or `false`) and every **input** by the values it is held at
(`weight=1,2,3;-1,0.5,2`, flattened row by row) is a name of the query; the page of the op shows them.
One look at a section has several `view`s, and each is a document of its own: the `curves` and the verdict; `area`, what
forward rises by between neighbouring x against the area under what backward returned; `map`, what backward returns for
many `grad_output`; `precision`, the dtypes and devices side by side; `wide`, all numbers that the dtype can hold;
`step`, the differences `at` one x with steps of every size; `surface`, two elements swept at once, `wrt` and `wrt2`, in
101 × 101 points at most, and whether what backward returned is the gradient of a function; `jacobian`, every element of
one output by every element of one input, and which input reaches which output; `contract`, what autograd expects of a
Function and is quiet about, row by row; `node`, the graph around one call and what its ctx holds; `descent`, gradient
descent on a loss of the output, by what backward returned and by the numerical gradient.
With `order=2` what backward returned stands in the place of forward, and the second derivative in that of the first;
`/compare` shows two ops over one range, side by side.
What is left out has its default. What is unknown, doubled or out of bounds is refused in one sentence.

A Function that raises, crashes or never returns is a result (200, see `failure`), not an error.
"""

FINITE = {"type": "number", "minimum": -LARGEST, "maximum": LARGEST}
_POSITIVE = {"type": "number", "exclusiveMinimum": 0, "maximum": LARGEST}
NOT_NEGATIVE = {"type": "number", "minimum": 0, "maximum": LARGEST}


def _or_empty(number: dict[str, Any]) -> dict[str, Any]:
    """A number, or an empty text for the default."""
    return {"anyOf": [number, {"type": "string", "maxLength": 0}]}


def _pixels(bounds: tuple[int, int]) -> dict[str, Any]:
    return {"type": "integer", "minimum": bounds[0], "maximum": bounds[1]}


_PARAMETERS: dict[str, tuple[dict[str, Any], str]] = {
    "wrt": ({"type": "string"}, "the element swept: `input`, `weight[0,1]`, or the name of a float parameter"),
    "of": ({"type": "string"}, "the output element looked at: `y`, `y[0,1]`"),
    "start": (_or_empty(FINITE), "the first x; by default the domain of what is swept"),
    "stop": (_or_empty(FINITE), "the last x; above `start`"),
    "count": (
        {"type": "integer", "minimum": COUNT_BOUNDS[0], "maximum": COUNT_BOUNDS[1], "default": DEFAULT_COUNT},
        "how many x",
    ),
    "grad_output": ({**FINITE, "default": 1}, "the cotangent that backward is given"),
    "order": (
        {"type": "string", "enum": list(ORDERS), "default": ORDERS[0]},
        "`2` looks at what backward returns in the place of forward, and at the second derivative",
    ),
    "dtype": (
        {"type": "string", "enum": list(LARGEST_OF_DTYPE), "default": "float64"},
        "what the Function computes in",
    ),
    "device": ({"type": "string", "default": "auto"}, "`auto`, or one of this machine: `cpu`, `cuda`, `mps`"),
    "step": (_or_empty(_POSITIVE), "the widest difference; chosen from the range by default"),
    "atol": (_or_empty(NOT_NEGATIVE), "absolute tolerance; chosen from the dtype by default"),
    "rtol": (_or_empty(NOT_NEGATIVE), "relative tolerance; chosen from the dtype by default"),
    "layout": ({"type": "string", "enum": list(LAYOUTS), "default": LAYOUTS[0]}, "how the page lays out its panels"),
    "theme": ({"type": "string", "enum": list(THEMES), "default": THEMES[0]}, "`auto` follows the system"),
    "hide": ({"type": "string"}, f"what is left out, separated by commas: {', '.join(HIDEABLE_PARTS)}"),
    "width": (_or_empty(_pixels(WIDTH_BOUNDS)), "of a picture, in pixels"),
    "height": (_or_empty(_pixels(HEIGHT_BOUNDS)), "of a picture or an embed, in pixels"),
    "recipe": ({"type": "string"}, "how a Function of your own is called, as in `x: float64[7]; k = 2`"),
    "sliders": ({"type": "string"}, "what stays live in the `.html` file, with how many values: `min:9,grad_output:3`"),
    "view": ({"type": "string", "enum": list(VIEW_NAMES), "default": VIEW_NAMES[0]}, "which of the documents"),
    "wrt2": ({"type": "string"}, "what the view `surface` sweeps beside `wrt`; the next element by default"),
    "start2": (_or_empty(FINITE), "the first value of `wrt2`; by default its domain"),
    "stop2": (_or_empty(FINITE), "the last value of `wrt2`; above `start2`"),
    "compile": (
        {"type": "boolean", "default": False},
        "whether the view `contract` tries torch.compile, which takes seconds",
    ),
    "at": (
        _or_empty(FINITE),
        "the x that the view `step` looks at, the middle of the range by default; where `wrt` is held in `jacobian` "
        "and `node`, and where `descent` starts",
    ),
    "lr": (_or_empty(_POSITIVE), "the learning rate of the view `descent`; chosen from the slopes by default"),
    "steps": (
        _or_empty({"type": "integer", "minimum": STEPS_BOUNDS[0], "maximum": STEPS_BOUNDS[1]}),
        "how many steps the view `descent` takes",
    ),
    "goal": (
        {"type": "string"},
        "what the output is to reach in the view `descent`: one number, or one for each element",
    ),
}
QUERY_PARAMETERS = [
    {"name": name, "in": "query", "required": False, "schema": schema, "description": text}
    for name, (schema, text) in _PARAMETERS.items()
]
NAME_PARAMETER = {
    "name": "name",
    "in": "path",
    "required": True,
    "schema": {"type": "string"},
    "description": "the op, as in the address of its page",
    "examples": {"clamp": {"value": "clamp_with_grad"}},
}
WAIT_PARAMETER = {
    "name": "wait",
    "in": "query",
    "required": False,
    "schema": {"type": "string", "enum": ["0", "1"], "default": "0"},
    "description": "`1`: answer when torch is loaded, not before",
}
# The schema of each view's document, in the order of ``VIEW_NAMES``.
SECTION_SCHEMAS = (
    *("Section", "Area", "Map", "Precision", "Wide", "Step", "Jacobian", "Surface", "Contract", "Node", "Descent"),
)
_STATUS_TEXTS = {
    404: "There is no such op.",
    414: "The query is too long.",
    422: "The query asks for what cannot be.",
    501: "There is no such format.",
    503: "Too much to do, or the ops could not be loaded.",
}


def json_responses(*names: str) -> dict[str, Any]:
    """A 200 response with JSON of this schema, or of one of these by its ``view``."""
    schema: dict[str, Any] = _reference(names[0])
    if len(names) > 1:
        mapping = {view: _reference(name)["$ref"] for view, name in zip(VIEW_NAMES, names, strict=True)}
        schema = {
            "oneOf": [_reference(name) for name in names],
            "discriminator": {"propertyName": "view", "mapping": mapping},
        }
    return {"description": "Measured.", "content": {"application/json": {"schema": schema}}}


def image_response(media_type: str) -> dict[str, Any]:
    """A 200 response with a picture."""
    return {"description": "Drawn.", "content": {media_type: {"schema": {"type": "string", "format": "binary"}}}}


def problem_responses(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Error responses with these statuses, each ``application/problem+json``."""
    content = {"application/problem+json": {"schema": _reference("Problem")}}
    return {status: {"description": _STATUS_TEXTS[status], "content": content} for status in statuses}


def page_responses(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Error responses with these statuses, each an HTML page or ``application/problem+json``."""
    page = {"text/html": {"schema": {"type": "string"}}}
    problems = problem_responses(*statuses).items()
    return {status: {**problem, "content": page | problem["content"]} for status, problem in problems}


def response_schemas() -> dict[str, Any]:
    """The JSON schemas that the responses refer to, by name."""
    from pydantic import TypeAdapter  # imported late: it takes longer than the first page

    from ..schema import ComponentNames, component_name
    from ..schema.jacobian import JacobianSchema
    from ..schema.node import NodeSchema
    from ..schema.section import HealthSchema, ProblemSchema, SectionSchema, SizeSchema
    from ..schema.surface import SurfaceSchema
    from ..schema.views import (
        AreaSchema,
        ContractSchema,
        DescentSchema,
        MapSchema,
        PrecisionSchema,
        StepSchema,
        WideSchema,
    )

    template, schemas = "#/components/schemas/{model}", dict[str, Any]()
    curves = (HealthSchema, ProblemSchema, SizeSchema, SectionSchema, AreaSchema, MapSchema, PrecisionSchema)
    others = (WideSchema, StepSchema, JacobianSchema, SurfaceSchema, ContractSchema, NodeSchema, DescentSchema)
    for model in (*curves, *others):
        schema = TypeAdapter(model).json_schema(
            ref_template=template, mode="serialization", schema_generator=ComponentNames
        )
        named = schema.pop("$defs", {}) | {component_name(model): schema}
        schemas = merge_schemas(schemas, {name: each | {"title": name} for name, each in named.items()})
    return schemas


def merge_schemas(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    """The union of schemas by name; raises ``ValueError`` where two different ones have the same name."""
    clash = sorted(name for name in one.keys() & other.keys() if one[name] != other[name])
    if clash:
        raise ValueError(f"Two schemas have the name {clash[0]!r}: rename one of the classes.")
    return one | other


def _reference(name: str) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{name}"}
