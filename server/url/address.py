"""Addresses of sections: the record ``Address``, its defaults, and its canonical (shortest) path and query."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from math import prod
from typing import Annotated, Any, NamedTuple
from urllib.parse import quote

from ..protocol.parameter_kinds import (
    Number,
    QueryParameter,
    Scope,
    Several,
    SliderCounts,
    WordChoice,
    of_dress,
    of_section,
    parameters_of,
)
from ..protocol.question import QUESTION_PARAMETERS, Element, ParameterValue, Question, element_names
from ..schema.op import NumberDescription, OpDescription, ParameterDescription
from .numbers import write_number

LAYOUTS = ("stacked", "overlaid")
THEMES = ("auto", "light", "dark")
WIDTH_BOUNDS, HEIGHT_BOUNDS = (200, 2400), (150, 2400)  # pixels
SLIDER_VALUE_BOUNDS = (2, 41)  # of one slider
MOST_SECTIONS = 400  # of all sliders of one figure
CURVE_PARTS = ("numerical", "implied", "shading")
PAGE_PARTS = ("title", "verdict", "legend", "controls", "source", "reading")
FRAME_PARTS = (*PAGE_PARTS, *CURVE_PARTS, "open", "hint", "proof")
DRESS = ("theme", "hide", "height")  # what is chosen of the look of a frame
HIDEABLE_PARTS = (*FRAME_PARTS, "zoom")
_HIDE = f"what is left out, separated by commas: {', '.join(HIDEABLE_PARTS)}"
_HEIGHT = "of a picture or an embed, in pixels"
_SLIDERS = "what stays live in the `.html` file, with how many values: `min:9,grad_output:3`"
GRAD_OUTPUT_RANGE = (-3.0, 3.0)  # of its slider
_PROOF_REACH = 0.1  # of what is held: a proof holds it in a range so far to either side, if no other is said
_DEFAULT_REACH = 3  # a parameter without a bound is swept this far to either side of its default


class SliderCount(NamedTuple):
    """A control that stays live, and its number of values; 0 for a switch or a choice, which has all of its own."""

    name: str
    values: int

    def __str__(self) -> str:
        return f"{self.name}:{self.values}" if self.values else self.name


@dataclass(frozen=True)
class Address:
    """A question to the engine, and the options of its display.

    ``hide`` are the parts of the page that are left out; ``width`` and ``height`` are pixels, None where the
    representation chooses; ``sliders`` are the controls that stay live in a file of its own, each with its number of
    values.
    """

    question: Question
    layout: Annotated[str, of_section(WordChoice(LAYOUTS), "how the page lays out its panels")] = LAYOUTS[0]
    theme: Annotated[str, of_dress(WordChoice(THEMES), "`auto` follows the system")] = THEMES[0]
    hide: Annotated[tuple[str, ...], of_dress(Several(HIDEABLE_PARTS), _HIDE)] = ()
    width: Annotated[int | None, of_dress(Number(*WIDTH_BOUNDS, whole=True), "of a picture, in pixels")] = None
    height: Annotated[int | None, of_dress(Number(*HEIGHT_BOUNDS, whole=True), _HEIGHT)] = None
    sliders: Annotated[tuple[SliderCount, ...], of_dress(SliderCounts(*SLIDER_VALUE_BOUNDS), _SLIDERS)] = ()


ADDRESS_PARAMETERS = parameters_of(Address)


def _in_order() -> dict[str, QueryParameter]:
    """All parameters in the order of a canonical address: of the section, of its dress, of the view."""
    question = QUESTION_PARAMETERS.values()
    behind = [each for each in question if each.after]
    found = [each for each in question if each.scope == "section" and not each.after]
    found += [*ADDRESS_PARAMETERS.values(), *(each for each in question if each.scope == "view")]
    for parameter in behind:
        found.insert(next(i for i, each in enumerate(found, 1) if each.name == parameter.after), parameter)
    return {each.name: each for each in found}


PARAMETERS = _in_order()


def names_of_scope(scope: Scope) -> list[str]:
    """The names of the parameters of a scope."""
    return [each.name for each in PARAMETERS.values() if each.scope == scope]


def curves_only(address: Address) -> Address:
    """The address of the main figure, in the view ``curves`` and without the options of the other views."""
    usual: dict[str, Any] = {name: PARAMETERS[name].default for name in names_of_scope("view")}
    return replace(address, question=replace(address.question, **usual))


def without_display_options(address: Address) -> Address:
    """The address without its display options: theme, hidden parts, size of a picture, sliders."""
    usual: dict[str, Any] = {name: PARAMETERS[name].default for name in names_of_scope("dress")}
    return replace(address, **usual)


def with_range(address: Address, span: tuple[float, float]) -> Address:
    """The address with another range of x."""
    return replace(address, question=replace(address.question, start=span[0], stop=span[1]))


def value_bounds(parameter: ParameterDescription) -> tuple[float, float]:
    """The least and the greatest value of a numeric parameter; infinite where it has no bound."""
    low, high = parameter["minimum"], parameter["maximum"]
    return (float("-inf") if low is None else low, float("inf") if high is None else high)


def default_ranges(op: OpDescription) -> dict[str, tuple[float, float]]:
    """The default range of everything numeric, by name: an input's domain, a parameter's bounds."""
    domains = {each["name"]: (each["domain"][0], each["domain"][1]) for each in op["inputs"]}
    return domains | {each["name"]: _usual_range(each) for each in op["parameters"] if each["kind"] in ("float", "int")}


def _usual_range(parameter: NumberDescription) -> tuple[float, float]:
    low, middle, high = parameter["minimum"], parameter["default"], parameter["maximum"]
    return (middle - _DEFAULT_REACH if low is None else low, middle + _DEFAULT_REACH if high is None else high)


def default_address(op: OpDescription, wrt: Element | None = None) -> Address:
    """The address of an op without a query, or with nothing but ``wrt`` in it."""
    wrt = wrt or _usual_wrt(op)
    start, stop = default_ranges(op)[wrt.name]
    return Address(
        Question(
            op=op["name"],
            wrt=wrt,
            of=Element(op["of"]["name"], tuple(op["of"]["index"])),
            start=start,
            stop=stop,
            parameters={each["name"]: each["default"] for each in op["parameters"]},
            inputs={each["name"]: tuple(map(float, each["values"])) for each in op["inputs"]},
            dtype=op["dtype"],
            grad_output=op["grad_output"],
            recipe=op["usual_recipe"],
        )
    )


def _usual_wrt(op: OpDescription) -> Element:
    return Element(op["wrt"]["name"], tuple(op["wrt"]["index"]))


def default_wrt2(op: OpDescription, wrt: Element) -> Element | None:
    """The default of ``wrt2``: what a surface sweeps beside ``wrt``; None where there is no other number to sweep.

    The same element of the next input, where the outputs are as large as both; else the next element of its tensor,
    the next input, or a float parameter.
    """
    inputs = {each["name"]: each["shape"] for each in op["inputs"]}
    names, shape = list(inputs), inputs.get(wrt.name, [])
    others = names[names.index(wrt.name) + 1 :] + names[: names.index(wrt.name)] if wrt.name in names else names
    size = prod(shape)
    if wrt.name in names and all(prod(out["shape"]) == size for out in op["outputs"]):
        for name in others:
            if inputs[name] == shape:
                return Element(name, wrt.index)
    if wrt.name in names and size > 1:
        return Element(wrt.name, _next_index(wrt.index, shape))
    numbers = [each["name"] for each in op["parameters"] if each["kind"] == "float" and each["name"] != wrt.name]
    first = [Element(name, (0,) * len(inputs[name]) if prod(inputs[name]) > 1 else ()) for name in others]
    return next(iter([*(each for each in first if prod(inputs[each.name])), *map(Element, numbers)]), None)


def _next_index(index: tuple[int, ...], shape: list[int]) -> tuple[int, ...]:
    """The element after this one in row-major order, the first one after the last."""
    digits, carry = [], 1
    for i, size in zip(reversed(index), reversed(shape), strict=True):
        carry, digit = divmod(i + carry, size)
        digits.append(digit)
    return tuple(reversed(digits))


def query_values(address: Address) -> dict[str, str]:
    """Every query parameter as text, by name; empty where the numerics choose the value."""
    asked = address.question
    records = {name: asked if name in QUESTION_PARAMETERS else address for name in PARAMETERS}
    return {
        **{name: value_text(value) for name, value in asked.parameters.items()},
        **{name: _query_text(values) for name, values in asked.inputs.items()},
        **{name: _query_text(getattr(record, name)) for name, record in records.items()},
    }


def default_query_values(op: OpDescription, wrt: Element) -> dict[str, str]:
    """The defaults of all query parameters as text, in order; ``start`` and ``stop`` are those of ``wrt``."""
    return query_values(default_address(op, wrt)) | {"wrt": str(_usual_wrt(op))}


def canonical_address(op: OpDescription, address: Address, place: str = "/ops/{name}") -> str:
    """The canonical path and query: declared order, defaults left out; ``place`` is the template of the path."""
    defaults = default_query_values(op, address.question.wrt) | _second_axis_defaults(op, address.question)
    query = encoded_query({name: text for name, text in query_values(address).items() if text != defaults[name]})
    return place.format(name=op["name"]) + (f"?{query}" if query else "")


def encoded_query(values: dict[str, str]) -> str:
    """The query string of these parameters, with as few characters escaped as may be."""
    return "&".join(f"{quote(name)}={quote(text, safe='[],;:')}" for name, text in values.items())


def _second_axis_defaults(op: OpDescription, asked: Question) -> dict[str, str]:
    """The defaults of a surface's second element and its range."""
    if asked.wrt2 is None:
        return {}
    low, high = second_range(op, asked, asked.wrt2)
    usual = default_wrt2(op, asked.wrt) if asked.view == "surface" else ""
    return {"wrt2": str(usual), "start2": write_number(low), "stop2": write_number(high)}


