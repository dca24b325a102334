"""A question to the engine: one view of one section of one op, as plain data; and the names of tensor elements."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

from .parameter_kinds import (
    SMALLEST,
    DeviceName,
    ElementName,
    Number,
    NumberList,
    RecipeText,
    Switch,
    WordChoice,
    of_section,
    of_view,
    parameters_of,
)
from .views import VIEW_NAMES


def element_names(tensor: str, shape: Iterable[int], places: Iterable[float]) -> list[str]:
    """Element names (``x[1,2]``) of flat indices, in row-major order; the name alone for a single number."""
    sizes = list(shape)
    if math.prod(sizes) == 1:
        return [tensor for _ in places]
    return [f"{tensor}[{','.join(map(str, _index(int(place), sizes)))}]" for place in places]


def _index(place: int, sizes: list[int]) -> list[int]:
    index = []
    for size in reversed(sizes):
        place, last = divmod(place, size)
        index.append(last)
    return index[::-1]


DEFAULT_COUNT = 401
BOXES_AT_FIRST, BOXES_AT_MOST = 500, 8000  # budget: of a proof
DTYPES = ("float64", "float32", "bfloat16", "float16")
ParameterValue = float | int | bool | str

_POSITIVE = Number(SMALLEST)
_WRT = "the element swept: `input`, `weight[0,1]`, or the name of a float parameter"
_ORDER = "`2` looks at what backward returns instead of forward, and at the second derivative"
_AT = (
    "the x of the view `step` (the middle of the range by default); where `wrt` is held in `jacobian` and `node`, "
    "and where `descent` starts"
)
_STEPS = "how many steps the view `descent` takes"
_PLACED, _DESCENT, _PLANE = ("step", "jacobian", "node", "descent"), ("descent",), ("surface", "proof")
_WRT2 = (
    "what the view `surface` sweeps beside `wrt`, the next element by default; or what the view `proof` holds in a "
    "range, nothing by default"
)
_START2 = "the first value of `wrt2`; by default its domain, and for a proof a tenth less than what it is held at"
_LR = "the learning rate of the view `descent`; chosen from the slopes by default"
_BOXES = "into how many boxes the view `proof` may cut the range"
_GOAL = "what the output is to reach in the view `descent`: one number, or one for each element"
_DATA = "`net` lays the numbers under the curves that a Function of one number gets in a small net"
_RECIPE = "how a Function of your own is called, as in `x: float64[7]; k = 2`"


@dataclass(frozen=True)
class Element:
    """One element of a named tensor (``weight[0,1]``), or a parameter by its name (``index`` empty)."""

    name: str
    index: tuple[int, ...] = ()

    def __str__(self) -> str:
        return self.name + (f"[{','.join(map(str, self.index))}]" if self.index else "")


@dataclass(frozen=True)
class Question:
    """One ``view`` of the section of ``op`` from ``start`` to ``stop`` of ``wrt`` in ``count`` points, output ``of``.

    ``parameters`` and ``inputs`` hold every declared value, given or default (inputs flattened in row-major order).
    With ``order`` 2 the result of backward for ``grad_output`` takes the place of forward. ``step``, ``atol`` and
    ``rtol`` are None where the numerics choose. ``view`` is one of ``VIEW_NAMES``; ``at`` is the x that ``step`` and
    ``node`` look at, None for the middle of the range, and ``compile`` says whether ``contract`` tries torch.compile,
    which takes seconds. ``descent`` starts at ``at``, with learning rate ``lr``, ``steps`` and ``goal``: one number for
    all of the output, or one for each element; None where it is to be chosen. ``proof`` looks at so many
    ``boxes``. ``surface`` sweeps ``wrt2`` too, from ``start2`` to ``stop2``, and ``proof`` is of each number in that
    range; None for another view, or where there is no second. ``recipe`` says how a user's own Function is called;
    empty for an op of the gallery, which declares it.
    """

    op: str
    wrt: Annotated[Element, of_section(ElementName("swept"), _WRT)]
    of: Annotated[Element, of_section(ElementName("outputs"), "the output element looked at: `y`, `y[0,1]`")]
    start: Annotated[float, of_section(Number(), "the first x; by default the domain of what is swept", optional=True)]
    stop: Annotated[float, of_section(Number(), "the last x; above `start`", optional=True)]
    count: Annotated[int, of_section(Number(2, 5001, whole=True), "how many x")] = DEFAULT_COUNT
    grad_output: Annotated[float, of_section(Number(), "the cotangent that backward is given")] = 1.0
    dtype: Annotated[str, of_section(WordChoice(DTYPES), "what the Function computes in")] = DTYPES[0]
    device: Annotated[str, of_section(DeviceName(), "`auto`, or one of this machine: `cpu`, `cuda`, `mps`")] = "auto"
    step: Annotated[float | None, of_section(_POSITIVE, "the widest difference; chosen from the range by default")] = (
        None
    )
    atol: Annotated[float | None, of_section(Number(0), "absolute tolerance; chosen from the dtype by default")] = None
    rtol: Annotated[float | None, of_section(Number(0), "relative tolerance; chosen from the dtype by default")] = None
    parameters: dict[str, ParameterValue] = field(default_factory=dict)
    inputs: dict[str, tuple[float, ...]] = field(default_factory=dict)
    order: Annotated[int, of_section(WordChoice((1, 2)), _ORDER, after="grad_output")] = 1
    view: Annotated[str, of_view(WordChoice(VIEW_NAMES), "which of the documents")] = VIEW_NAMES[0]
    at: Annotated[float | None, of_view(Number(), _AT, _PLACED, "or click the figure")] = None
    compile: Annotated[
        bool, of_view(Switch(), "whether the view `contract` tries torch.compile, which takes seconds", ("contract",))
    ] = False
    lr: Annotated[float | None, of_view(_POSITIVE, _LR, _DESCENT, "learning rate")] = None
    steps: Annotated[int | None, of_view(Number(1, 500, whole=True), _STEPS, _DESCENT, "at most 500")] = None
    goal: Annotated[tuple[float, ...] | None, of_view(NumberList(), _GOAL, _DESCENT, "of {of}")] = None
    boxes: Annotated[int, of_view(Number(1, BOXES_AT_MOST, whole=True), _BOXES, ("proof",), "at most 8000")] = (
        BOXES_AT_FIRST
    )
    wrt2: Annotated[Element | None, of_view(ElementName("swept"), _WRT2, _PLANE)] = None
    start2: Annotated[float | None, of_view(Number(), _START2, _PLANE)] = None
    stop2: Annotated[float | None, of_view(Number(), "the last value of `wrt2`; above `start2`", _PLANE)] = None
    recipe: Annotated[str, of_section(RecipeText(), _RECIPE, after="stop2")] = ""
    data: Annotated[str, of_section(WordChoice(("", "net")), _DATA, after="recipe")] = ""

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> Question:
        """The question that ``dataclasses.asdict`` and JSON have made these plain data of."""
        return cls(**{name: _rebuilt(name, value) for name, value in plain.items()})

    @property
    def place(self) -> float:
        """The x that ``step``, ``node`` and ``descent`` look at: ``at``, else the middle of the range."""
        return self.start + (self.stop - self.start) / 2 if self.at is None else self.at


QUESTION_PARAMETERS = parameters_of(Question)


def _rebuilt(name: str, value: Any) -> Any:
    kind = QUESTION_PARAMETERS[name].kind if name in QUESTION_PARAMETERS else None
    if isinstance(kind, ElementName) and value is not None:
        return Element(value["name"], tuple(value["index"]))
    if name == "inputs":
        return {each: tuple(values) for each, values in value.items()}
    return tuple(value) if isinstance(value, list) else value