def second_range(op: OpDescription, asked: Question, wrt2: Element) -> tuple[float, float]:
    """The default of ``start2`` and ``stop2``: all of its domain, or for a proof a tenth around what it is held at."""
    if asked.view != "proof":
        return default_ranges(op)[wrt2.name]
    values = asked.inputs.get(wrt2.name, ())
    shape = next((each["shape"] for each in op["inputs"] if each["name"] == wrt2.name), [])
    at = element_names(wrt2.name, shape, range(len(values))).index(str(wrt2)) if values else 0
    held = values[at] if values else float(asked.parameters[wrt2.name])
    bounds = (value_bounds(each) for each in op["parameters"] if each["name"] == wrt2.name)
    low, high = next(bounds, (-math.inf, math.inf))
    reach = _PROOF_REACH * (abs(held) or 1.0)
    return max(low, held - reach), min(high, held + reach)


def _query_text(value: Any) -> str:
    """The value of a parameter of every address as text, empty for None."""
    if value is None:
        return ""
    if isinstance(value, Element | SliderCount):
        return str(value)
    return ",".join(map(_query_text, value)) if isinstance(value, tuple) else value_text(value)


def value_text(value: ParameterValue, number: Callable[[float], str] = write_number) -> str:
    """The value of a parameter as text; ``number`` formats numbers."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else number(value)
